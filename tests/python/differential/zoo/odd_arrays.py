"""Bool and complex arrays, empty axes, many axes, field constraints and flags together."""

from typing import Annotated, Any

import numpy as np
from annotated_types import Len
from pydantic import BaseModel, Field
from tesseract_core.runtime import Array, Differentiable
from tesseract_core.runtime.schema_types import Bool, Complex64, Complex128, Float16, UInt8

from looking import look


class InputSchema(BaseModel):
    flag: Bool = False
    mask: Array[(None, None), Bool] = [[True]]
    waves: Differentiable[Array[(None,), Complex64]] = [1j]
    wave: Differentiable[Complex128] = 1j
    empty: Array[(0,), "float64"] = []
    deep: Array[(1, None, 2, None, 1), "float16"] = np.zeros((1, 1, 2, 1, 1))
    image: Array[(None, None, 3), UInt8] = np.zeros((1, 1, 3), "uint8")
    small: Differentiable[Differentiable[Float16]] = 1.0
    long: Annotated[Array[(None,), "float64"], Len(1, 3)] = [1.0]
    described: Annotated[Array[(None,), "float64"], Field(description="d")] = [1.0]


class OutputSchema(BaseModel):
    seen: Any
    waves: Differentiable[Array[(None,), Complex64]] = [0]
    mask: Array[(None, None), Bool] = [[True]]


def apply(inputs):
    given = {name: getattr(inputs, name) for name in inputs.model_fields_set}
    return {"seen": look(given), "waves": inputs.waves, "mask": inputs.mask}


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return {path: cotangent_vector["waves"] for path in vjp_inputs}


GIVEN = {
    "flag": [True, 1, 0.0, np.bool_(False), "true", np.array(True), [True]],
    "mask": [[[True, False]], [[1, 0]], np.ones((2, 2), bool), np.zeros((0, 2), bool), [True]],
    "waves": [[1, 2j], [1.5], np.ones(2, "c16"), np.float32([1]), ["1j"], 1j, [1e300]],
    "wave": [1, 1j, np.complex64(2), "1j", None],
    "empty": [[], [1.0], np.zeros(0), np.zeros((0, 1))],
    "deep": [np.zeros((1, 3, 2, 4, 1)), np.zeros((1, 3, 1, 4, 1)), np.zeros((2, 3, 2, 4, 1)), 1],
    "image": [np.zeros((2, 2, 3), int), np.zeros((2, 2, 1), "uint8"), np.full((1, 1, 3), 256)],
    "small": [1e5, 1, np.float64(1e-9)],
    "long": [[1, 2, 3], [1, 2, 3, 4], []],
    "described": [[1], "x"],
}
CALLS = [("apply", {name: value}) for name, values in GIVEN.items() for value in values]
CALLS += [
    (
        "vjp",
        {
            "inputs": {},
            "vjp_inputs": ["waves"],
            "vjp_outputs": ["waves"],
            "cotangent_vector": {"waves": seed},
        },
    )
    for seed in ([1j], [1.0], ["x"], np.ones(1, "c16"))
]
DIFFERENT = {29}  # what is broadcast and cast is C-contiguous here
