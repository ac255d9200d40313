"""y = 2 * x * x by JAX, which keeps references to its arguments for a while after a call."""

import jax
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64

jax.config.update("jax_enable_x64", True)


class InputSchema(BaseModel):
    x: Array[(None,), Float64]


class OutputSchema(BaseModel):
    y: Array[(None,), Float64]


@jax.jit
def function(x: jax.Array) -> jax.Array:
    return 2 * x**2


def apply(inputs: InputSchema) -> OutputSchema:
    return OutputSchema(y=function(inputs.x))
