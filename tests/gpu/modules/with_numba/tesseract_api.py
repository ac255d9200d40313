"""y = 2 x on the GPU, by Numba, and the address that Numba sees x at."""

from typing import Any

import numpy as np
from numba import cuda
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64, Int64


class InputSchema(BaseModel):
    x: Array[(None,), Float64]


class OutputSchema(BaseModel):
    y: Array[(None,), Float64]
    address: Int64


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


def apply(inputs: InputSchema) -> OutputSchema:
    x = cuda.as_cuda_array(inputs.x)
    y = cuda.device_array_like(x)
    pointer = x.__cuda_array_interface__["data"][0]
    blocks = (x.size + 255) // 256
    double[blocks, 256](x, y)
    return OutputSchema(y=y, address=np.int64(pointer))


def abstract_eval(abstract_inputs: InputSchema) -> dict[str, Any]:
    return {"y": abstract_inputs.x, "address": {"shape": (), "dtype": "int64"}}
