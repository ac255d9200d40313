"""Rank 0 arrives as a NumPy scalar, whatever is given (contract 3.2, in the wild)."""

from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime.schema_types import (
    Array,
    Bool,
    Complex64,
    Complex128,
    Float16,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
)

from looking import look


class InputSchema(BaseModel):
    f2: Float16 = None
    f4: Float32 = None
    f8: Float64 = None
    i1: Int8 = None
    i2: Int16 = None
    i4: Int32 = None
    i8: Int64 = None
    u1: UInt8 = None
    u2: UInt16 = None
    u4: UInt32 = None
    u8: UInt64 = None
    b: Bool = None
    c8: Complex64 = None
    c16: Complex128 = None
    any_dtype: Array[(), None] = None
    any_rank: Array[..., "float32"] = None


class OutputSchema(BaseModel):
    seen: Any
    again: dict[str, Array[..., None]]


def apply(inputs):
    given = inputs.model_dump(exclude_unset=True)
    fields = {name: getattr(inputs, name) for name in given}
    extra = [isinstance(value, float) for value in fields.values()]
    methods = [(v.shape, v.ndim, v.item()) for v in fields.values()]
    return {"seen": [look(fields), look(given), extra, methods], "again": fields}


NAMES = list(InputSchema.model_fields)
GIVEN = [
    1, 0, 1.5, True, np.float64(2), np.float32(2), np.int64(3), np.array(3), np.array(2.5, "f4"),
    np.bool_(True), 1j, np.complex64(2), "1", None, [1], float("nan"), 70000.0, -1, 300, 2**40,
    np.array([1.0])[0], np.float16(1),
]  # fmt: skip
CALLS = [("apply", {name: value}) for name in NAMES for value in GIVEN]
