"""Abstract evaluation: what is accepted, what arrives, what may be returned (contract 6)."""

from typing import Annotated, Any, Optional

import numpy as np
from pydantic import BaseModel, Field
from tesseract_core.runtime import Array, Differentiable, Float32, Float64, ShapeDType

from looking import look


class Part(BaseModel):
    p: Array[(2, None), Float32] = [[0], [0]]


class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float32]]
    fixed: Array[(2, 3), "float64"] = np.zeros((2, 3))
    scalar: Float64 = 1.0
    bad_default: Array[(3,), "float64"] = "text"
    none: Float32 = None
    any_rank: Array[..., None] = None
    maybe: Optional[Array[(None,), Float32]] = None
    maybe_set: Optional[Float32] = 2.0
    listed: list[Array[(None,), Float32]] = [[1.0]]
    part: Part = Part()
    parts: list[Part] = []
    table: dict[str, Float64] = {}
    text: str = "plain"
    number: int = 3
    bounded: Annotated[Float64, Field(gt=0)] = 1.0


class OutputSchema(BaseModel):
    y: Differentiable[Array[(None, 2), Float32]]
    s: Float64 = 1
    part: Part = Part()
    listed: list[Float64] = []
    maybe: Optional[Array[(None,), "float64"]] = None
    text: str = "out"
    seen: Any = None


def apply(inputs):
    return {"y": np.zeros((1, 2))}


GOOD = {"shape": (4, 2), "dtype": "float32"}
RETURNED = {
    "plain": lambda a: {"y": GOOD},
    "shape object": lambda a: {"y": ShapeDType(shape=(4, 2), dtype="float32")},
    "list shape": lambda a: {"y": {"shape": [4, 2], "dtype": "float32"}},
    "text dtype": lambda a: {"y": {"shape": (4, 2), "dtype": "Float32"}},
    "cast": lambda a: {"y": {"shape": (4, 2), "dtype": "float64"}},
    "not castable": lambda a: {"y": {"shape": (4, 2), "dtype": "complex64"}},
    "numpy dtype": lambda a: {"y": {"shape": (4, 2), "dtype": np.dtype("float32")}},
    "rank": lambda a: {"y": {"shape": (4,), "dtype": "float32"}},
    "fixed axis": lambda a: {"y": {"shape": (4, 1), "dtype": "float32"}},
    "int shape": lambda a: {"y": {"shape": 4, "dtype": "float32"}},
    "negative": lambda a: {"y": {"shape": (-4, 2), "dtype": "float32"}},
    "extra keys": lambda a: {"y": {**GOOD, "more": 1}},
    "all": lambda a: {
        "y": GOOD,
        "s": {"shape": (), "dtype": "int8"},
        "part": {"p": {"shape": (2, 7), "dtype": "float16"}},
        "listed": [{"shape": (), "dtype": "float64"}],
        "maybe": {"shape": (9,), "dtype": "float64"},
        "text": "x",
    },
    "received": lambda a: {"y": GOOD, "maybe": a.x},
    "dump": lambda a: {"y": GOOD, "seen": a.model_dump()},
    "instance": lambda a: OutputSchema(y=np.zeros((4, 2))),
    "construct": lambda a: OutputSchema.model_construct(y=GOOD),
    "array": lambda a: {"y": np.zeros((4, 2))},
    "missing": lambda a: {},
    "unknown": lambda a: {"y": GOOD, "z": GOOD},
    "none": lambda a: None,
    "raises": lambda a: 1 / 0,
    "text instead": lambda a: {"y": "x", "s": None},
}


def abstract_eval(abstract_inputs):
    result = RETURNED[abstract_inputs.text if abstract_inputs.text in RETURNED else "plain"](
        abstract_inputs
    )
    if isinstance(result, dict) and "seen" not in result and result:
        result["seen"] = look(abstract_inputs)
    return result


X = {"shape": [3], "dtype": "float32"}
ENCODED = {"shape": [2], "dtype": "int8", "data": {"buffer": [1, 2], "encoding": "json"}}
CALLS = [("abstract_eval", {"x": X, "text": text}) for text in RETURNED]
CALLS += [
    ("abstract_eval", inputs)
    for inputs in [
        {"x": {"shape": (3,), "dtype": "float64"}},
        {"x": {"shape": (3,), "dtype": "complex64"}},
        {"x": {"shape": (3, 1), "dtype": "float32"}},
        {"x": {"shape": (-3,), "dtype": "float32"}},
        {"x": {"shape": (3,), "dtype": "float31"}},
        {"x": {"shape": "3", "dtype": "float32"}},
        {"x": {"shape": (3.0,), "dtype": "float32"}},
        {"x": {"shape": (3,)}},
        {"x": {"dtype": "float32"}},
        {"x": ENCODED},
        {"x": np.zeros(3, "float32")},
        {"x": [1.0]},
        {"x": None},
        {"x": ShapeDType(shape=(3,), dtype="float32")},
        {},
        {"x": X, "fixed": {"shape": (2, 3), "dtype": "float32"}},
        {"x": X, "fixed": {"shape": (1, 3), "dtype": "float32"}},
        {"x": X, "any_rank": {"shape": (1, 2, 3, 4), "dtype": "bool"}},
        {"x": X, "maybe": X, "listed": [X, X], "part": {"p": {"shape": (2, 5), "dtype": "int8"}}},
        {"x": X, "maybe": None, "maybe_set": {"shape": (), "dtype": "float32"}},
        {"x": X, "parts": [{}, {"p": {"shape": (2, 5), "dtype": "int8"}}], "table": {"a": X}},
        {"x": X, "table": {"a": {"shape": (), "dtype": "float64"}}, "number": "7"},
        {"x": X, "number": {"shape": (), "dtype": "int64"}},
        {"x": X, "unknown": X},
        {"x": X, "bounded": {"shape": (), "dtype": "float64"}},
        {"x": X, "scalar": 1.0},
    ]
]
