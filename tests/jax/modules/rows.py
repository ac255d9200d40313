"""y = sum(ks) * sum(w * x * x) of each row, and norm = sum(w * w); notes calls and their rows.

The rows are those of x, of the elements of ks and of y; w is shared by them.
"""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64, ShapeDType

calls: list = []


class InputSchema(BaseModel):
    x: Differentiable[Array[(None, None), Float64]]
    ks: list[Differentiable[Array[(None,), Float64]]]
    w: Differentiable[Array[(None,), Float64]]
    fixed: Array[(2,), Float64] = np.zeros(2)
    scale: float = 1.0


class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]
    norm: Differentiable[Float64]


def _k(inputs):
    return inputs.scale * sum(inputs.ks)


def apply(inputs: InputSchema) -> OutputSchema:
    calls.append(("apply", len(inputs.x)))
    y = _k(inputs) * (inputs.x**2 @ inputs.w)
    return OutputSchema(y=y, norm=np.sum(inputs.w**2))


def abstract_eval(abstract_inputs):
    return {
        "y": ShapeDType(shape=abstract_inputs.x.shape[:1], dtype="float64"),
        "norm": ShapeDType(shape=(), dtype="float64"),
    }


def _blocks(inputs):
    n, m = inputs.x.shape
    by_x = np.zeros((n, n, m))
    by_x[range(n), range(n)] = 2 * _k(inputs)[:, None] * inputs.x * inputs.w
    blocks = {
        ("y", "x"): by_x,
        ("y", "w"): _k(inputs)[:, None] * inputs.x**2,
        ("norm", "x"): np.zeros((n, m)),
        ("norm", "w"): 2 * inputs.w,
    }
    for i in range(len(inputs.ks)):
        blocks["y", f"ks.[{i}]"] = np.diag(inputs.scale * (inputs.x**2 @ inputs.w))
        blocks["norm", f"ks.[{i}]"] = np.zeros(n)
    return blocks


def jacobian(inputs, jac_inputs, jac_outputs):
    calls.append(("jacobian", len(inputs.x)))
    blocks = _blocks(inputs)
    return {o: {i: blocks[o, i] for i in jac_inputs} for o in jac_outputs}


def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    calls.append(("jvp", len(inputs.x)))
    blocks = _blocks(inputs)
    return {
        o: sum(
            np.tensordot(blocks[o, i], tangent_vector[i], axes=np.ndim(tangent_vector[i]))
            for i in jvp_inputs
        )
        for o in jvp_outputs
    }


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    calls.append(("vjp", len(inputs.x)))
    blocks = _blocks(inputs)
    return {
        i: sum(
            np.tensordot(cotangent_vector[o], blocks[o, i], axes=np.ndim(cotangent_vector[o]))
            for o in vjp_outputs
        )
        for i in vjp_inputs
    }
