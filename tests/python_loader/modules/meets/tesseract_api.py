"""Returns when another call has come as far, told through pipes; both wait without the GIL."""

import os
import select

from pydantic import BaseModel


class InputSchema(BaseModel):
    tell: int
    hear: int


class OutputSchema(BaseModel):
    met: bool


def apply(inputs: InputSchema) -> OutputSchema:
    os.write(inputs.tell, b"!")
    ready, _, _ = select.select([inputs.hear], [], [], 30.0)
    return OutputSchema(met=bool(ready))
