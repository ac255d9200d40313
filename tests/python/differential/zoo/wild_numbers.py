"""Python numbers, lists, jax-like arrays given and returned; a default by mistake."""

import math
from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float32, Float64, Int32, Int64
from tesseract_core.runtime.schema_types import Bool

from looking import look


class Jaxlike:
    """Has what NumPy needs, and is no ndarray."""

    def __init__(self, values, dtype):
        self.values = np.asarray(values, dtype)
        self.shape = self.values.shape
        self.dtype = self.values.dtype

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)


class InputSchema(BaseModel):
    f: Differentiable[Float32] = np.float32(0.5)
    d: Differentiable[Float64] = 0.25
    v: Differentiable[Array[(None,), Float32]] = [0.0]
    i: Int32 = 0
    j: Int64 = 7
    b: Array[(None,), Bool] = []
    cells: Array[(None, None), Int32] = np.zeros((0, 3), "int32")
    mistake: Float64 = "0.1"
    text: str = "t"


class OutputSchema(BaseModel):
    f: Differentiable[Float32]
    d: Differentiable[Float64]
    v: Differentiable[Array[(None,), Float32]]
    i: Int32
    m: Array[(None, None), Float64] = [[0.0]]
    seen: Any = None


def apply(inputs):
    doubles = math.sqrt(inputs.d) if isinstance(inputs.d, float) else None
    seen = (look(inputs), doubles, f"{inputs.f:.2f}", str(inputs.d))
    if inputs.text == "lists":
        return OutputSchema(f=1, d=2, v=[1, 2, 3], i=4, m=[[1, 2]], seen=seen)
    if inputs.text == "jax":
        return {
            "f": Jaxlike(1.5, "float32"),
            "d": Jaxlike(1.5, "float32"),
            "v": Jaxlike([1, 2], "float64"),
            "i": Jaxlike(3, "int64"),
            "m": Jaxlike([[1]], "int8"),
            "seen": seen,
        }
    if inputs.text == "scalars":
        return {"f": np.float64(1), "d": np.float32(2), "v": np.float32([3]), "i": np.int8(3)}
    return OutputSchema(f=inputs.f, d=inputs.d, v=inputs.v, i=inputs.i, seen=seen)


GIVEN = [
    {},
    {"text": "lists"},
    {"text": "jax"},
    {"text": "scalars"},
    {"f": 1, "d": 2, "v": [1, 2], "i": 3, "j": True},
    {"f": np.float64(1.1), "d": np.float32(1.1), "v": np.arange(3), "i": np.int64(3)},
    {"f": Jaxlike(2, "float32"), "v": Jaxlike([1], "float32"), "i": Jaxlike(2, "int32")},
    {"b": [True, False], "cells": [[1, 2]]},
    {"b": [1, 0]},
    {"cells": [[1.0]]},
    {"mistake": 3},
    {"i": 3.0},
    {"v": (1, 2)},
    {"v": range(3), "d": "1"},
]
CALLS = [("apply", inputs) for inputs in GIVEN]
