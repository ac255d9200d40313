"""y = x + 1, slowly and without the GIL; never entered by two threads at once."""

from __future__ import annotations

import threading
import time

from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64

calls: list = []
inside = [0, 0]  # now, and the most there ever were
threads: set = set()


class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]


class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]


def _enter():
    inside[0] += 1
    inside[1] = max(inside)
    threads.add(threading.get_ident())
    time.sleep(0.0005)


def apply(inputs: InputSchema) -> OutputSchema:
    _enter()
    y = inputs.x + 1
    inside[0] -= 1
    return OutputSchema(y=y)


def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    _enter()
    x = cotangent_vector["y"] * 1.0
    inside[0] -= 1
    return {"x": x}
