"""The end of a process whose programs still run, or wait to.

XLA's threads run what is queued until Python drops XLA's client, which then waits for them.  By
that time they can't enter Python any more, and would wait for ever.  So before Python ends,
programs with side effects are waited for, other calls that are queued are refused, and calls that
run are waited for, as long as they take; an interrupt ends the waiting.  What enters Python all the
same, like native components that call Python ones, the ends of Python's loader and of the binding
wait for, by `wait_while`.

Not waited for are components of which all programs were run by the threads that dispatched them:
Python waits for such a thread itself, or leaves it behind if it is a daemon.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from jax.extend.backend import backends

from tesseract_host.jax import _adapter, _compat

_lock = threading.Lock()
# Python components by identity, and whether all their programs are run inline; None: there are
# none yet, but exported programs may come from elsewhere, which know no lanes.
_inline: dict[str, bool | None] = {}
_process = 0  # where they are watched
_registered: set[bool] = set()  # for native components, for Python ones


def watch(client: Any, inline: bool | None) -> None:
    """Has the end of Python wait for the calls of a component.

    `inline`: a program runs them on the thread that dispatches it; False: it may not; None: there
    is no program yet.
    """
    global _process
    with _lock:
        native = client.kind == "native"
        if native not in _registered:
            # Also after that of the Python loader, which comes with the first module and ends all
            # calls: what is registered last is run first.
            atexit.register(_end)
            _registered.add(native)
        if _process != os.getpid():
            _inline.clear()  # a forked child has none of its parent's calls
            _process = os.getpid()
        if native:
            return
        before = _inline.get(client.identity)
        _inline[client.identity] = before if inline is None else before is not False and inline


def wait_while(goes_on: Callable[[], bool]) -> None:
    """Waits for XLA's threads; what interrupts that ends all waiting."""
    global _process
    if os.getpid() != _process:
        return  # without programs, or a forked child, which has none of XLA's threads
    try:
        while goes_on():
            time.sleep(0.001)
    except BaseException:
        _process = 0
        _keep_clients()
        raise


def _end() -> None:
    wait_while(_is_busy)


def _is_busy() -> bool:
    """Whether calls run of which none is queued any more."""
    with contextlib.suppress(Exception):  # JAX will say it
        _compat.effects_barrier()
    if _adapter.missing():
        return False
    library = _adapter.library()
    library.tesseract_jax_on_difference(_adapter.NOBODY)
    names = [identity.encode() for identity, inline in _inline.copy().items() if not inline]
    for name in names:
        library.tesseract_jax_remove(name, len(name))
    return any(library.tesseract_jax_running(name, len(name)) for name in names)


def _keep_clients() -> None:
    """Has XLA's clients never end, and so join no thread that sleeps for ever."""
    for client in set(backends().values()):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))
