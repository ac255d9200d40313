"""Conductivity of a plate with inclusions, from a handful of parameters.

The plate is the unit square, cut into cells. Each inclusion changes the conductivity by a Gaussian:

    k(x, y) = background + sum_i amplitude_i exp(-((x - x_i)^2 + (y - y_i)^2) / (2 width_i^2))
"""

from typing import Any

import numpy as np
from pydantic import BaseModel, Field, PositiveInt, model_validator
from tesseract_core.runtime import Array, Differentiable, Float64, ShapeDType


class InputSchema(BaseModel):
    background: Differentiable[Float64] = Field(description="Conductivity without inclusions.")
    amplitude: Differentiable[Array[(None,), Float64]] = Field(
        description="What each inclusion adds at its centre; negative where it insulates."
    )
    centre: Differentiable[Array[(None, 2), Float64]] = Field(description="x, y of each.")
    width: Differentiable[Array[(None,), Float64]] = Field(
        description="Standard deviation of each."
    )
    nx: PositiveInt = Field(description="Number of cells along x.")
    ny: PositiveInt = Field(description="Number of cells along y.")

    @model_validator(mode="after")
    def same_number_of_inclusions(self) -> "InputSchema":
        count = self.amplitude.shape[0]
        if self.centre.shape[0] != count or self.width.shape[0] != count:
            raise ValueError("amplitude, centre and width must describe the same inclusions")
        return self


class OutputSchema(BaseModel):
    conductivity: Differentiable[Array[(None, None), Float64]] = Field(
        description="By cell, [y, x]."
    )


def apply(inputs: InputSchema) -> OutputSchema:
    along_x, along_y, _, _ = gaussians(inputs)
    return OutputSchema(
        conductivity=inputs.background + (inputs.amplitude[:, None] * along_y).T @ along_x
    )


def vector_jacobian_product(
    inputs: InputSchema,
    vjp_inputs: set[str],
    vjp_outputs: set[str],
    cotangent_vector: dict[str, np.ndarray],
) -> dict[str, np.ndarray]:
    seed = cotangent_vector["conductivity"]
    along_x, along_y, dx, dy = gaussians(inputs)
    amplitude, variance = inputs.amplitude, inputs.width**2

    def moment(power_x: int, power_y: int) -> np.ndarray:
        """Of each inclusion, the sum over cells of seed * Gaussian * dx^power_x * dy^power_y."""
        return np.sum((along_y * dy**power_y) @ seed * along_x * dx**power_x, axis=1)

    gradients = {
        "background": lambda: seed.sum(),
        "amplitude": lambda: moment(0, 0),
        "centre": lambda: np.stack(
            [amplitude * moment(1, 0) / variance, amplitude * moment(0, 1) / variance], axis=1
        ),
        "width": lambda: amplitude * (moment(2, 0) + moment(0, 2)) / (variance * inputs.width),
    }
    return {path: gradients[path]() for path in vjp_inputs}


def abstract_eval(abstract_inputs: InputSchema) -> dict[str, Any]:
    shape = (abstract_inputs.ny, abstract_inputs.nx)
    return {"conductivity": ShapeDType(shape=shape, dtype="float64")}


def gaussians(inputs: InputSchema) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The two factors of each inclusion's Gaussian, and the distances from its centre.

    Along x, along y; arrays of (inclusion, cell along that axis).
    """
    dx = (np.arange(inputs.nx) + 0.5) / inputs.nx - inputs.centre[:, :1]
    dy = (np.arange(inputs.ny) + 0.5) / inputs.ny - inputs.centre[:, 1:]
    variance = inputs.width[:, None] ** 2
    return np.exp(-0.5 * dx**2 / variance), np.exp(-0.5 * dy**2 / variance), dx, dy
