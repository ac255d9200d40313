"""LazySequence: lists validated at once, globs of files on access (contract 4)."""

import json
import pathlib
import tempfile
from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64
from tesseract_core.runtime.experimental import LazySequence

from looking import look

FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="zoo-"))


def encoded(value):
    data = {"buffer": value, "encoding": "json"}
    return {"object_type": "array", "shape": [len(value)], "dtype": "float64", "data": data}


for NUMBER in range(3):
    (FOLDER / f"good{NUMBER}.json").write_text(json.dumps({"v": encoded([NUMBER, 1])}))
(FOLDER / "bad.json").write_text('{"w": 1}')
(FOLDER / "broken.json").write_text("{")
RAW = encoded([5])
RAW["data"] = {"buffer": "raw.bin:0", "encoding": "binref"}
(FOLDER / "raw.json").write_text(json.dumps({"v": RAW}))
(FOLDER / "raw.bin").write_bytes(np.array([7.0]).tobytes())


class Item(BaseModel):
    v: Differentiable[Array[(None,), Float64]]


class InputSchema(BaseModel):
    items: LazySequence[Item] = None
    numbers: LazySequence[Float64] = None
    texts: LazySequence[str] = None
    how: str = "all"


class OutputSchema(BaseModel):
    seen: Any = None
    y: Differentiable[Float64] = 0.0


def apply(inputs):
    name = next(name for name in inputs.model_fields_set if name != "how")
    sequence = getattr(inputs, name)
    if inputs.how == "all":
        seen = (type(sequence).__name__, len(sequence), [look(item) for item in sequence])
        return {"seen": (*seen, look(sequence[-1]) if len(sequence) else None)}
    if inputs.how == "slice":
        return {"seen": look(sequence[0:1])}
    if inputs.how == "index":
        return {"seen": look(sequence[7])}
    if inputs.how == "dump":
        return {"seen": look(inputs.model_dump())}
    return {"seen": 0 in sequence}


def jacobian(inputs, jac_inputs, jac_outputs):
    return {"y": {path: np.ones(2) for path in jac_inputs}}


GIVEN = [
    {"items": [{"v": [1, 2]}, {"v": []}]},
    {"items": ({"v": [1]},)},
    {"items": []},
    {"items": [{"v": "x"}, {}]},
    {"items": f"@{FOLDER}/good*.json"},
    {"items": f"@{FOLDER}/none*.json"},
    {"items": f"@{FOLDER}/bad.json"},
    {"items": f"@{FOLDER}/broken.json"},
    {"items": f"@{FOLDER}/raw.json"},
    {"items": "text"},
    {"items": 3},
    {"items": iter([])},
    {"items": {"a": 1}},
    {"numbers": [1, 2.5]},
    {"numbers": np.arange(3.0)},
    {"numbers": ["x"]},
    {"texts": ["a", "b"]},
    {"texts": "@a"},
]
CALLS = [("apply", inputs) for inputs in GIVEN]
CALLS += [
    ("apply", {**inputs, "how": how})
    for inputs in (GIVEN[0], GIVEN[4], GIVEN[13])
    for how in ("slice", "index", "dump", "contains")
]
CALLS += [
    ("jacobian", {"inputs": inputs, "jac_inputs": [path], "jac_outputs": ["y"]})
    for inputs in (GIVEN[0], GIVEN[4])
    for path in ("items.[0].v", "items.[9].v", "items.[]", "items.{0}.v")
]
