from pydantic import BaseModel, field_validator
from tesseract_core.runtime import Array, Float64


class InputSchema(BaseModel):
    x: Array[(None,), Float64]

    @field_validator("x")
    @classmethod
    def deeper(cls, x):
        return cls.deeper(x)


class OutputSchema(BaseModel):
    y: Array[(None,), Float64]


def apply(inputs):
    return OutputSchema(y=inputs.x)
