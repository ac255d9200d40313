"""y = x + 1, by a JAX program that JAX runs on its pool; INNER may be a component called by it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64

calls: list = []
INNER = None


class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]


class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]


def _one(x):
    square = jnp.outer(jnp.ones(64), jnp.ones(64)) * x[0]
    return 1 + 0 * (square @ square)[0, 0]


@jax.jit
def _plain(x):
    return x + _one(x)


@jax.jit
def _through(x):
    from tesseract_host.jax import apply_tesseract

    return apply_tesseract(INNER, {"x": x})["y"] + 0 * _one(x)


def apply(inputs: InputSchema) -> OutputSchema:
    function = _plain if INNER is None else _through
    return OutputSchema(y=np.asarray(function(inputs.x)))


def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    function = _plain if INNER is None else _through
    _, pullback = jax.vjp(function, jnp.asarray(inputs.x))
    return {"x": np.asarray(pullback(jnp.asarray(cotangent_vector["y"]))[0])}
