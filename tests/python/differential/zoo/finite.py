"""Endpoints by finite differences and from one another (contract 11)."""

from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64
from tesseract_core.runtime.experimental import (
    finite_difference_jacobian,
    finite_difference_jvp,
    finite_difference_vjp,
    jacobian_from_jvp,
    jacobian_from_vjp,
    jvp_from_jacobian,
    vjp_from_jacobian,
)


class Part(BaseModel):
    p: Differentiable[Float64] = 0.5


class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]
    part: Part = Part()
    options: dict[str, Any] = {}
    how: str = "fd"


class OutputSchema(BaseModel):
    y: Differentiable[Array[(None, 2), Float64]]
    z: Differentiable[Float64]


def apply(inputs):
    x = inputs.x
    return OutputSchema(
        y=np.stack([x**2, np.sin(x)], axis=-1) * inputs.part.p, z=np.sum(x**3) + inputs.part.p**2
    )


def exact(inputs, jac_inputs, jac_outputs):
    x, p = inputs.x, inputs.part.p
    eye = np.eye(len(x))
    blocks = {
        ("y", "x"): np.stack([np.diag(2 * x), np.diag(np.cos(x))], axis=1) * p,
        ("y", "part.p"): np.stack([x**2, np.sin(x)], axis=-1),
        ("z", "x"): 3 * x**2,
        ("z", "part.p"): np.float64(2 * p) * eye[0, 0],
    }
    return {o: {i: blocks[o, i] for i in jac_inputs} for o in jac_outputs}


def exact_jvp(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    return jvp_from_jacobian(exact, inputs, jvp_inputs, jvp_outputs, tangent_vector)


def exact_vjp(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return vjp_from_jacobian(exact, inputs, vjp_inputs, vjp_outputs, cotangent_vector)


def rounded(tree):
    if isinstance(tree, dict):
        return {key: rounded(value) for key, value in tree.items()}
    return np.round(tree, 6)


def jacobian(inputs, jac_inputs, jac_outputs):
    if inputs.how == "jvp":
        return jacobian_from_jvp(exact_jvp, inputs, jac_inputs, jac_outputs)
    if inputs.how == "vjp":
        return jacobian_from_vjp(exact_vjp, apply, inputs, jac_inputs, jac_outputs)
    options = inputs.options
    return rounded(finite_difference_jacobian(apply, inputs, jac_inputs, jac_outputs, **options))


def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    arguments = (inputs, jvp_inputs, jvp_outputs, tangent_vector)
    if inputs.how == "jacobian":
        return jvp_from_jacobian(exact, *arguments)
    return rounded(finite_difference_jvp(apply, *arguments, **inputs.options))


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    arguments = (inputs, vjp_inputs, vjp_outputs, cotangent_vector)
    if inputs.how == "jacobian":
        return vjp_from_jacobian(exact, *arguments)
    return rounded(finite_difference_vjp(apply, *arguments, **inputs.options))


X = np.linspace(-1, 1, 3)
LONG = np.linspace(-1, 1, 30)
OPTIONS = [
    {},
    {"algorithm": "forward", "eps": 1e-6},
    {"algorithm": "central", "eps": 1e-3},
    {"eps": {"x": 1e-4, "part.p": 1e-3}},
    {"eps": {"x": 1e-4}},
    {"eps": {"x": 1e-4, "part.p": 1e-3, "q": 1}},
    {"algorithm": "stochastic", "seed": 3},
    {"algorithm": "none"},
]
BOTH = ["x", "part.p"]


def calls(x, ins, **inputs):
    inputs = {"x": x, "part": {"p": 0.75}, **inputs}
    n = len(x)
    seeds = {"x": np.linspace(1, 2, n), "part.p": 2.0}
    return [
        ("jacobian", {"inputs": inputs, "jac_inputs": ins, "jac_outputs": ["y", "z"]}),
        (
            "jvp",
            {
                "inputs": inputs,
                "jvp_inputs": ins,
                "jvp_outputs": ["y", "z"],
                "tangent_vector": {name: seeds[name] for name in ins},
            },
        ),
        (
            "vjp",
            {
                "inputs": inputs,
                "vjp_inputs": ins,
                "vjp_outputs": ["y", "z"],
                "cotangent_vector": {"y": np.linspace(0, 1, 2 * n).reshape(n, 2), "z": 2.0},
            },
        ),
    ]


CALLS = [call for how in ("jvp", "vjp", "jacobian") for call in calls(X, BOTH, how=how)]
CALLS += [call for options in OPTIONS for call in calls(X, BOTH, options=options)]
# A seed gives the same samples, as long as there is one input: with more, their order is a set's.
CALLS += calls(LONG, ["x"], options={"algorithm": "stochastic", "seed": 3, "num_samples": 12})[::2]
CALLS += calls(LONG, ["x"], options={"algorithm": "stochastic", "seed": 4})[::2]
DIFFERENT = {28}  # tesseract-core's finite_difference_jvp takes no seed
