"""Objects that components are given in tests, and what one of them says that it was given."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import native

CPU, CUDA = 1, 2
VALUES = np.array([1.0, 2.0, 3.0])


class Seen(ctypes.Structure):
    """What the component was given last."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("in_", "out", "stream")),
        *((name, ctypes.c_int32) for name in ("in_type", "out_type", "in_number", "beside_type")),
    )


def seen() -> Seen:
    library = ctypes.CDLL(str(native.plugin("on_device")))
    library.on_device_seen.restype = ctypes.POINTER(Seen)
    return library.on_device_seen().contents


class Interface:
    """An object with the interface that a test says, over a true one's."""

    def __init__(self, array: Any, without: tuple[str, ...] = (), **changes: Any) -> None:
        self.array = array
        self.interface = {**array.__cuda_array_interface__, **changes}
        for name in without:
            del self.interface[name]

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.interface


class ByDLPack:
    """A device array with DLPack alone, of which it tells who asked for it."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.streams: list[Any] = []

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        self.streams.append(stream)
        return self.owner.__dlpack__(stream=stream, max_version=max_version)

    def __dlpack_device__(self) -> Any:
        return self.owner.__dlpack_device__()


def on_device(component: Any, array: Any) -> Any:
    """An object of the library's own, by a call."""
    return component.apply({"x": array})["y"]
