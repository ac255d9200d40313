"""A step of heat diffusion with its adjoint, as `diffusion.cu` has it, with CuPy or NumPy."""

from types import ModuleType
from typing import Any

import numpy as np
from pydantic import BaseModel, Field
from tesseract_core.runtime import Array, Differentiable, Float64

Grid = Array[(None, None), Float64]


class InputSchema(BaseModel):
    temperature: Differentiable[Grid] = Field(description="K")
    diffusivity: Differentiable[Grid] = Field(description="m2/s")
    source: Differentiable[Grid] = Field(description="K/s")
    dt: Float64 = Field(description="s; at most spacing**2 / (4 * largest diffusivity)")
    spacing: Float64 = Field(default=1.0, description="of the cells, m")


class OutputSchema(BaseModel):
    next: Differentiable[Grid] = Field(description="the temperature after dt, K")


def library(array: Any) -> ModuleType:
    """CuPy for an array on a GPU, else NumPy.

    Their functions have the same names.  `cupy.asarray` makes an array over the same memory.
    """
    if not hasattr(array, "__cuda_array_interface__"):
        return np
    import cupy

    return cupy


def unpack(inputs: InputSchema) -> tuple[Any, ...]:
    """The library, and the inputs as its arrays: views, valid during the call."""
    xp = library(inputs.temperature)
    names = ("temperature", "diffusivity", "source", "dt", "spacing")
    return xp, *(xp.asarray(getattr(inputs, name)) for name in names)


def inner(axis: int) -> tuple[Any, Any]:
    """What lies before and what behind each inner face along an axis."""
    everything = slice(None)
    if axis == 0:
        return (slice(None, -1), everything), (slice(1, None), everything)
    return (everything, slice(None, -1)), (everything, slice(1, None))


def inflow(xp: ModuleType, diffusivity: Any, field: Any) -> Any:
    """What flows into each cell of a field, times the square of the spacing."""
    total = xp.zeros_like(field)
    for before, behind in map(inner, (0, 1)):
        face = 0.5 * (diffusivity[before] + diffusivity[behind])
        flow = face * (field[behind] - field[before])
        total[before] += flow
        total[behind] -= flow
    return total


def apply(inputs: InputSchema) -> OutputSchema:
    xp, temperature, diffusivity, source, dt, spacing = unpack(inputs)
    flow = inflow(xp, diffusivity, temperature)
    return OutputSchema(next=temperature + dt * source + dt / spacing**2 * flow)


def vector_jacobian_product(
    inputs: InputSchema,
    vjp_inputs: set[str],
    vjp_outputs: set[str],
    cotangent_vector: dict[str, Any],
) -> dict[str, Any]:
    xp, temperature, diffusivity, _source, dt, spacing = unpack(inputs)
    seed = xp.asarray(cotangent_vector["next"])
    rate = dt / spacing**2
    gradients = {}
    if "temperature" in vjp_inputs:
        gradients["temperature"] = seed + rate * inflow(xp, diffusivity, seed)
    if "source" in vjp_inputs:
        gradients["source"] = dt * seed
    if "diffusivity" in vjp_inputs:
        gradients["diffusivity"] = total = xp.zeros_like(seed)
        for before, behind in map(inner, (0, 1)):
            difference = temperature[behind] - temperature[before]
            face = -0.5 * rate * difference * (seed[behind] - seed[before])
            total[before] += face
            total[behind] += face
    return gradients


def abstract_eval(abstract_inputs: InputSchema) -> dict[str, Any]:
    return {"next": abstract_inputs.temperature}
