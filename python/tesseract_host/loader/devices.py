"""What a component was told of device arrays, and the streams of the libraries it uses."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Collection, Mapping
from types import ModuleType
from typing import Any

from tesseract_host.loader.failures import INVALID_ARGUMENT, RequestError

OPTIONS = ("device_escapes", "device_read_only", "stream_ordered")

ESCAPES = {None: True, "error": True, "warning": False}

Leave = Callable[[], object]


class Devices:
    """The options of an instance that concern arrays on devices, checked.

    `stream_ordered`: the module enqueues its work on the call's stream, which it is given.
    `read_only`: `__cuda_array_interface__` says so of inputs.  `escapes_are_errors`: a device array
    that the module keeps fails the call, else it is a warning.
    """

    def __init__(self, options: Mapping[str, Any], transport: str) -> None:
        self.takes_arrays = transport != "none"
        self.stream_ordered = _flag(options, "stream_ordered")
        self.read_only = _flag(options, "device_read_only")
        escapes = options.get("device_escapes")
        if not isinstance(escapes, str | None) or escapes not in ESCAPES:
            raise _refused(f'device_escapes must be "error" or "warning", not {escapes!r}')
        self.escapes_are_errors = ESCAPES[escapes]
        given = [name for name in OPTIONS if options.get(name)]
        if given and not self.takes_arrays:
            raise _refused(f'{given[0]} needs gpu_transport="cuda_ipc": without it there are none')


def _flag(options: Mapping[str, Any], name: str) -> bool:
    value = options.get(name)
    if not isinstance(value, bool | None):
        raise _refused(f"{name} must be true or false, not {value!r}")
    return bool(value)


def _refused(text: str) -> RequestError:
    return RequestError(text, status=INVALID_ARGUMENT)


class Streams:
    """Makes a call's stream the current one of CuPy and torch, where the process has imported them.

    `imported` are the names that a component's modules have imported, which grow.
    """

    def __init__(self, imported: Collection[str]) -> None:
        self._imported = imported
        self._looked_at = -1
        self._used: frozenset[str] = frozenset()

    def enter(self, stream: int) -> tuple[Leave | None, bool]:
        """Returns what undoes it, and whether arrays are to say their stream all the same.

        Not to modules that are known to use CuPy or torch, which would wait for it on the host;
        Numba has no current stream, and others may launch by themselves.
        """
        libraries = [name for name in _CURRENT if name in sys.modules]
        if not libraries:
            return None, True
        if len(self._imported) != self._looked_at:
            self._looked_at = len(self._imported)
            self._used = frozenset(name.partition(".")[0] for name in list(self._imported))
        publishes = True
        with contextlib.ExitStack() as stack:
            for name in libraries:
                library = sys.modules[name]
                if _has_device(library):
                    stack.enter_context(_CURRENT[name](library, stream))
                    publishes = publishes and name not in self._used
            leave = stack.pop_all().close
        return leave, publishes or "numba" in self._used


@functools.cache
def _has_device(library: ModuleType) -> bool:
    cuda = getattr(library, "cuda", None)
    return bool(cuda is not None and cuda.is_available())


def _cupy_stream(cupy: ModuleType, stream: int) -> Any:
    return cupy.cuda.ExternalStream(stream)


def _torch_stream(torch: ModuleType, stream: int) -> Any:
    # Torch knows the legacy default stream by 0.
    return torch.cuda.stream(torch.cuda.ExternalStream(0 if stream == 1 else stream))


_CURRENT: dict[str, Callable[[ModuleType, int], Any]] = {
    "cupy": _cupy_stream,
    "torch": _torch_stream,
}
