"""Endpoints with other parameter names load, and fail when they are called (contract 1.1)."""

from pydantic import BaseModel
from tesseract_core.runtime import Differentiable, Float64


class InputSchema(BaseModel):
    x: Differentiable[Float64]


class OutputSchema(BaseModel):
    y: Differentiable[Float64]


def apply(a, b=1):
    return {"y": a.x * b}


def jacobian(inputs, ins, outs):
    return {o: dict.fromkeys(ins, 1.0) for o in outs}


def jacobian_vector_product(x):
    return x


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector, extra):
    return {}


ONE = {"inputs": {"x": 1.0}}
CALLS = [
    ("apply", {"x": 1}),
    ("jacobian", {**ONE, "jac_inputs": ["x"], "jac_outputs": ["y"]}),
    (
        "jvp",
        {**ONE, "jvp_inputs": ["x"], "jvp_outputs": ["y"], "tangent_vector": {"x": 1.0}},
    ),
    (
        "vjp",
        {**ONE, "vjp_inputs": ["x"], "vjp_outputs": ["y"], "cotangent_vector": {"y": 1.0}},
    ),
    ("abstract_eval", {"x": {"shape": [], "dtype": "float64"}}),
]
