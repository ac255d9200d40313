from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64


class InputSchema(BaseModel):
    x: Array[(None,), Float64]


class OutputSchema(BaseModel):
    y: Array[(None,), Float64]


class Abandoned(BaseException):
    """No Exception, so that nobody catches it by accident."""


def apply(inputs):
    raise Abandoned("the mesh ran away")
