"""y = x + 1, by JAX; that it uses JAX doesn't show before it is called."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64

calls: list = []


class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]


class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]


def apply(inputs: InputSchema) -> OutputSchema:
    import jax.numpy as jnp

    square = jnp.outer(jnp.ones(64), jnp.ones(64)) * inputs.x[0]
    return OutputSchema(y=np.asarray(inputs.x + 1 + 0 * (square @ square)[0, 0]))


def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    import jax.numpy as jnp

    return {"x": np.asarray(jnp.asarray(cotangent_vector["y"]) * 1.0)}
