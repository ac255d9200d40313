"""Eight arrays in, four out."""

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float32

Vector = Array[(3,), Float32]


class InputSchema(BaseModel):
    a: Vector
    b: Vector
    c: Vector
    d: Vector
    e: Vector
    f: Vector
    g: Vector
    h: Vector


class OutputSchema(BaseModel):
    p: Vector
    q: Vector
    r: Vector
    s: Vector


Y = np.ones(3, dtype=np.float32)


def apply(inputs: InputSchema) -> OutputSchema:
    return OutputSchema(p=Y, q=Y, r=Y, s=Y)
