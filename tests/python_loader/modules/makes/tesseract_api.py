"""Makes y = 2 x in memory of its own, and keeps it in the way it is asked to."""

import weakref

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64


class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]
    way: str = "dict"


class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]
    address: int


kept = []


def made(x, way):
    """The array, and what else of it there is then."""
    y = 2.0 * x
    if way == "frozen":
        y.flags.writeable = False
    if way == "whole view":
        return y.reshape(2, -1).T.T.reshape(-1)
    if way == "part":
        return np.concatenate([x, y])[x.size :]
    if way == "kept":
        kept.append(y)
    if way == "kept view":
        kept.append(y[:1])
    if way == "kept base":
        kept.append(y)
        return y[:]
    if way == "kept buffer":
        kept.append(memoryview(y))
    if way == "kept weakly":
        kept.append(weakref.ref(y))
    if way == "input":
        return x
    if way == "foreign":
        return np.frombuffer(bytearray(y.tobytes()))
    return y


def apply(inputs: InputSchema) -> OutputSchema:
    y = made(inputs.x, inputs.way)
    address = y.__array_interface__["data"][0]
    if inputs.way == "last":  # the memory of the last gradient
        address = kept[-1]
    if inputs.way == "instance":
        return OutputSchema(y=y, address=address)
    outputs = {"y": y, "address": address}
    if inputs.way == "kept container":
        kept.append(outputs)
    return outputs


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    gradient = 2.0 * cotangent_vector["y"]
    if inputs.way == "kept":
        kept.append(gradient)
    kept.append(gradient.__array_interface__["data"][0])
    return {"x": gradient}
