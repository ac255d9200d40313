"""Postponed annotations, typing's own containers, schemas made in functions."""

from __future__ import annotations

import typing as t

import numpy as np
from pydantic import BaseModel, Field, create_model
from tesseract_core.runtime import Array, Differentiable, Float64
from tesseract_core.runtime import schema_types as types

from looking import look


def make(length: int):
    class Made(BaseModel):
        v: Array[(length,), types.Float32]

    return Made


Three = make(3)
Two = create_model("Two", v=(Differentiable[Array[(2,), "float64"]], ...), n=(int, 1))


class Inner(BaseModel):
    x: types.Differentiable[types.Array[(None,), types.Float64]]


class InputSchema(BaseModel):
    inner: Inner
    listed: t.List[Inner] = []
    table: t.Dict[str, t.Optional[Inner]] = {}
    three: Three = None
    two: Two = None
    union: t.Union[t.Literal["a"], t.Tuple[Inner, ...]] = "a"
    described: t.Annotated[Float64, Field(description="A number.", ge=0)] = 1.0


class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]
    seen: t.Any = None


def apply(inputs: InputSchema) -> OutputSchema:
    return OutputSchema(y=inputs.inner.x, seen=look(inputs))


INNER = {"x": np.arange(2.0)}
CALLS = [
    ("apply", {"inner": INNER}),
    ("apply", {"inner": INNER, "listed": [INNER, INNER], "table": {"a": INNER, "b": None}}),
    ("apply", {"inner": INNER, "three": {"v": [1, 2, 3]}, "two": {"v": [1, 2], "n": 3}}),
    ("apply", {"inner": INNER, "three": {"v": [1, 2]}, "two": {"v": [1, 2, 3], "n": "x"}}),
    ("apply", {"inner": INNER, "union": [INNER]}),
    ("apply", {"inner": INNER, "union": "b"}),
    ("apply", {"inner": INNER, "described": -1}),
    ("apply", {"inner": INNER, "described": "x", "listed": [1], "table": {"a": 3}}),
]
