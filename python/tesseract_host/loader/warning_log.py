"""Warnings that modules raise, in the log of the component that runs on the thread."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from tesseract_host.loader.streams import Log

LEVEL_WARNING = 3  # TESSERACT_LOG_WARNING

_thread = threading.local()

# How many calls the compiled loader has running on this thread, and the log of the innermost.
Running = Callable[[], tuple[int, Log | None]]


def _none_running() -> tuple[int, Log | None]:
    return 0, None


_running: Running = _none_running


def set_running(running: Running) -> None:
    """Has the compiled loader say which of its calls run, whose warnings go to their log too."""
    global _running
    _running = running


def _log_of_thread() -> Log | None:
    depth, log = _running()
    inside, own = getattr(_thread, "log", (0, None))
    return own if inside >= depth else log


@contextlib.contextmanager
def to_log(log: Log | None) -> Iterator[None]:
    """Warnings that this thread shows meanwhile go to `log`, once `route` was called; calls of
    components may nest.
    """
    around = getattr(_thread, "log", (0, None))
    _thread.log = (_running()[0], log)
    try:
        yield
    finally:
        _thread.log = around


def route() -> None:
    """Has warnings of the whole process go through here: for one whose Python is the loader's own.

    Filters and `warnings.catch_warnings` work as ever.  Outside of a component's calls, warnings
    are shown as before.
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
        log = _log_of_thread()
        if log is None or file is not None:
            shown_before(message, category, filename, lineno, file, line)
            return
        with contextlib.suppress(Exception):  # the caller's log must not fail the module
            log(LEVEL_WARNING, f"{category.__name__}: {message} ({filename}:{lineno})")

    showwarning.routes = True  # type: ignore[attr-defined]
    warnings.showwarning = showwarning
