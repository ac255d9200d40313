"""Which member of a union takes a value (contract 4)."""

from typing import Any, Literal, Optional, Union

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float32, Float64, Int32

from looking import look


class Left(BaseModel):
    a: Float64


class Right(BaseModel):
    a: Float64
    b: Float64 = 0.0


class InputSchema(BaseModel):
    float_or_array: float | Float32 = None
    array_or_float: Float32 | float = None
    int_or_double: int | Float64 = None
    two_arrays: Union[Int32, Float64] = None
    narrow: Float32 | Float64 = None
    list_or_array: list[float] | Array[(None,), "float64"] = None
    array_or_list: Array[(None,), "float32"] | list[float] = None
    text_or_array: str | Array[(None,), "float64"] = None
    ranks: Array[(), "float64"] | Array[(None,), "float64"] | Array[(2, 2), "float64"] = None
    maybe: Optional[Array[(None,), Float64]] = None
    maybe_diff: Differentiable[Float64] | None = None
    models: Left | Right = None
    model_or_array: Left | Array[(None,), "float64"] = None
    table_or_array: dict[str, float] | Array[(None,), "float64"] = None
    literal: Literal["auto"] | Float64 = "auto"
    lists: list[int] | list[Float64] = None
    in_list: list[float | Array[(None,), "float64"]] = None
    bool_or_int: bool | Int32 = None


class OutputSchema(BaseModel):
    seen: Any
    again: float | Array[(None,), "float64"] | Left | str | None = None


def apply(inputs):
    (name,) = inputs.model_fields_set
    value = getattr(inputs, name)
    again = value if isinstance(value, float | np.ndarray | str) else None
    return {"seen": look(value), "again": again}


GIVEN = [
    1, 1.5, True, "1", "auto", None, [1, 2], [1.5, 2], ["1"], (1, 2), np.float32(1.5),
    np.float64(1), np.int32(3), np.int64(3), np.arange(2), np.arange(2.0), np.ones((2, 2)),
    np.array(2.0),
    {"a": 1}, {"a": 1, "b": 2}, {"a": "x"}, {}, [], [[1, 2], [3, 4]], 2**40, 1e300, "x",
    np.bool_(True), [np.arange(2.0), 1],
    {"shape": [2], "dtype": "float64", "data": {"buffer": [1, 2], "encoding": "json"}},
]  # fmt: skip
CALLS = [("apply", {name: value}) for name in InputSchema.model_fields for value in GIVEN]
