"""Tangents of an input that is left at a default written as a list (docs/differences.md)."""

from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64


class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]] = [1.0, 2.0]


class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]


def apply(inputs):
    return {"y": inputs.x}


def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    return {"y": tangent_vector["x"]}


PATHS = {"jvp_inputs": ["x"], "jvp_outputs": ["y"]}
CALLS = [
    ("jvp", {"inputs": {}, **PATHS, "tangent_vector": {"x": [3, 4]}}),
    ("jvp", {"inputs": {"x": [1, 2]}, **PATHS, "tangent_vector": {"x": [3, 4]}}),
    ("jvp", {"inputs": {"x": [1, 2]}, **PATHS, "tangent_vector": {"x": 3}}),
]
DIFFERENT = {0}
