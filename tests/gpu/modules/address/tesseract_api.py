"""Says what it is given: where the array is, and of what kind it is."""

from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Int64


class InputSchema(BaseModel):
    x: Array[(None,), None]


class OutputSchema(BaseModel):
    address: Int64  # 0 of a NumPy array
    on_host: Int64


def apply(inputs: InputSchema) -> OutputSchema:
    on_host = isinstance(inputs.x, np.ndarray)
    address = 0 if on_host else inputs.x.__cuda_array_interface__["data"][0]
    return OutputSchema(address=np.int64(address), on_host=np.int64(on_host))


def abstract_eval(abstract_inputs: InputSchema) -> dict[str, Any]:
    return {name: {"shape": (), "dtype": "int64"} for name in ("address", "on_host")}
