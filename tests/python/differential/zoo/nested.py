"""Nested models: dicts in, generated models out; instances of the user's are refused."""

from typing import Any, Optional

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float32

from looking import look


class Leaf(BaseModel):
    v: Array[(None,), Float32]
    n: int = 1

    def total(self):
        return float(np.sum(self.v)) * self.n


class Middle(BaseModel):
    leaf: Leaf
    leaves: list[Leaf] = []
    table: dict[str, Leaf] = {}
    pair: tuple[Leaf, Leaf] = None
    maybe: Optional[Leaf] = None


class InputSchema(BaseModel):
    middle: Middle
    again: Leaf = Leaf(v=[1.0])
    how: str = "dict"


class OutputSchema(BaseModel):
    middle: Middle
    seen: Any = None


def apply(inputs):
    middle = inputs.middle
    seen = (
        look(inputs),
        middle.leaf.total(),
        isinstance(middle, Middle),
        isinstance(middle.leaf, Leaf),
        type(middle.leaf) is type(inputs.again),
    )
    if inputs.how == "dict":
        return {"middle": middle.model_dump(), "seen": seen}
    if inputs.how == "instance":
        return OutputSchema(middle=middle, seen=seen)
    if inputs.how == "user's":
        return OutputSchema(middle=Middle(leaf=Leaf(v=[1, 2])), seen=seen)
    if inputs.how == "dict of user's":
        return {"middle": Middle(leaf=Leaf(v=[1, 2]))}
    if inputs.how == "dict of ours":
        return {"middle": middle}
    return {"middle": {"leaf": Leaf(v=[1])}}


LEAF = {"v": [1, 2.5]}
FULL = {
    "leaf": {"v": np.ones(2, "f4"), "n": 3},
    "leaves": [LEAF, {"v": []}],
    "table": {"a.b": LEAF, "{": LEAF},
    "pair": (LEAF, LEAF),
    "maybe": LEAF,
}
CALLS = [
    ("apply", {"middle": {"leaf": LEAF}}),
    ("apply", {"middle": FULL, "again": LEAF}),
    *(
        ("apply", {"middle": FULL, "how": how})
        for how in ("instance", "user's", "dict of user's", "dict of ours", "leaf")
    ),
    ("apply", {"middle": Middle(leaf=Leaf(v=[1.0]))}),
    ("apply", {"middle": {"leaf": Leaf(v=[1.0])}}),
    ("apply", InputSchema(middle=Middle(leaf=Leaf(v=[1.0])))),
    ("apply", {"middle": {"leaf": {"v": [1], "w": 1}, "leaves": [{"n": 1}, 3]}}),
    ("apply", {"middle": {"leaf": LEAF, "table": {"a": {}, "b": []}, "pair": [LEAF]}}),
    ("apply", {"middle": {"leaf": LEAF, "maybe": {"v": "x", "n": "y"}}}),
    ("apply", {"middle": None}),
    ("apply", {}),
]
