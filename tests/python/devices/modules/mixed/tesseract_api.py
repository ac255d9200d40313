"""Results on the device and on the host, beside each other; tells where its inputs were."""

import ctypes
import os

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64

driver = ctypes.CDLL(os.environ["TESSERACT_HOST_CUDA_DRIVER"])
Vector = Differentiable[Array[(None,), Float64]]


class InputSchema(BaseModel):
    x: Vector
    a: Vector


class Both(BaseModel):
    made: Vector
    here: Vector


class OutputSchema(BaseModel):
    given: Vector
    both: Both
    listed: list[Vector]
    seen: dict


class Made:
    """Memory of the device, freed with the object."""

    def __init__(self, size: int) -> None:
        pointer = ctypes.c_uint64()
        code = driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(8 * size))
        assert code == 0, code
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "<f8",
            "data": (pointer.value, False),
            "version": 3,
        }

    def __del__(self) -> None:
        driver.cuMemFree_v2(ctypes.c_uint64(address(self)))


def address(array) -> int:
    return array.__cuda_array_interface__["data"][0]


def scaled(array, factor: float):
    """An array scaled where it is, on the device by a "kernel" on the legacy default stream."""
    if isinstance(array, np.ndarray):
        return factor * array
    size = array.__cuda_array_interface__["shape"][0]
    made = Made(size)
    pointers = ctypes.c_uint64(address(made)), ctypes.c_uint64(address(array))
    stream, number = ctypes.c_void_p(1), ctypes.c_double(factor)
    code = driver.fake_cuda_launch_scale(stream, *pointers, ctypes.c_uint64(size), number)
    assert code == 0, code
    return made


def place(array) -> list:
    """What it is, and where."""
    on_host = isinstance(array, np.ndarray)
    return [type(array).__name__, array.ctypes.data if on_host else address(array)]


def apply(inputs: InputSchema) -> OutputSchema:
    ones = np.ones(3)
    return OutputSchema(
        given=inputs.x,
        both=Both(made=scaled(inputs.x, 2.0), here=3 * ones),
        listed=[4 * ones, scaled(inputs.x, 5.0)],
        seen={"x": place(inputs.x), "a": place(inputs.a)},
    )


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    seed = cotangent_vector["both.made"]
    return {"x": scaled(seed, 2.0), "a": np.zeros(3)}
