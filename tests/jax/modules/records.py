"""y = x + a, slowly; then a line is written to a file, both as the environment says."""

from __future__ import annotations

import os
import time

from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64


class InputSchema(BaseModel):
    x: Array[(None,), Float64]
    a: Float64 = 1.0


class OutputSchema(BaseModel):
    y: Array[(None,), Float64]


def apply(inputs: InputSchema) -> OutputSchema:
    time.sleep(float(os.environ["SECONDS"]))
    with open(os.environ["RECORD"], "a") as file:
        file.write("called\n")
    return OutputSchema(y=inputs.x + inputs.a)


def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
