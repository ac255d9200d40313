"""y = 2 x on the GPU, by CuPy, and the address that CuPy sees x at."""

from typing import Any

import cupy
import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64, Int64


class InputSchema(BaseModel):
    x: Array[(None,), Float64]


class OutputSchema(BaseModel):
    y: Array[(None,), Float64]
    address: Int64


def apply(inputs: InputSchema) -> OutputSchema:
    x = cupy.asarray(inputs.x)
    return OutputSchema(y=2 * x, address=np.int64(x.data.ptr))


def abstract_eval(abstract_inputs: InputSchema) -> dict[str, Any]:
    return {"y": abstract_inputs.x, "address": {"shape": (), "dtype": "int64"}}
