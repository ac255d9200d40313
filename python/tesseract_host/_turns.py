"""Calls one at a time: the lock of a component, which its thread may take again."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from tesseract_host import _engine

Result = TypeVar("Result")


def new() -> Any:
    """Turns that nobody has: the compiled loader's, which cost next to nothing and which the host
    takes, or `Turns` where there is no such loader.
    """
    library = _engine.library()
    return Turns() if library is None else library.Turns()


class Turns:
    """A lock, with what the compiled loader's has."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_raised: object) -> None:
        self._lock.release()

    def run(self, body: Callable[..., Result], *arguments: Any) -> Result:
        """Returns and raises what the body does, in turn."""
        with self._lock:
            return body(*arguments)

    def bound(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as one that is called in turn."""
        return functools.partial(self.run, function)

    def renew(self) -> None:
        """In a forked child: nobody has its turn."""
        self._lock._at_fork_reinit()  # type: ignore[attr-defined]
