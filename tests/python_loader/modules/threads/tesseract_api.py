"""Counts its calls by thread, and computes with numbers that a host may have disturbed."""

import threading
import time

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64


class InputSchema(BaseModel):
    x: Array[(None,), Float64]
    pause: float = 0.0
    spin: float = 0.0


class OutputSchema(BaseModel):
    y: Array[(None,), Float64]
    calls_of_this_thread: int
    warnings: int


state = threading.local()


def apply(inputs: InputSchema) -> OutputSchema:
    state.calls = getattr(state, "calls", 0) + 1
    time.sleep(inputs.pause)  # lets other threads of Python run
    until = time.monotonic() + inputs.spin
    while time.monotonic() < until:
        pass
    warnings = []
    with np.errstate(all="call", under="ignore", call=lambda *what: warnings.append(what)):
        y = inputs.x * np.float64(0.5)
    with np.errstate(all="ignore"):
        np.ones(3) / np.zeros(3)
        np.float32(1e30) * np.float32(1e30)
    return OutputSchema(y=y, calls_of_this_thread=state.calls, warnings=len(warnings))
