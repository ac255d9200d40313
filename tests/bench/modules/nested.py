"""A nested model, a dictionary of three arrays and a list of five in; a dict out."""

from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float32

Vector = Array[(3,), Float32]


class Part(BaseModel):
    x: Vector
    y: Vector


class InputSchema(BaseModel):
    part: Part
    table: dict[str, Vector]
    steps: list[Vector]


class OutputSchema(BaseModel):
    y: Vector


Y = np.ones(3, dtype=np.float32)


def apply(inputs: InputSchema) -> dict[str, Any]:
    return {"y": Y}
