"""Calls as a C caller prepares and makes them: by tensors, and with destinations of its own."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import native
import numpy as np

APPLY, VJP = 1, 3
NO_COPY, STAGED, CONTEXT_CURRENT = 1, 2, 2
OK, DEVICE, UNAVAILABLE = 0, 3, 11
CPU, CUDA = 1, 2


class String(ctypes.Structure):
    """`tesseract_string`."""

    _fields_ = (("data", ctypes.c_char_p), ("length", ctypes.c_uint64))


class Leaf(ctypes.Structure):
    """`tesseract_leaf`."""

    _fields_ = (
        ("path", String),
        ("tensor", ctypes.POINTER(native.DLTensor)),
        ("owner", ctypes.c_void_p),
    )


class Leaves(ctypes.Structure):
    """`tesseract_leaves`."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("count", ctypes.c_int64),
        ("items", ctypes.POINTER(Leaf)),
        ("json", String),
    )


class Signature(ctypes.Structure):
    """`tesseract_signature`."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("endpoint", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("inputs", ctypes.POINTER(Leaves)),
        ("of", ctypes.POINTER(Leaves)),
        ("wrt", ctypes.POINTER(Leaves)),
    )


class Options(ctypes.Structure):
    """`tesseract_call_options`."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("stream", ctypes.c_uint64),
        ("cancel", ctypes.c_void_p),
        ("owners", ctypes.c_void_p),
    )


class Failed(Exception):
    """A call's error: its status, with the message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def tensor(array: Any) -> native.DLTensor:
    """A tensor of float64 over an array of NumPy's or of the fake driver's, which outlives it."""
    shape = (ctypes.c_int64 * len(array.shape))(*array.shape)
    on_host = isinstance(array, np.ndarray)
    pointer = array.ctypes.data if on_host else array.pointer
    device = native.DLDevice(CPU if on_host else CUDA, 0)
    dtype = native.DLDataType(2, 64, 1)
    return native.DLTensor(pointer, device, len(array.shape), dtype, shape, None, 0)


def leaves(arrays: Mapping[str, Any], json: str = "") -> Leaves:
    """Named tensors."""
    items = (Leaf * max(len(arrays), 1))()
    for item, (path, array) in zip(items, arrays.items(), strict=False):
        text = path.encode()
        item.path = String(text, len(text))
        item.tensor = ctypes.pointer(tensor(array))
    text = json.encode()
    return Leaves(ctypes.sizeof(Leaves), 0, len(arrays), items, String(text, len(text)))


class PreparedCall:
    """`tesseract_prepare`, for arrays where the given ones are, and `tesseract_call_run`.

    `component` is what the host has opened (a HostComponent).  Of `apply`, `of` holds the wanted
    arrays' destinations; of a `vjp` it holds the cotangents, and `wrt` the destinations.
    """

    def __init__(
        self,
        component: Any,
        inputs: Mapping[str, Any],
        of: Mapping[str, Any],
        wrt: Mapping[str, Any] | None = None,
        *,
        json: str = "{}",
        flags: int = 0,
    ) -> None:
        self.library = ctypes.CDLL("libtesseract_host.so.0")  # the one that is loaded
        self.library.tesseract_error_message.restype = ctypes.c_char_p
        self.library.tesseract_call_free.argtypes = (ctypes.c_void_p,)
        self.component = component
        given = ctypes.pointer(leaves(inputs, json)), ctypes.pointer(leaves(of))
        signature = Signature(ctypes.sizeof(Signature), flags, APPLY if wrt is None else VJP)
        signature.inputs, signature.of = given
        if wrt is not None:
            signature.wrt = ctypes.pointer(leaves(wrt))
        self.call = ctypes.c_void_p()
        self._checked(
            "tesseract_prepare",
            ctypes.c_void_p(component.pointer),
            ctypes.byref(signature),
            ctypes.byref(self.call),
        )

    def run(self, given: Sequence[Any], wanted: Sequence[Any], stream: int, flags: int = 0) -> None:
        """Makes the call with these arrays; raises Failed."""
        kept = [tensor(array) for array in (*given, *wanted)]
        pointers = [ctypes.pointer(item) for item in kept]
        kind = ctypes.POINTER(native.DLTensor)
        n = len(given)
        options = Options(ctypes.sizeof(Options), flags, stream, None, None)
        self._checked(
            "tesseract_call_run",
            self.call,
            (kind * n)(*pointers[:n]),
            (kind * len(wanted))(*pointers[n:]),
            ctypes.byref(options),
            None,
        )

    def _checked(self, function: str, *arguments: Any) -> None:
        error = ctypes.c_void_p()
        status = getattr(self.library, function)(*arguments, ctypes.byref(error))
        if status == OK:
            return
        message = self.library.tesseract_error_message(error, None)
        self.library.tesseract_error_free(error)
        raise Failed(status, message.decode())

    def __del__(self) -> None:
        if self.call:
            self.library.tesseract_call_free(self.call)
