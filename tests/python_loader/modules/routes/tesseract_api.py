"""Tells how many Python functions a call of it runs in: 1 where it is called by the host itself."""

import sys
from typing import Any

import numpy as np
from pydantic import BaseModel, field_validator, model_validator
from tesseract_core.runtime import Array, Differentiable, Float64

Vector = Array[(None,), Float64]


class Part(BaseModel):
    u: Vector
    label: str = "none"


class InputSchema(BaseModel):
    code: Float64
    x: Differentiable[Vector]
    part: Part | None = None
    table: dict[str, Vector] = {}
    steps: list[Vector] = []
    bounded: float = 1.0

    @field_validator("bounded")
    @classmethod
    def is_positive(cls, value: float) -> float:
        if value <= 0:
            raise ValueError("must be positive")
        return value

    @model_validator(mode="after")
    def has_values(self) -> "InputSchema":
        if len(self.x) == 0:
            raise ValueError("nothing is given")
        return self


class OutputSchema(BaseModel):
    y: Differentiable[Vector]
    depth: int


def depth() -> int:
    """The functions around the caller, itself included."""
    count = 0
    frame = sys._getframe(1)
    while frame is not None:
        count, frame = count + 1, frame.f_back
    return count


def new(cls: Any, *_given: Any, **_named: Any) -> Any:
    return object.__new__(cls)


def colour(_inputs: InputSchema) -> None:
    InputSchema.colour = OutputSchema.colour = "green"


def replace_new(inputs: InputSchema) -> None:
    type(inputs).__new__ = staticmethod(new)


def dump(self: OutputSchema, **_given: Any) -> dict[str, Any]:
    return {"y": -self.y, "depth": self.depth}


def replace_dump(_inputs: InputSchema) -> None:
    OutputSchema.model_dump = dump


CHANGES = {1: colour, 2: replace_new, 3: replace_dump}


def apply(inputs: InputSchema) -> Any:
    code = int(inputs.code)
    if code in CHANGES:
        CHANGES[code](inputs)
    if code == 4:
        return {"y": np.array(inputs.x), "depth": depth()}
    return OutputSchema(y=np.array(inputs.x), depth=depth())


def vector_jacobian_product(
    inputs: InputSchema, vjp_inputs: set, vjp_outputs: set, cotangent_vector: dict
) -> Any:
    return {"x": np.full(len(inputs.x), float(depth()))}


def jacobian_vector_product(
    inputs: InputSchema, jvp_inputs: set, jvp_outputs: set, tangent_vector: dict
) -> Any:
    return {"y": np.full(len(inputs.x), float(depth()))}


def jacobian(inputs: InputSchema, jac_inputs: set, jac_outputs: set) -> Any:
    return {"y": {"x": np.full((len(inputs.x), len(inputs.x)), float(depth()))}}
