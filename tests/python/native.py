"""Components of the test plugins, and the host's library, for the Python tests."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BUILD = Path(__file__).parents[2] / "build" / "tests" / "plugins"
PLUGINS = Path(os.environ.get("TESSERACT_HOST_TEST_PLUGINS") or BUILD)


def need_binding() -> Any:
    """The binding; skips the test where it is not built for this Python."""
    from tesseract_host import _host

    try:
        return _host.binding()
    except ImportError as error:
        pytest.skip(str(error))


def plugin(name: str) -> Path:
    """The library of a test plugin; skips the test where there is none."""
    need_binding()
    file = PLUGINS / f"lib{name}.so"
    if not file.exists():
        pytest.skip(f"{file} is not built")
    return file


def opened(name: str, **keywords: Any) -> Any:
    """A test plugin in `Tesseract`."""
    from tesseract_host import Tesseract

    return Tesseract.from_library(plugin(name), **keywords)


def counts(tesseract: Any) -> dict[str, int]:
    """The host's counts of its calls and copies."""
    return tesseract._client.host().statistics()  # type: ignore[no-any-return]


class DLDevice(ctypes.Structure):
    """DLPack's."""

    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int32))


class DLDataType(ctypes.Structure):
    """DLPack's."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class DLTensor(ctypes.Structure):
    """DLPack's."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def tensor(array: np.ndarray[Any, Any]) -> DLTensor:
    """A float64 tensor over the array's memory, which must outlive it."""
    assert array.dtype == np.float64 and array.flags.c_contiguous
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    return DLTensor(
        array.ctypes.data, DLDevice(1, 0), array.ndim, DLDataType(2, 64, 1), shape, None, 0
    )


def run(call: Any, inputs: list[Any], outputs: list[Any]) -> int:
    """`tesseract_call_run` of a prepared call, from C, without the GIL; the status."""
    need_binding()
    library = ctypes.CDLL("libtesseract_host.so.0")  # the one that is loaded
    library.tesseract_call_run.restype = ctypes.c_int32
    kept = [tensor(array) for array in (*inputs, *outputs)]
    pointers = [ctypes.pointer(item) for item in kept]
    n = len(inputs)
    given = (ctypes.POINTER(DLTensor) * max(n, 1))(*pointers[:n])
    out = (ctypes.POINTER(DLTensor) * max(len(outputs), 1))(*pointers[n:])
    return int(
        library.tesseract_call_run(ctypes.c_void_p(call.pointer), given, out, None, None, None)
    )
