"""Encoded arrays in all their forms, good and bad (contract 3.4)."""

import base64
import pathlib
import tempfile
from typing import Any

import lz4.frame
import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array

from looking import look


class InputSchema(BaseModel):
    f: Array[(None,), "float64"] = None
    f4: Array[(3,), "float32"] = None
    i: Array[(2, None), "int32"] = None
    b: Array[(None,), "bool"] = None
    c: Array[(None,), "complex64"] = None
    s: Array[(), "float32"] = None
    a: Array[..., None] = None


class OutputSchema(BaseModel):
    seen: Any


def apply(inputs):
    return {"seen": look({name: getattr(inputs, name) for name in inputs.model_fields_set})}


DOUBLES = np.array([1.5, -2.0, 3.25])
FILE = pathlib.Path(tempfile.mkdtemp(prefix="zoo-")) / "with:colon.bin"
FILE.write_bytes(b"12345678" + DOUBLES.tobytes() + lz4.frame.compress(DOUBLES.tobytes()))
COMPRESSED = len(lz4.frame.compress(DOUBLES.tobytes()))


def encoded(shape, dtype, buffer, encoding="json", object_type="array", **more):
    data = {"buffer": buffer, "encoding": encoding, **more}
    value = {"shape": shape, "dtype": dtype, "data": data}
    return value if object_type is None else {**value, "object_type": object_type}


def b64(array, compress=False):
    raw = array.tobytes()
    return base64.b64encode(lz4.frame.compress(raw) if compress else raw).decode()


VALUES = [
    encoded([3], "float64", [1, 2, 3]),
    encoded((3,), "float64", [1, 2, 3], object_type=None),
    encoded([3], "float64", [1, None, "NaN"]),
    encoded([3], "float64", ["inf", "-inf", "Infinity"]),
    encoded([3], "float64", [1, 2]),
    encoded([3], "float64", [[1], [2], [3]]),
    encoded([3], "float64", [1, True, False]),
    encoded([3], "float64", ["a", 1, 2]),
    encoded([3], "float64", np.arange(3.0)),
    encoded([3], "float64", (1, 2, 3)),
    encoded([1], "float64", [7]),
    encoded([], "float64", 7),
    encoded([], "float64", [7]),
    encoded([], "float32", None),
    encoded([3], "int64", [1, 2, 3]),
    encoded([3], "int32", [1.0, 2.0, 3.0]),
    encoded([3], "int32", [1.5, 2.0, 3.0]),
    encoded([3], "int8", [1, 2, 300]),
    encoded([3], "uint8", [1, 2, -3]),
    encoded([3], "float16", [1, 2, 1e6]),
    encoded([2, 2], "int32", [1, 2, 3, 4]),
    encoded([2, 2], "int32", [[1, 2], [3, 4]]),
    encoded([2, 2], "int32", [[1, 2], [3]]),
    encoded([1, 2], "int16", [[1, 2]]),
    encoded([2], "bool", [True, False]),
    encoded([2], "bool", [1, 0]),
    encoded([2], "bool", [2, 0]),
    encoded([2], "complex64", ["1+2j", "3"]),
    encoded([2], "complex128", ["1 + 2j", 3]),
    encoded([2], "complex64", ["x", 3]),
    encoded([0], "float64", []),
    encoded([-1], "float64", []),
    encoded([3], "float80", [1, 2, 3]),
    encoded([3], "float64", [1, 2, 3], extra=1),
    encoded([3], "float64", [1, 2, 3], object_type="tensor"),
    {**encoded([3], "float64", [1, 2, 3]), "more": 1},
    encoded([3], "float64", b64(DOUBLES), "base64"),
    encoded([3], "float64", b64(DOUBLES), "base64", compression=None),
    encoded([3], "float64", b64(DOUBLES, True), "base64", compression="lz4"),
    encoded([3], "float64", b64(DOUBLES), "base64", compression="lz4"),
    encoded([3], "float64", b64(DOUBLES), "base64", compression="zip"),
    encoded([3], "float32", b64(DOUBLES.astype("f4")), "base64"),
    encoded([2], "float64", b64(DOUBLES), "base64"),
    encoded([3], "float64", "!!", "base64"),
    encoded([3], "float64", b"AAAA", "base64"),
    encoded([0], "float64", "", "base64"),
    encoded([], "float64", b64(np.float64(3)), "base64"),
    encoded([3], "float64", f"{FILE}:8", "binref"),
    encoded([2], "float64", f"{FILE}:16", "binref"),
    encoded([1], "float64", f"{FILE}", "binref"),
    encoded([3], "float64", f"{FILE}:32:{COMPRESSED}", "binref", compression="lz4"),
    encoded([3], "float64", f"{FILE}:800", "binref"),
    encoded([3], "float64", "/nowhere/at/all.bin:0", "binref"),
    encoded([3], "float64", "", "binref"),
    encoded([3], "float64", [1, 2, 3], "raw"),
    {"shape": [3], "dtype": "float64"},
    {},
    {1: 2},
]
CALLS = [("apply", {name: value}) for name in InputSchema.model_fields for value in VALUES]

# What is broadcast and cast is C-contiguous here; a negative length is refused.
FIELDS = list(InputSchema.model_fields)
SHAPES = [value.get("shape") for value in VALUES]
DIFFERENT = {
    FIELDS.index(name) * len(VALUES) + SHAPES.index(shape)
    for name, shape in [("i", [1, 2]), ("a", [-1])]
}
