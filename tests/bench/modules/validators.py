"""Two arrays and a scalar in, which validators look at; a dict out."""

from typing import Any

import numpy as np
from pydantic import BaseModel, field_validator, model_validator
from tesseract_core.runtime import Array, Float32


class InputSchema(BaseModel):
    a: Array[(3,), Float32]
    b: Array[(3,), Float32]
    s: Float32

    @field_validator("s")
    @classmethod
    def s_may_be_anything(cls, s: Any) -> Any:
        return s

    @model_validator(mode="after")
    def everything_is_fine(self) -> "InputSchema":
        return self


class OutputSchema(BaseModel):
    y: Array[(3,), Float32]


Y = np.ones(3, dtype=np.float32)


def apply(inputs: InputSchema) -> dict[str, Any]:
    return {"y": Y}
