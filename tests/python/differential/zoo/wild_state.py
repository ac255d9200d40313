"""State between calls: caches, warm starts, kept inputs, lazily loaded weights."""

from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64

from looking import look

calls = 0
kept: list[Any] = []
cached: dict[int, Any] = {}
previous = None


class InputSchema(BaseModel):
    x: Array[(None,), Float64]
    n: int = 3


class OutputSchema(BaseModel):
    table: Array[(None,), Float64]
    same: bool
    seen: Any


def apply(inputs):
    global calls, previous
    calls += 1
    kept.append(inputs.x)
    if inputs.n not in cached:
        import json  # only now

        cached[inputs.n] = np.array(json.loads(json.dumps(list(range(inputs.n)))), float)
    start, previous = previous, inputs.x.copy()
    table = cached[inputs.n]
    sums = [float(x.sum()) for x in kept]
    return OutputSchema(table=table, same=table.flags.writeable, seen=(calls, sums, look(start)))


X = np.arange(3.0)
CALLS = [
    ("apply", {"x": X}),
    ("apply", {"x": X * 2}),
    ("apply", {"x": [1, 2]}),
    ("apply", {"x": X, "n": 5}),
    ("apply", {"x": "bad"}),
    ("apply", {"x": X}),
]
