"""How endpoints are called: the class of the inputs, path sets, seeds (contract 1.1)."""

from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float32, Float64

from looking import look


class Part(BaseModel):
    p: Differentiable[Float32]


class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float32]]
    part: Part
    parts: list[Part] = []
    n: int = 3

    def twice(self):
        return 2 * self.n

    @property
    def half(self):
        return self.n / 2


class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float32]]
    z: Differentiable[Float64] = 0.0
    seen: Any = None


def apply(whatever):
    seen = (look(whatever), isinstance(whatever, InputSchema), whatever.twice(), whatever.half)
    return {"y": whatever.x, "seen": seen}


SEEN = []


def note(**arguments):
    SEEN.append({name: look(value) for name, value in arguments.items()})


def jacobian(inputs, jac_inputs, jac_outputs):
    note(inputs=inputs, ins=jac_inputs, outs=jac_outputs)
    shapes = {"x": inputs.x.shape, "part.p": (), "y": inputs.x.shape, "z": ()}
    return {o: {i: np.ones(shapes[o] + shapes[i]) for i in jac_inputs} for o in jac_outputs}


def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    note(inputs=inputs, ins=jvp_inputs, outs=jvp_outputs, seed=tangent_vector)
    return {o: inputs.x if o == "y" else 1.0 for o in jvp_outputs}


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    note(inputs=inputs, ins=vjp_inputs, outs=vjp_outputs, seed=cotangent_vector)
    return {i: inputs.x if i == "x" else 1.0 for i in vjp_inputs}


def abstract_eval(shapes):
    SEEN.append(look(shapes))
    return {"y": shapes.x, "seen": SEEN.copy()}


X = np.arange(3, dtype="float32")
INPUTS = {"x": X, "part": {"p": 1.0}}
MORE = {**INPUTS, "parts": [{"p": 2}, {"p": np.float64(3)}], "n": "7"}
ABSTRACT = {
    "x": {"shape": [3], "dtype": "float64"},
    "part": {"p": {"shape": (), "dtype": "int8"}},
}
CALLS = [
    ("apply", INPUTS),
    ("apply", MORE),
    ("jacobian", {"inputs": INPUTS, "jac_inputs": ["x", "x"], "jac_outputs": ("z", "y")}),
    ("jacobian", {"inputs": MORE, "jac_inputs": {"x", "part.p"}, "jac_outputs": {"z"}}),
    (
        "jvp",
        {
            "inputs": INPUTS,
            "jvp_inputs": ["x"],
            "jvp_outputs": ["y", "z"],
            "tangent_vector": {"x": [1, 2, 3]},
        },
    ),
    (
        "jvp",
        {
            "inputs": INPUTS,
            "jvp_inputs": ["part.p"],
            "jvp_outputs": ["y"],
            "tangent_vector": {"part.p": 1},
        },
    ),
    (
        "vjp",
        {
            "inputs": INPUTS,
            "vjp_inputs": ["x", "part.p"],
            "vjp_outputs": ["y", "z"],
            "cotangent_vector": {"y": np.ones(3), "z": 2},
        },
    ),
    ("abstract_eval", ABSTRACT),
    ("abstract_eval", {**ABSTRACT, "parts": [{"p": {"shape": [], "dtype": "float32"}}], "n": 5}),
]
