"""Returns x as an array that Numba has allocated, and keeps it in the way it is asked to."""

import numpy as np
from numba import cuda
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64


class InputSchema(BaseModel):
    x: Array[(None,), Float64]
    way: str = "device"


class OutputSchema(BaseModel):
    y: Array[(None,), Float64]
    pointer: int
    given: int


kept = []


def apply(inputs: InputSchema) -> OutputSchema:
    x = cuda.as_cuda_array(inputs.x)
    y = cuda.device_array(x.shape, np.float64)
    y.copy_to_device(x)
    if inputs.way == "kept":
        kept.append(y)
    if inputs.way == "kept view":
        kept.append(y[1:])
    if inputs.way == "input kept":
        kept.append(x)
    if inputs.way == "input":
        y = x
    pointer = y.device_ctypes_pointer.value
    return {"y": y, "pointer": pointer, "given": x.device_ctypes_pointer.value}
