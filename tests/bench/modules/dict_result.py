"""Two arrays and a scalar in; a dict out.  Its gradient is a constant, too."""

from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float32


class InputSchema(BaseModel):
    a: Differentiable[Array[(3,), Float32]]
    b: Array[(3,), Float32]
    s: Float32


class OutputSchema(BaseModel):
    y: Differentiable[Array[(3,), Float32]]


Y = np.ones(3, dtype=np.float32)


def apply(inputs: InputSchema) -> dict[str, Any]:
    return {"y": Y}


def vector_jacobian_product(
    inputs: InputSchema,
    vjp_inputs: set[str],
    vjp_outputs: set[str],
    cotangent_vector: dict[str, Any],
) -> dict[str, Any]:
    return {"a": Y}
