"""Quadratic drag: the force -c |v| v on bodies that move with the velocities v."""

from typing import Any

import numpy as np
from pydantic import BaseModel, Field
from tesseract_core.runtime import Array, Differentiable, Float64


class InputSchema(BaseModel):
    v: Differentiable[Array[(None,), Float64]] = Field(description="velocities, m/s")
    c: Differentiable[Float64] = Field(default=0.5, description="drag factor, kg/m")


class OutputSchema(BaseModel):
    force: Differentiable[Array[(None,), Float64]] = Field(description="forces, N")


def apply(inputs: InputSchema) -> OutputSchema:
    if inputs.c < 0:
        raise ValueError("the drag factor is negative")
    return OutputSchema(force=-inputs.c * np.abs(inputs.v) * inputs.v)


def jacobian_vector_product(
    inputs: InputSchema,
    jvp_inputs: set[str],
    jvp_outputs: set[str],
    tangent_vector: dict[str, Any],
) -> dict[str, Any]:
    tangent = np.zeros_like(inputs.v)
    if "v" in jvp_inputs:
        tangent -= 2 * inputs.c * np.abs(inputs.v) * tangent_vector["v"]
    if "c" in jvp_inputs:
        tangent -= np.abs(inputs.v) * inputs.v * tangent_vector["c"]
    return {"force": tangent}


def vector_jacobian_product(
    inputs: InputSchema,
    vjp_inputs: set[str],
    vjp_outputs: set[str],
    cotangent_vector: dict[str, Any],
) -> dict[str, Any]:
    seed = cotangent_vector["force"]
    gradient = {}
    if "v" in vjp_inputs:
        gradient["v"] = -2 * inputs.c * np.abs(inputs.v) * seed
    if "c" in vjp_inputs:
        gradient["c"] = -np.sum(np.abs(inputs.v) * inputs.v * seed)
    return gradient


def abstract_eval(abstract_inputs: InputSchema) -> dict[str, Any]:
    return {"force": abstract_inputs.v}
