"""Inputs that may be of several shapes: a model or nothing, a number or a list of them."""

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64


class Part(BaseModel):
    x: Array[(None,), Float64]
    factor: float = 1.0


class Constant(BaseModel):
    value: float


class InputSchema(BaseModel):
    part: Part | None = None
    other: Part | Constant
    offset: Float64 | list[Float64] = 0.0


class OutputSchema(BaseModel):
    total: float


def apply(inputs: InputSchema) -> OutputSchema:
    total = float(np.sum(inputs.offset))
    for part in (inputs.part, inputs.other):
        if isinstance(part, Part):
            total += part.factor * float(np.sum(part.x))
        elif part is not None:
            total += part.value
    return OutputSchema(total=total)
