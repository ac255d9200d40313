"""An async apply loads, and every call fails output validation (contract 2)."""

import warnings

from pydantic import BaseModel
from tesseract_core.runtime import Float64

warnings.filterwarnings("ignore", message="coroutine .* was never awaited")


class InputSchema(BaseModel):
    x: Float64


class OutputSchema(BaseModel):
    y: Float64


async def apply(inputs):
    return {"y": inputs.x}


CALLS = [("apply", {"x": 2}), ("apply", {"x": "bad"})]
