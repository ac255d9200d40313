"""Endpoints may be any callable: objects, partial functions, wrapped functions (contract 1)."""

import functools

from pydantic import BaseModel
from tesseract_core.runtime import Differentiable, Float64


class InputSchema(BaseModel):
    x: Differentiable[Float64]


class OutputSchema(BaseModel):
    y: Differentiable[Float64]


class Model:
    def __init__(self):
        self.count = 0

    def __call__(self, inputs):
        self.count += 1
        return OutputSchema(y=inputs.x * self.count)


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def scaled(factor, *, inputs, jac_inputs, jac_outputs):
    return {o: dict.fromkeys(jac_inputs, factor) for o in jac_outputs}


apply = Model()
jacobian = functools.partial(scaled, 3.0)


@logged
def jacobian_vector_product(**kwargs):
    return dict.fromkeys(kwargs["jvp_outputs"], 2 * kwargs["tangent_vector"]["x"])


CALLS = [
    ("apply", {"x": 2}),
    ("apply", {"x": 2}),
    ("jacobian", {"inputs": {"x": 1}, "jac_inputs": ["x"], "jac_outputs": ["y"]}),
    (
        "jvp",
        {
            "inputs": {"x": 1},
            "jvp_inputs": ["x"],
            "jvp_outputs": ["y"],
            "tangent_vector": {"x": 4},
        },
    ),
    (
        "vjp",
        {
            "inputs": {"x": 1},
            "vjp_inputs": ["x"],
            "vjp_outputs": ["y"],
            "cotangent_vector": {"y": 4},
        },
    ),
]
