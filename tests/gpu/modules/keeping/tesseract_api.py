"""Keeps the array it is given, which no module may."""

from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64, Int64

kept = []


class InputSchema(BaseModel):
    x: Array[(None,), Float64]


class OutputSchema(BaseModel):
    length: Int64


def apply(inputs: InputSchema) -> OutputSchema:
    kept.append(inputs.x)
    return OutputSchema(length=np.int64(len(inputs.x)))


def abstract_eval(abstract_inputs: InputSchema) -> dict[str, Any]:
    return {"length": {"shape": (), "dtype": "int64"}}
