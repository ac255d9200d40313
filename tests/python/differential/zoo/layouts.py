"""Views, copies, casts, broadcasting: flags and strides of what arrives (contract 3.2)."""

import array
from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array

from looking import look


class InputSchema(BaseModel):
    free: Array[(None, None), "float64"] = None
    fixed: Array[(2, 3), "float64"] = None
    vector: Array[(None,), "float64"] = None
    integers: Array[(None,), "int32"] = None
    bytes_: Array[(None,), "uint8"] = None
    any_rank: Array[..., "float64"] = None
    any_dtype: Array[(None,), None] = None
    anything: Array[..., None] = None


class OutputSchema(BaseModel):
    seen: Any
    again: Any


def apply(inputs):
    name = next(iter(inputs.model_fields_set))
    value = getattr(inputs, name)
    refused = None
    if isinstance(value, np.ndarray) and value.size:
        try:
            value[...] = 0
        except ValueError as error:
            refused = "read-only" in str(error)
        else:
            value.flat[0] = 1
    return {"seen": (look(value), refused), "again": [value]}


class Behaves:
    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)


class Interface:
    def __init__(self):
        self.kept = np.arange(3.0)
        self.__array_interface__ = self.kept.__array_interface__


class Child(np.ndarray):
    pass


A = np.arange(6.0).reshape(2, 3)
GIVEN = [
    lambda: A.copy(),
    lambda: np.asfortranarray(A),
    lambda: A[::-1],
    lambda: A[:, ::2],
    lambda: A.T,
    lambda: A[:1],
    lambda: A[:, :1],
    lambda: np.ones((1, 1)),
    lambda: A.astype("float32"),
    lambda: A.astype(">f8"),
    lambda: A.astype(int),
    lambda: A.tolist(),
    lambda: np.ma.masked_array(A, A > 2),
    lambda: A.view(Child),
    lambda: np.arange(3.0),
    lambda: np.arange(3),
    lambda: np.arange(6.0)[::2],
    lambda: np.arange(3.0)[::-1],
    lambda: np.arange(3, dtype=">i4"),
    lambda: np.arange(3, dtype="int32"),
    lambda: np.arange(3, dtype="uint64"),
    lambda: np.zeros((0,)),
    lambda: np.zeros((0, 3)),
    lambda: [],
    lambda: [[], []],
    lambda: (1.0, 2.0),
    lambda: (1, 2),
    lambda: range(3),
    lambda: array.array("d", [1, 2]),
    lambda: array.array("i", [1, 2]),
    lambda: memoryview(b"abc"),
    lambda: bytearray(b"abc"),
    lambda: b"abc",
    lambda: Behaves(),
    lambda: Interface(),
    lambda: np.broadcast_to(np.float64(1), (2, 3)),
    lambda: np.float64(3),
    lambda: np.array(3.0),
    lambda: [[1, 2, 3], [4, 5, 6.5]],
    lambda: [np.float32(1), np.float64(2)],
    lambda: [np.arange(3.0), np.arange(3.0)],
    lambda: np.array([True, False]),
    lambda: np.longdouble([1, 2]),
    lambda: np.array([1, 2], object),
    lambda: np.array(["a"]),
    lambda: np.array([1e400, np.nan]),
    lambda: np.rec.array([(1.0, 2)]),
    lambda: np.matrix([[1.0, 2.0, 3.0]]),
    lambda: np.frombuffer(b"12345678", "float64"),
    lambda: np.frombuffer(b"123456789", "uint8", offset=1),
    lambda: np.frombuffer(bytes(25), "float64", offset=1),
]
CALLS = [("apply", {name: make()}) for name in InputSchema.model_fields for make in GIVEN]
