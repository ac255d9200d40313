"""Works without the GIL for a while, or with it, or not at all."""

import hashlib
import time

from pydantic import BaseModel

BLOCK = bytes(1 << 16)


class InputSchema(BaseModel):
    sleep: float = 0.0
    blocks: int = 0
    spin: float = 0.0


class OutputSchema(BaseModel):
    pass


def apply(inputs: InputSchema) -> OutputSchema:
    if inputs.sleep:
        time.sleep(inputs.sleep)
    if inputs.blocks:
        hashlib.sha256(BLOCK * inputs.blocks)  # gives up the GIL
    until = time.perf_counter() + inputs.spin
    while inputs.spin and time.perf_counter() < until:
        pass
    return OutputSchema()
