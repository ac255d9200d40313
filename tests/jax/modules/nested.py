"""Models, lists and dicts of arrays, static values, None: everything is summed with weights."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64, ShapeDType

calls: list = []


class Layer(BaseModel):
    w: Differentiable[Array[(None,), Float64]]
    scale: float = 1.0
    kind: Literal["plain", "squared"] = "plain"


class InputSchema(BaseModel):
    layers: list[Layer]
    params: dict[str, Differentiable[Array[(None,), Float64]]]
    extra: Differentiable[Array[(None,), Float64]] | None = None
    counts: dict[str, int] = {}
    label: str = "x"


class Inner(BaseModel):
    total: Differentiable[Float64]
    label: str


class OutputSchema(BaseModel):
    inner: Inner
    parts: list[Differentiable[Array[(None,), Float64]]]
    by_key: dict[str, Differentiable[Array[(None,), Float64]]]
    nothing: str | None = None
    level: int = 0


def _value(layer):
    w = layer.w**2 if layer.kind == "squared" else layer.w
    return layer.scale * w


def _slope(layer):
    return layer.scale * (2 * layer.w if layer.kind == "squared" else np.ones_like(layer.w))


def apply(inputs: InputSchema) -> OutputSchema:
    calls.append("apply")
    extra = 0.0 if inputs.extra is None else inputs.extra.sum()
    total = sum(_value(layer).sum() for layer in inputs.layers)
    total += sum(2 * value.sum() for value in inputs.params.values()) + 3 * extra
    return OutputSchema(
        inner=Inner(total=total, label=inputs.label),
        parts=[_value(layer) for layer in inputs.layers],
        by_key={key: 5 * value for key, value in inputs.params.items()},
        level=sum(inputs.counts.values()),
    )


def abstract_eval(abstract_inputs):
    calls.append("abstract_eval")
    return {
        "inner": {"total": ShapeDType(shape=(), dtype="float64"), "label": abstract_inputs.label},
        "parts": [
            ShapeDType(shape=layer.w.shape, dtype="float64") for layer in abstract_inputs.layers
        ],
        "by_key": {
            key: ShapeDType(shape=value.shape, dtype="float64")
            for key, value in abstract_inputs.params.items()
        },
        "nothing": None,
        "level": sum(abstract_inputs.counts.values()),
    }


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    calls.append(("vjp", sorted(vjp_inputs), sorted(vjp_outputs)))
    total = cotangent_vector.get("inner.total", 0.0)
    found = {}
    for path in vjp_inputs:
        if path == "extra":
            found[path] = 3 * total * np.ones_like(inputs.extra)
        elif path.startswith("layers"):
            index = int(path.split("[")[1].split("]")[0])
            slope = _slope(inputs.layers[index])
            found[path] = (total + cotangent_vector.get(f"parts.[{index}]", 0.0)) * slope
        else:
            key = path[len("params.{") : -1]
            for escaped in "\\{}":
                key = key.replace("\\" + escaped, escaped)
            other = cotangent_vector.get("by_key" + path[len("params") :], 0.0)
            found[path] = (2 * total + 5 * other) * np.ones_like(inputs.params[key])
    return found
