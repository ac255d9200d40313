"""User validators of every mode, in pydantic's order, and what they see (contract 4)."""

from typing import Annotated, Any

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PlainValidator,
    PrivateAttr,
    WrapValidator,
    field_validator,
    model_validator,
)
from tesseract_core.runtime import Array, Differentiable, Float64

from looking import look

EVENTS = []


def note(name, value):
    EVENTS.append((name, type(value).__name__))
    return value


def wrapped(value, handler):
    note("wrap before", value)
    return note("wrap after", handler(value))


def positive(value):
    if np.any(np.asarray(value) <= 0):
        raise ValueError("must be positive")
    return note("positive", value)


class Part(BaseModel):
    v: Annotated[Float64, AfterValidator(positive)] = 1.0

    @model_validator(mode="after")
    def after(self):
        note("part after", self)
        return self


class InputSchema(BaseModel):
    a: Annotated[Array[(None,), "float64"], BeforeValidator(lambda v: note("before", v))] = [1]
    b: Annotated[Float64, WrapValidator(wrapped)] = 1.0
    c: Annotated[Any, PlainValidator(lambda v: note("plain", v))] = None
    d: Differentiable[Array[(None,), "float32"]] = [1]
    e: Annotated[list[Annotated[Float64, AfterValidator(positive)]], Field(max_length=2)] = []
    bounded: Annotated[Float64, Field(gt=0, lt=5)] = 1.0
    part: Part = Part()
    _private: int = PrivateAttr(default=5)
    _made: list = PrivateAttr(default_factory=list)

    @field_validator("d")
    @classmethod
    def doubled(cls, value):
        return positive(value) * 2

    @field_validator("a", "b", mode="before")
    @classmethod
    def early(cls, value, info):
        note(f"early {info.field_name}", value)
        return value

    @model_validator(mode="before")
    @classmethod
    def first(cls, data):
        note("model before", data)
        if isinstance(data, dict) and "magic" in data:
            return {"b": data["magic"]}
        return data

    @model_validator(mode="wrap")
    @classmethod
    def around(cls, data, handler):
        EVENTS.clear()  # validators may run twice where a call fails
        note("model wrap", data)
        result = handler(data)
        note("model wrapped", result)
        return result

    @model_validator(mode="after")
    def last(self):
        note("model after", self)
        if self.b == 13:
            raise ValueError("unlucky")
        return self

    def model_post_init(self, context):
        note("post init", self)
        self._made.append("made")


class OutputSchema(BaseModel):
    seen: Any
    y: Annotated[Float64, AfterValidator(positive)] = 1.0


def apply(inputs):
    events = EVENTS.copy()
    EVENTS.clear()
    seen = (events, look(inputs), inputs._private, inputs._made)
    if inputs.b == 7:
        return OutputSchema(seen=seen, y=7)
    return {"seen": seen, "y": inputs.b - 1}


CALLS = [
    ("apply", {}),
    ("apply", {"a": [1, 2], "b": 3, "c": [1], "d": [4, 5], "e": [1, 2], "part": {"v": 2}}),
    ("apply", {"a": "bad", "b": "bad", "d": [-1], "part": {"v": -1}, "e": [1, -1]}),
    ("apply", {"e": [1, 2, 3]}),
    ("apply", {"b": 13}),
    ("apply", {"b": 7}),
    ("apply", {"b": 1}),
    ("apply", {"magic": 4}),
    ("apply", {"bounded": 3}),
    ("apply", {"bounded": 5}),
    ("apply", {"bounded": np.float32(2)}),
    ("apply", {"part": 3}),
]
