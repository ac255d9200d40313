"""y = a * x * x, element by element, with its adjoint."""

from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64


class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]
    a: Differentiable[Float64] = 2.0
    note: str = "none"


class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]
    note: str


def apply(inputs: InputSchema) -> OutputSchema:
    return OutputSchema(y=inputs.a * inputs.x**2, note=inputs.note)


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    seed = cotangent_vector["y"]
    gradients = {"x": 2.0 * inputs.a * inputs.x * seed, "a": (inputs.x**2 * seed).sum()}
    return {path: gradients[path] for path in vjp_inputs}
