"""Inputs with validators of the user's."""

from typing import Any

import numpy as np
from pydantic import BaseModel, field_validator, model_validator
from tesseract_core.runtime import Array, Float64

Vector = Array[(None,), Float64]

order: list[str] = []


class InputSchema(BaseModel):
    x: Vector
    s: Float64 = 2.0

    @field_validator("x")
    @classmethod
    def x_is_finite(cls, x: Any) -> Any:
        order.append("x")
        if not np.all(np.isfinite(x)):
            raise ValueError("x must be finite")
        return x

    @model_validator(mode="after")
    def s_is_small(self) -> "InputSchema":
        order.append("model")
        if self.s > 100:
            raise ValueError("s is too large")
        return self


class OutputSchema(BaseModel):
    y: Vector
    seen: list[str]


def apply(inputs: InputSchema) -> OutputSchema:
    seen = list(order)
    order.clear()
    return OutputSchema(y=inputs.s * inputs.x, seen=seen)
