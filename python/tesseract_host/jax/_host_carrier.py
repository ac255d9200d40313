"""Calls of the adapter from a callback that JAX makes on the buffers of a program.

The way of modules that use JAX: only around its own callbacks does JAX see to it that what they
start in turn can run.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tesseract_host import _host
from tesseract_host.jax import _adapter


class CallError(RuntimeError):
    """What a program's error says of a failed call; halves of surrogate pairs are escaped.

    JAX's callback ends the process if it can't have the text of an exception as UTF-8.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text.encode(errors="backslashreplace").decode())


def host_carrier(prepared: _adapter.Prepared, locked: bool, on_device: bool) -> Callable[..., None]:
    """One call site of a compiled program as a callback of `(context, results, *operands)`.

    It fills the results; what it raises becomes the error of the program.

    Args:
        prepared: the call; `prepared.key` names it to the adapter.
        locked: the component is a Python one, and is called with the GIL that JAX holds.
        on_device: its buffers are on a device, and the callback's context tells the stream.
    """
    run, adapter_run = _run_buffers(), _adapter.address("tesseract_jax_run")
    key = prepared.key

    def call(context: Any, results: Sequence[Any], *operands: Any) -> None:
        try:
            # CUDA's null stream is the legacy default one, which the host calls 1.
            stream = (context.stream or 1) if on_device else 0
            failed = run(adapter_run, key, results, operands, stream, locked)
            if failed is not None:
                status, message = failed
                raise CallError(f"{_adapter.code(status)}: {_adapter.taken_text(message)}")
        except KeyboardInterrupt:
            interrupt_later()
            raise CallError("CANCELLED: KeyboardInterrupt") from None

    return call


def _run_buffers() -> Callable[..., Any]:
    run: Callable[..., Any] = _host.binding().run_buffers
    return run


def interrupt_later() -> None:
    """Has the caller get an interrupt that arrived in a callback, which JAX would keep."""
    if threading.current_thread() is threading.main_thread():
        timer = threading.Timer(0.02, _thread.interrupt_main)
        timer.daemon = True
        timer.start()
