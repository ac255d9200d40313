"""Device objects reach the module as they are, checked by their interface (contract 8)."""

from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float32


class Device:
    """An array in device memory, as far as its interface says."""

    def __init__(self, shape, dtype="<f4"):
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": dtype,
            "data": (4096, False),
            "strides": None,
            "version": 3,
        }

    def __repr__(self):
        interface = self.__cuda_array_interface__
        return f"Device({interface['shape']}, {interface['typestr']})"


class InputSchema(BaseModel):
    x: Differentiable[Array[(None, 2), Float32]]
    s: Float32 = 1.0
    any_rank: Array[..., None] = 0.0


class OutputSchema(BaseModel):
    y: Differentiable[Array[(None, 2), Float32]]
    seen: Any = None


def apply(inputs):
    kinds = [type(value).__name__ for value in (inputs.x, inputs.s, inputs.any_rank)]
    return {"y": inputs.x, "seen": [kinds, [inputs.x]]}


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    assert type(cotangent_vector["y"]).__name__ == "Device"
    return {"x": cotangent_vector["y"]}


HOST = np.zeros((3, 2), "float32")
GIVEN = [
    {"x": Device((3, 2))},
    {"x": Device((3, 2), "<f8")},
    {"x": Device((3, 3))},
    {"x": Device((3,))},
    {"x": Device((3, 2), "|S4")},
    {"x": HOST, "s": Device(())},
    {"x": HOST, "s": Device((1,))},
    {"x": HOST, "any_rank": Device((1, 2, 3), "<i4")},
    {"x": HOST, "any_rank": Device((1, 2, 3), "<f2")},
    {"x": HOST, "any_rank": Device((1,), "<M8[s]")},
]
CALLS = [("apply", inputs) for inputs in GIVEN]
PATHS = {"inputs": {"x": HOST}, "vjp_inputs": ["x"], "vjp_outputs": ["y"]}
CALLS += [
    ("vjp", {**PATHS, "cotangent_vector": {"y": Device(shape)}}) for shape in [(3, 2), (3, 3), (3,)]
]
