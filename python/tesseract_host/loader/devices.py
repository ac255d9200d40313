"""What a component was told of device arrays, and the streams of the libraries it uses."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Mapping
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
        if escapes not in ESCAPES:
            raise _refused(f'device_escapes must be "error" or "warning", not {escapes!r}')
        self.escapes_are_errors = ESCAPES[escapes]
        given = [name for name in OPTIONS if options.get(name) not in (None, False)]
        if given and not self.takes_arrays:
            raise _refused(f'{given[0]} needs gpu_transport="cuda_ipc": without it there are none')


def _flag(options: Mapping[str, Any], name: str) -> bool:
    value = options.get(name)
    if value not in (None, True, False):
        raise _refused(f"{name} must be true or false, not {value!r}")
    return bool(value)


def _refused(text: str) -> RequestError:
    return RequestError(text, status=INVALID_ARGUMENT)


def enter_stream(stream: int, imported: Iterable[str]) -> tuple[Leave | None, bool]:
    """Makes a stream the current one of CuPy and torch, where the process has imported them.

    Returns what undoes it, and whether arrays are to say their stream all the same: not to modules
    that are known to use CuPy or torch, which would wait for it on the host; Numba has no current
    stream and others may launch by themselves.  `imported` are the names that the module has
    imported.
    """
    used = {name.partition(".")[0] for name in list(imported)}
    publishes = True
    with contextlib.ExitStack() as stack:
        for name, make in _CURRENT.items():
            library = sys.modules.get(name)
            if library is not None and _has_device(library):
                stack.enter_context(make(library, stream))
                publishes = publishes and name not in used
        leave = stack.pop_all().close
    return leave, publishes or "numba" in used


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
