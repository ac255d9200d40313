"""Array types in a module's own JSON: dumps and validation in each encoding (contract 3.1)."""

import json
import pathlib
import tempfile
from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float32

from looking import look


class Own(BaseModel):
    f: Array[(None,), Float32] = None
    s: Float32 = None
    c: Array[(None,), "complex64"] | None = None
    i: Array[..., None] = None


class InputSchema(BaseModel):
    context: Any = None
    data: Any = None
    text: str = ""


class OutputSchema(BaseModel):
    seen: Any


FOLDER = tempfile.mkdtemp(prefix="zoo-")


def apply(inputs):
    if inputs.text:
        return {"seen": look(Own.model_validate_json(inputs.text))}
    context = inputs.context and {**inputs.context, "base_dir": FOLDER}
    text = Own(**inputs.data).model_dump_json(context=context, exclude_unset=True)
    shown = json.loads(text)
    for value in shown.values():
        if isinstance(value, dict) and value["data"]["encoding"] == "binref":
            name, *rest = value["data"]["buffer"].split(":")
            value["data"]["buffer"] = [name.endswith(".bin"), rest]
    back = Own.model_validate_json(text, context=context)
    return {"seen": (shown, look(back), pathlib.Path(FOLDER).exists())}


DATA = [
    {"f": [1, 2]},
    {"f": [np.nan, np.inf], "s": 1},
    {"s": np.nan},
    {"c": [1 + 2j, 3]},
    {"i": np.arange(6, dtype="uint8").reshape(2, 3)},
    {"f": np.arange(6, dtype="float32")[::2], "i": True},
    {"f": []},
]
CONTEXTS = [
    None,
    {"array_encoding": "json"},
    {"array_encoding": "base64"},
    {"array_encoding": "base64", "compression": "lz4"},
    {"array_encoding": "binref"},
    {"array_encoding": "binref", "compression": "lz4"},
    {"array_encoding": "binref", "binref_dir": "below"},
    {"array_encoding": "other"},
]
TEXTS = [
    '{"f": [1, 2]}',
    '{"s": 1}',
    '{"c": null}',
    '{"f": {"shape": [1], "dtype": "float32", "data": {"buffer": [1.5], "encoding": "json"}}}',
    '{"f": {"shape": [1], "dtype": "float32", "data": {"buffer": ["x"], "encoding": "json"}}}',
    '{"f": {"shape": [1, 1], "dtype": "float32", "data": {"buffer": [1], "encoding": "json"}}}',
    '{"s": {"shape": [], "dtype": "int8", "data": {"buffer": 7, "encoding": "json"}}}',
]
CALLS = [("apply", {"data": data, "context": context}) for data in DATA for context in CONTEXTS]
CALLS += [("apply", {"text": text}) for text in TEXTS]
