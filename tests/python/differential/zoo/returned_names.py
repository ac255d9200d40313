"""Aliases, excluded and computed fields of outputs (contract 5)."""

from typing import Any

from pydantic import BaseModel, Field, computed_field, field_serializer
from tesseract_core.runtime import Float64


class InputSchema(BaseModel):
    how: str
    aliased: bool = False


class OutputSchema(BaseModel):
    y: Float64 = Field(default=1.0, alias="theY")
    hidden: Float64 = Field(default=2.0, exclude=True)
    shown: Any = None

    @field_serializer("shown")
    def serialise(self, value):
        return None if value is None else f"<{value}>"


class Computes(BaseModel):
    v: Float64 = 1.0

    @computed_field
    @property
    def twice(self) -> float:
        return 2 * self.v


class Outer(OutputSchema):
    part: Computes = Computes()


OutputSchema = Outer


def apply(inputs):
    values = {
        "dict": {"theY": 3},
        "dict by name": {"y": 3},
        "hidden": {"hidden": 4},
        "shown": {"shown": 1},
        "computed": {"part": {"v": 3}},
        "computed given": {"part": {"v": 3, "twice": 6}},
    }
    if inputs.how in values:
        return values[inputs.how]
    if inputs.how == "instance":
        return Outer(theY=3, shown=2)
    return Outer()


HOWS = ["dict", "dict by name", "hidden", "shown", "computed", "computed given", "instance", "x"]
CALLS = [("apply", {"how": how}) for how in HOWS]
