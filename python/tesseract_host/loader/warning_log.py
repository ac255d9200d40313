"""Warnings that modules raise, and what their finalizers raise, in the log of the component that
runs on the thread.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from tesseract_host import _engine
from tesseract_host.loader.streams import LEVEL_WARNING, Log

_thread = threading.local()


def _exchange(log: Log | None) -> Log | None:
    around: Log | None = getattr(_thread, "log", None)
    _thread.log = log
    return around


def _current() -> Log | None:
    return getattr(_thread, "log", None)


# Compiled endpoints put their log in place without Python.
exchange = _exchange if _engine.native is None else _engine.native.exchange_log
current = _current if _engine.native is None else _engine.native.current_log


@contextlib.contextmanager
def to_log(log: Log | None) -> Iterator[None]:
    """Warnings that this thread shows meanwhile go to `log`, once `route` was called; calls of
    components may nest.
    """
    around = exchange(log)
    try:
        yield
    finally:
        exchange(around)


def route() -> None:
    """Has warnings of the whole process go through here, and exceptions that nobody can catch: for
    one whose Python is the loader's own.

    Filters and `warnings.catch_warnings` work as ever.  Outside of a component's calls, both are
    shown as before.
    """
    shown_before = warnings.showwarning
    if getattr(shown_before, "routes", False):
        return

    def showwarning(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: Any = None,
        line: str | None = None,
    ) -> None:
        log = current()
        if log is None or file is not None:
            shown_before(message, category, filename, lineno, file, line)
            return
        with contextlib.suppress(Exception):  # the caller's log must not fail the module
            log(LEVEL_WARNING, f"{category.__name__}: {message} ({filename}:{lineno})")

    showwarning.routes = True  # type: ignore[attr-defined]
    warnings.showwarning = showwarning
    sys.unraisablehook = _unraisable(sys.unraisablehook)


def _unraisable(shown_before: Callable[[Any], Any]) -> Callable[[Any], None]:
    def hook(ignored: Any) -> None:
        log = current()
        if log is None:
            shown_before(ignored)
            return
        error = ignored.exc_value
        with contextlib.suppress(Exception):
            where = f"{ignored.err_msg or 'exception ignored in'} {ignored.object!r}"
            log(LEVEL_WARNING, f"{where}: {type(error).__name__}: {error}")

    return hook
