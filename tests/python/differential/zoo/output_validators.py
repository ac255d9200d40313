"""Validators of an output instance run in the module and again in the host (contract 5)."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, field_validator, model_validator
from tesseract_core.runtime import Array, Float64

from looking import look

COUNTS = {}


def count(name):
    def validate(value):
        COUNTS[name] = COUNTS.get(name, 0) + 1
        return value

    return validate


class Part(BaseModel):
    v: Annotated[Float64, AfterValidator(count("part"))]


class InputSchema(BaseModel):
    how: str = "instance"


class OutputSchema(BaseModel):
    y: Annotated[Array[(None,), Float64], AfterValidator(count("y"))]
    grows: Float64
    part: Part
    seen: Any = None

    @field_validator("grows")
    @classmethod
    def grow(cls, value):
        return value + 1

    @model_validator(mode="after")
    def whole(self):
        COUNTS["whole"] = COUNTS.get("whole", 0) + 1
        return self


class Other(OutputSchema):
    more: int = 1


def apply(inputs):
    values = {"y": [1, 2], "grows": 1, "part": {"v": 3}, "seen": [look(dict(COUNTS))]}
    if inputs.how == "instance":
        return OutputSchema(**values)
    if inputs.how == "construct":
        return OutputSchema.model_construct(**values)
    if inputs.how == "child":
        return Other(**values)
    return values


CALLS = [
    ("apply", {}),
    ("apply", {}),
    ("apply", {"how": "dict"}),
    ("apply", {"how": "construct"}),
    ("apply", {"how": "child"}),
    ("apply", {"how": "dict"}),
]
