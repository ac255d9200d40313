"""Outputs that may be left out, and containers whose keys and lengths only a call knows."""

from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64

Vector = Array[(None,), Float64]


class InputSchema(BaseModel):
    parts: list[str] = []
    count: int = 0


class Part(BaseModel):
    value: Vector
    label: str = "?"


class Piece(BaseModel):
    value: Vector


class OutputSchema(BaseModel):
    always: Vector
    perhaps: Vector | None = None
    part: Part | None = None
    note: str | None = None
    table: dict[str, Vector] = {}
    steps: list[Vector] = []
    pieces: list[Piece] = []
    holes: list[Float64 | None] = []
    more: dict[str, Vector] | None = None


def every_output(inputs: InputSchema) -> dict[str, Any]:
    n = inputs.count
    found: dict[str, Any] = {
        "always": np.ones(1),
        "perhaps": np.full(2, 2.0),
        "part": {"value": np.full(3, 3.0), "label": "three"},
        "note": "four",
        "table": {"a.b": np.full(n, 5.0), "{c}": np.full(2 * n, 6.0)},
        "steps": [np.full(i, float(i)) for i in range(n)],
        "pieces": [{"value": np.full(1, 7.0 + i)} for i in range(n)],
        "holes": [None, 8.0, None],
        "more": {"d": np.full(n, 9.0)},
    }
    return {name: found[name] for name in ("always", *inputs.parts)}


def apply(inputs: InputSchema) -> OutputSchema:
    return OutputSchema(**every_output(inputs))


def abstract_eval(abstract_inputs: Any) -> dict[str, Any]:
    def shapes(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shapes(item) for key, item in value.items()}
        if isinstance(value, list):
            return [shapes(item) for item in value]
        if isinstance(value, np.ndarray | float):
            return {"shape": np.shape(value), "dtype": "float64"}
        return value

    return shapes(every_output(abstract_inputs))
