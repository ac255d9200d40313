"""The fake driver as XLA uses a real one: a context, a stream, tensors on the device."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

CODES = {"i": 0, "u": 1, "f": 2}  # DLPack's, by NumPy's kinds


class Tensor(ctypes.Structure):
    """DLPack's."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Device:
    """Device 0, its context current on this thread, with a stream that no other waits for."""

    def __init__(self, driver: str) -> None:
        self.driver = ctypes.CDLL(driver)
        self.driver.fake_cuda_fault.restype = ctypes.c_char_p
        self.driver.fake_cuda_calls.restype = ctypes.c_int64
        context, stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.ask("cuInit", 0)
        self.ask("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.ask("cuCtxPushCurrent_v2", context)
        self.ask("cuStreamCreate", ctypes.byref(stream), 1)
        self.stream = stream.value

    def ask(self, function: str, *arguments: Any) -> None:
        """Calls a function of the driver, which must not fail."""
        result = getattr(self.driver, function)(*arguments)
        assert result == 0, (function, result)

    def tensor(self, values: Any, dtype: str = "float64") -> Tensor:
        """A tensor, filled by what is no stream's work; never freed."""
        array = np.array(values, dtype)
        pointer = ctypes.c_uint64()
        self.ask("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(array.nbytes))
        data = ctypes.c_void_p(array.ctypes.data)
        self.ask("fake_cuda_write", pointer, data, ctypes.c_uint64(array.nbytes))
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        code, bits = CODES[array.dtype.kind], 8 * array.itemsize
        return Tensor(pointer.value, 2, 0, array.ndim, code, bits, 1, shape, None, 0)

    def found(self, tensor: Tensor) -> list[Any]:
        """What is on the device when all work is done."""
        self.driver.fake_cuda_pump_all()
        kind = next(kind for kind, code in CODES.items() if code == tensor.code)
        shape = [tensor.shape[k] for k in range(tensor.ndim)]
        array = np.empty(shape, f"{kind}{tensor.bits // 8}")
        data = ctypes.c_void_p(array.ctypes.data)
        pointer = ctypes.c_uint64(tensor.data)
        self.ask("fake_cuda_read", pointer, data, ctypes.c_uint64(array.nbytes))
        return array.ravel().tolist()

    def faults(self) -> list[str]:
        """What the fake driver has to say against all this."""
        number = self.driver.fake_cuda_faults()
        return [self.driver.fake_cuda_fault(i).decode() for i in range(number)]

    def run(self, key: int, operands: list[Tensor], results: list[Tensor]) -> None:
        """Makes the call that a program has by this key."""
        from tesseract_host.jax import _adapter

        message = ctypes.c_void_p()
        status = _adapter.library().tesseract_jax_run(
            key,
            _pointers(operands),
            len(operands),
            _pointers(results),
            len(results),
            self.stream,
            ctypes.byref(message),
        )
        assert status == 0, _adapter.taken_text(message.value)


def _pointers(tensors: list[Tensor]) -> Any:
    return (ctypes.POINTER(Tensor) * len(tensors))(*map(ctypes.pointer, tensors))
