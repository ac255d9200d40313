"""y = a * sin(x) and z = sum(x * x) + b, with all endpoints; every call is noted."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64, ShapeDType

calls: list = []


class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]
    a: Differentiable[Float64]
    b: Differentiable[Float64] = 0.5
    scale: float = 1.0


class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]
    z: Differentiable[Float64]


def apply(inputs: InputSchema) -> OutputSchema:
    calls.append("apply")
    y = inputs.scale * inputs.a * np.sin(inputs.x)
    return OutputSchema(y=y, z=np.sum(inputs.x * inputs.x) + inputs.b)


def abstract_eval(abstract_inputs):
    calls.append("abstract_eval")
    shape = abstract_inputs.x.shape
    return {
        "y": ShapeDType(shape=shape, dtype="float64"),
        "z": ShapeDType(shape=(), dtype="float64"),
    }


def _blocks(inputs):
    n = inputs.x.shape[0]
    return {
        ("y", "x"): np.diag(inputs.scale * inputs.a * np.cos(inputs.x)),
        ("y", "a"): inputs.scale * np.sin(inputs.x),
        ("y", "b"): np.zeros(n),
        ("z", "x"): 2 * inputs.x,
        ("z", "a"): np.zeros(()),
        ("z", "b"): np.ones(()),
    }


def jacobian(inputs, jac_inputs, jac_outputs):
    calls.append(("jacobian", sorted(jac_inputs), sorted(jac_outputs)))
    blocks = _blocks(inputs)
    return {o: {i: blocks[o, i] for i in jac_inputs} for o in jac_outputs}


def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    calls.append(("jvp", sorted(jvp_inputs), sorted(jvp_outputs)))
    blocks = _blocks(inputs)
    return {
        o: sum(
            np.tensordot(blocks[o, i], tangent_vector[i], axes=np.ndim(tangent_vector[i]))
            for i in jvp_inputs
        )
        for o in jvp_outputs
    }


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    calls.append(("vjp", sorted(vjp_inputs), sorted(vjp_outputs)))
    blocks = _blocks(inputs)
    return {
        i: sum(
            np.tensordot(cotangent_vector[o], blocks[o, i], axes=np.ndim(cotangent_vector[o]))
            for o in vjp_outputs
        )
        for i in vjp_inputs
    }
