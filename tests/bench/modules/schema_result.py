"""Two arrays and a scalar in; an instance of the schema out."""

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float32


class InputSchema(BaseModel):
    a: Array[(3,), Float32]
    b: Array[(3,), Float32]
    s: Float32


class OutputSchema(BaseModel):
    y: Array[(3,), Float32]


Y = np.ones(3, dtype=np.float32)


def apply(inputs: InputSchema) -> OutputSchema:
    return OutputSchema(y=Y)
