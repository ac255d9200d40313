from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64


class InputSchema(BaseModel):
    x: Array[(None,), Float64]


class OutputSchema(BaseModel):
    y: Array[(None,), Float64]


def apply(inputs):
    for _ in range(40):
        print("word " * 10_000)
    print("x" * 2_000_000, end="")
    return OutputSchema(y=inputs.x)
