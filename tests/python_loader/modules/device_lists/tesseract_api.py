"""Gives what it gets, in containers, beside arrays on the host."""

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64

Vector = Array[(None,), Float64]


class Inner(BaseModel):
    p: Vector


class InputSchema(BaseModel):
    xs: list[Vector]
    named: dict[str, Vector]
    inner: Inner


class OutputSchema(BaseModel):
    xs: list[Vector]
    named: dict[str, Vector]
    inner: Inner
    kinds: list[str]


def apply(inputs: InputSchema) -> OutputSchema:
    given = [*inputs.xs, *inputs.named.values(), inputs.inner.p]
    return OutputSchema(
        xs=[*inputs.xs, np.array([7.0])],
        named={**inputs.named, "here": np.array([8.0])},
        inner=Inner(p=inputs.inner.p),
        kinds=[type(each).__name__ for each in given],
    )
