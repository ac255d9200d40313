"""Defaults arrive as they were written, copied where they can change (contract 3.3)."""

from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from tesseract_core.runtime import Array, Float32, Float64

from looking import look


class Part(BaseModel):
    s: Float32 = 2.0
    w: Array[(None,), Float32] = [0, 1]


class InputSchema(BaseModel):
    s: Float32 = 2.0
    np_scalar: Float64 = np.float32(1.5)
    w: Array[(3,), Float32] = [0, 1, 2]
    array: Array[(None,), "float64"] = np.arange(3)
    nothing: Array[(None,), Float32] = None
    optional: Array[(None,), Float32] | None = None
    wrong: Float32 = "text"
    made: Array[(None,), "float64"] = Field(default_factory=lambda: np.zeros(2))
    listed: list[Float64] = Field(default_factory=list)
    table: dict[str, Float64] = {"a": 1}
    part: Part = Part()
    parts: list[Part] = [Part(s=3)]
    checked: Float32 = Field(default=1, validate_default=True)
    number: int = "7"


class OutputSchema(BaseModel):
    model_config = ConfigDict(validate_default=False)
    seen: Any
    s: Float32 = 2
    w: Array[(None,), Float64] = [0, 1]
    made: Array[(None,), "float64"] = Field(default_factory=lambda: [1, 2])
    part: Part = Part()


def apply(inputs):
    seen = look(inputs)
    inputs.table["b"] = 2
    inputs.listed.append(1)
    return OutputSchema(seen=seen) if inputs.number == "7" else {"seen": seen}


CALLS = [
    ("apply", {}),
    ("apply", {}),
    ("apply", {"part": {}, "parts": [{}, {"s": 1}]}),
    ("apply", {"number": 1}),
    ("apply", {"wrong": 1}),
    ("apply", {"nothing": None}),
]
