"""y = x * w + shift of any rank, broadcast; z = 2 * n of integers.  Notes shapes of each call."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64, ShapeDType

calls: list = []


class InputSchema(BaseModel):
    x: Differentiable[Array[..., Float64]]
    w: Differentiable[Array[..., Float64]]
    shift: Array[..., Float64] = np.zeros(())


class OutputSchema(BaseModel):
    y: Differentiable[Array[..., Float64]]


def apply(inputs: InputSchema) -> OutputSchema:
    calls.append(("apply", np.shape(inputs.x), np.shape(inputs.w)))
    return OutputSchema(y=inputs.x * inputs.w + inputs.shift)


def abstract_eval(abstract_inputs):
    calls.append("abstract_eval")
    x, w = abstract_inputs.x.shape, abstract_inputs.w.shape
    return {"y": ShapeDType(shape=np.broadcast_shapes(x, w), dtype="float64")}


def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    calls.append(("jvp", np.shape(inputs.x), np.shape(inputs.w)))
    zero = np.zeros(np.broadcast_shapes(np.shape(inputs.x), np.shape(inputs.w)))
    x, w = tangent_vector.get("x", 0.0), tangent_vector.get("w", 0.0)
    return {"y": zero + x * inputs.w + inputs.x * w}


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    calls.append(("vjp", np.shape(inputs.x), np.shape(inputs.w)))
    ct = cotangent_vector["y"]
    both = {"x": ct * inputs.w, "w": ct * inputs.x}
    return {name: _summed(both[name], np.shape(getattr(inputs, name))) for name in vjp_inputs}


def _summed(value, shape):
    while np.ndim(value) > len(shape):
        value = value.sum(0)
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and np.shape(value)[i] != 1)
    return value.sum(axes, keepdims=True) if axes else value
