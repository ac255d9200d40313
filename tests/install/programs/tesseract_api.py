"""The component of square.c as a Python module."""

from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64


class InputSchema(BaseModel):
    """Points and a factor."""

    x: Differentiable[Array[(None,), Float64]]
    a: Differentiable[Float64] = 1.0


class OutputSchema(BaseModel):
    """The squares."""

    y: Differentiable[Array[(None,), Float64]]


def apply(inputs: InputSchema) -> OutputSchema:
    """Computes y = a x^2."""
    return OutputSchema(y=inputs.a * inputs.x**2)


def vector_jacobian_product(
    inputs: InputSchema, vjp_inputs: set, vjp_outputs: set, cotangent_vector: dict
) -> dict:
    """Gradients of <y, cotangent>."""
    cotangent = cotangent_vector["y"]
    gradients = {
        "x": 2.0 * inputs.a * inputs.x * cotangent,
        "a": (inputs.x**2 * cotangent).sum(),
    }
    return {path: gradients[path] for path in vjp_inputs}
