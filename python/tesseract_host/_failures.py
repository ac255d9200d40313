"""Errors of the host as the exceptions that users of `Tesseract` know."""

from __future__ import annotations

from tesseract_host.loader import failures
from tesseract_host.loader.failures import EndpointError, OpenError
from tesseract_host.runtime.errors import Cancelled

# TESSERACT_ERROR_… beside those in failures
DEVICE = 3
VERSION = 10
UNAVAILABLE = 11
INTERNAL = 12


class InputError(ValueError):
    """The arguments of a call don't fit the component; `path` is the leaf at fault, or None."""

    def __init__(self, text: str, path: str | None = None) -> None:
        super().__init__(text)
        self.path = path


class ComponentError(EndpointError):
    """A component failed that is not Python's, or that the host called.

    `original` is the error that caused it, where a component it called failed, else itself.
    """

    def __init__(
        self, text: str, traceback: str | None, out_of_domain: bool, path: str | None
    ) -> None:
        RuntimeError.__init__(self, f"{traceback}\n{text}" if traceback else text)
        self._inner: Exception | None = None
        self.out_of_domain = out_of_domain
        self.traceback = traceback or ""
        self.reason = text
        self.path = path

    @property
    def original(self) -> Exception:
        """Without a reference to itself, which would keep what its traceback refers to."""
        return self._inner or self

    @original.setter
    def original(self, error: Exception) -> None:
        self._inner = error


def exception(
    status: int,
    message: str,
    component: str | None,
    endpoint: str | None,
    path: str | None,
    traceback: str | None,
    cause: Exception | None,
) -> Exception:
    """The exception for an error of the host; the traceback is that of a Python component."""
    made = _made(status, message, endpoint, path, traceback)
    made.__cause__ = cause
    if isinstance(made, ComponentError) and isinstance(cause, ComponentError):
        made.original = cause.original
    return made


def _made(
    status: int, text: str, endpoint: str | None, path: str | None, traceback: str | None
) -> Exception:
    if status in (failures.INVALID_ARGUMENT, failures.SCHEMA, DEVICE):
        return InputError(text, path)
    if status == failures.UNSUPPORTED:
        return NotImplementedError(text)
    if status == failures.CANCELLED:
        return Cancelled(text)
    if status == failures.OUT_OF_MEMORY:
        return MemoryError(text)
    if status == failures.NOT_FOUND and not endpoint:
        return FileNotFoundError(text)
    if status in (failures.COMPONENT, failures.OUT_OF_DOMAIN) and endpoint:
        return ComponentError(text, traceback, status == failures.OUT_OF_DOMAIN, path)
    if not endpoint:
        return OpenError(f"{traceback}\n{text}" if traceback else text)
    return RuntimeError(text)
