"""Endpoints by jax_recipes (contract 11, in the wild)."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float32
from tesseract_core.runtime.experimental import set_jax_vjp_cache_size
from tesseract_core.runtime.jax_recipes import (
    jax_abstract_eval,
    jax_apply,
    jax_jacobian,
    jax_jvp,
    jax_vjp,
)

set_jax_vjp_cache_size(2)


class Part(BaseModel):
    p: Differentiable[Float32] = 1.0


class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float32]]
    s: Differentiable[Float32] = 2.0
    part: Part = Part()
    table: dict[str, Differentiable[Float32]] = {}
    power: int = 2
    name: str = "plain"
    maybe: float | None = None


class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float32]]
    z: Differentiable[Float32]
    n: int


@eqx.filter_jit
def apply_jit(inputs: dict) -> dict:
    x = jnp.asarray(inputs["x"])
    scale = inputs["s"] * inputs["part"]["p"] + sum(inputs["table"].values())
    y = scale * x ** inputs["power"]
    return {"y": y, "z": jnp.sum(jnp.sin(y)), "n": inputs["power"]}


def apply(inputs):
    return jax_apply(apply_jit, inputs)


def jacobian(inputs, jac_inputs, jac_outputs):
    return jax_jacobian(apply_jit, inputs, jac_inputs, jac_outputs)


def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    return jax_jvp(apply_jit, inputs, jvp_inputs, jvp_outputs, tangent_vector)


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return jax_vjp(apply_jit, inputs, vjp_inputs, vjp_outputs, cotangent_vector)


def abstract_eval(abstract_inputs):
    return jax_abstract_eval(apply_jit, abstract_inputs)


X = np.linspace(0.1, 1, 3, dtype="float32")
INPUTS = {"x": X, "s": 1.5, "part": {"p": 2}, "table": {"a.b": 1, "c": 2}, "power": 3}
SHAPE = {"shape": (), "dtype": "float32"}
INS = ["x", "s", "part.p", "table.{a.b}"]
CALLS = [
    ("apply", {"x": X}),
    ("apply", INPUTS),
    ("apply", {**INPUTS, "power": 2, "name": "other"}),
    ("jacobian", {"inputs": INPUTS, "jac_inputs": INS, "jac_outputs": ["y", "z"]}),
    ("jacobian", {"inputs": {"x": X}, "jac_inputs": ["x"], "jac_outputs": ["z"]}),
    (
        "jvp",
        {
            "inputs": INPUTS,
            "jvp_inputs": INS,
            "jvp_outputs": ["y", "z"],
            "tangent_vector": {"x": X, "s": 1, "part.p": 2, "table.{a.b}": 3},
        },
    ),
    (
        "vjp",
        {
            "inputs": INPUTS,
            "vjp_inputs": INS,
            "vjp_outputs": ["y", "z"],
            "cotangent_vector": {"y": X, "z": 2},
        },
    ),
    (
        "vjp",
        {
            "inputs": {"x": X, "s": 1.5},
            "vjp_inputs": ["s"],
            "vjp_outputs": ["z"],
            "cotangent_vector": {"z": 2},
        },
    ),
    ("abstract_eval", {"x": {"shape": (5,), "dtype": "float32"}, "s": SHAPE}),
    (
        "abstract_eval",
        {
            "x": {"shape": (5,), "dtype": "float32"},
            "s": SHAPE,
            "part": {"p": SHAPE},
            "table": {"a": SHAPE},
            "power": 3,
        },
    ),
]
DIFFERENT = {8, 9}  # outputs that are no arrays are kept as they are
