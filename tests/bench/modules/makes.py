"""An array of the length asked for out, made in the call and not kept."""

from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64


class InputSchema(BaseModel):
    length: int


class OutputSchema(BaseModel):
    y: Array[(None,), Float64]


def apply(inputs: InputSchema) -> dict[str, Any]:
    return {"y": np.ones(inputs.length)}
