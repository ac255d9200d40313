"""A Python module called with arrays on a device, as the handler and JAX's callback call it.

Arguments: the fake driver, the module.  Prints what the module saw and what came back.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from tesseract_host import Tesseract
from tesseract_host.jax import _adapter, register

DRIVER, MODULE = sys.argv[1:]
driver = ctypes.CDLL(DRIVER)
COUNT = 3


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


def asked(function: str, *arguments: Any) -> None:
    """Calls a function of the driver, which must not fail."""
    result = getattr(driver, function)(*arguments)
    assert result == 0, (function, result)


def on_device(values: Any) -> Tensor:
    """A tensor of float64 on the device, filled by what is no stream's work."""
    array = np.array(values, "float64")
    pointer = ctypes.c_uint64()
    asked("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(array.nbytes))
    data = ctypes.c_void_p(array.ctypes.data)
    asked("fake_cuda_write", pointer, data, ctypes.c_uint64(array.nbytes))
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    return Tensor(pointer.value, 2, 0, array.ndim, 2, 64, 1, shape, None, 0)


def found(tensor: Tensor) -> list[float]:
    """What is on the device when all work is done."""
    driver.fake_cuda_pump_all()
    array = np.empty([tensor.shape[k] for k in range(tensor.ndim)])
    data = ctypes.c_void_p(array.ctypes.data)
    asked("fake_cuda_read", ctypes.c_uint64(tensor.data), data, ctypes.c_uint64(array.nbytes))
    return array.ravel().tolist()


asked("cuInit", 0)
context, stream = ctypes.c_void_p(), ctypes.c_void_p()
asked("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
asked("cuCtxPushCurrent_v2", context)
asked("cuStreamCreate", ctypes.byref(stream), 1)

tesseract = Tesseract.from_tesseract_api(Path(MODULE))
register(tesseract)
spec = {
    "inputs": ["x", "a"],
    "json": {},
    "of": ["y", "z"],
    "operands": ["float64:1", "float64:0"],
    "results": ["float64:1", "float64:0"],
}
client = tesseract._client
prepared = _adapter.prepare(client, "apply", json.dumps(spec, sort_keys=True))
operands = [on_device([0.0, 0.5, 1.0]), on_device(2.0)]
results = [on_device(np.zeros(COUNT)), on_device(0.0)]


def pointers(tensors: list[Tensor]) -> Any:
    return (ctypes.POINTER(Tensor) * len(tensors))(*map(ctypes.pointer, tensors))


message = ctypes.c_void_p()
status = _adapter.library().tesseract_jax_run(
    prepared.key, pointers(operands), 2, pointers(results), 2, stream.value, ctypes.byref(message)
)
assert status == 0, _adapter.taken_text(message.value)
statistics = client.host().statistics()
driver.fake_cuda_fault.restype = ctypes.c_char_p
print(
    json.dumps(
        {
            "calls": client.component.module.calls,
            "y": found(results[0]),
            "z": found(results[1]),
            "copies": statistics["device_copies"],
            "faults": [
                driver.fake_cuda_fault(i).decode() for i in range(driver.fake_cuda_faults())
            ],
        }
    )
)
