"""What apply may return, and what is refused (contract 5)."""

from typing import Any, Optional

import numpy as np
from pydantic import BaseModel, Field
from tesseract_core.runtime import Array, Float32, Float64, Int32


class Part(BaseModel):
    v: Float64 = 1.0


class InputSchema(BaseModel):
    how: str
    x: Array[(None,), "float32"] = [0]


class OutputSchema(BaseModel):
    y: Array[(None,), Float32]
    n: Int32 = 1
    s: Float64 = 2
    part: Part = Part()
    maybe: Optional[Array[(None,), Float32]] = None
    fixed: Array[(2, 3), "float64"] = Field(default_factory=lambda: np.zeros((2, 3)))
    anything: Any = None


class Child(OutputSchema):
    extra: int = 1


class Unrelated(BaseModel):
    y: Any = None


class Sized:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)


def generator():
    yield {"y": [1]}


Y = [1, 2]
HOW = {
    "instance": lambda i: OutputSchema(y=Y),
    "child": lambda i: Child(y=Y),
    "construct": lambda i: OutputSchema.model_construct(y=Y, part=Part(), n=3),
    "construct bad": lambda i: OutputSchema.model_construct(y="bad"),
    "construct missing": lambda i: OutputSchema.model_construct(n=1),
    "copy": lambda i: OutputSchema(y=Y).model_copy(update={"n": 7}),
    "dict": lambda i: {"y": Y},
    "order": lambda i: {"s": 1, "n": 2, "y": Y},
    "nested dict": lambda i: {"y": Y, "part": {"v": 3}},
    "nested instance": lambda i: {"y": Y, "part": Part(v=3)},
    "all": lambda i: {"y": (1.0,), "n": True, "s": np.int8(3), "maybe": [1], "fixed": [[1, 2, 3]]},
    "None": lambda i: None,
    "list": lambda i: [1],
    "array": lambda i: np.ones(2),
    "text": lambda i: "text",
    "generator": lambda i: generator(),
    "unrelated": lambda i: Unrelated(),
    "inputs": lambda i: i,
    "class": lambda i: OutputSchema,
    "missing": lambda i: {"n": 1},
    "unknown": lambda i: {"y": Y, "z": 1},
    "many wrong": lambda i: {"y": "x", "n": 1.5, "s": [1], "part": {"w": 1}, "z": 1},
    "rank": lambda i: {"y": [[1.0]]},
    "complex": lambda i: {"y": [1j]},
    "float into int": lambda i: {"y": Y, "n": 1.0},
    "overflow": lambda i: {"y": [1e300]},
    "int overflow": lambda i: {"y": Y, "n": 2**31},
    "nan": lambda i: {"y": [np.nan, np.inf], "s": float("nan")},
    "input": lambda i: {"y": i.x},
    "input slice": lambda i: {"y": i.x[::-1]},
    "scalar for vector": lambda i: {"y": 1.0},
    "object": lambda i: {"y": Sized([1, 2])},
    "0-d": lambda i: {"y": Y, "s": np.array(2.5), "n": np.array(3)},
    "length 1": lambda i: {"y": Y, "s": np.array([2.5])},
    "none for array": lambda i: {"y": None},
    "broadcast": lambda i: {"y": Y, "fixed": np.ones((1, 1))},
    "wrong fixed": lambda i: {"y": Y, "fixed": np.ones((3, 2))},
    "encoded": lambda i: {
        "y": {"shape": [1], "dtype": "float32", "data": {"buffer": [1], "encoding": "json"}}
    },
    "any": lambda i: {"y": Y, "anything": [np.arange(2), {1: Part()}, (1,), {1}]},
    "int keys": lambda i: {1: 2},
    "mapping": lambda i: dict(zip(["y"], [Y])).items(),
    "set attribute": lambda i: changed(),
    "ellipsis": lambda i: {"y": Ellipsis},
}


def changed():
    out = OutputSchema(y=Y)
    out.s = "not checked"
    return out


def apply(inputs):
    return HOW[inputs.how](inputs)


X = np.arange(3, dtype="float32")
CALLS = [("apply", {"how": how, "x": X}) for how in HOW]
