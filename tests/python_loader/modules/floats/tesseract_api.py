"""Tells in which floating-point environment it is loaded, called and closed."""

import numpy as np
from pydantic import BaseModel, field_validator
from tesseract_core.runtime import Array, Float64
from tesseract_host.runtime import OutOfDomain, register_out_of_domain

TINY = np.array([8 * 5e-324])
HALF_ULP = np.array([2.0**-53])


class Unstable(ArithmeticError):
    pass


register_out_of_domain(Unstable)


def strange() -> str:
    """What is not as it should be; empty if all is."""
    found = []
    raised = []
    with np.errstate(all="call", call=lambda *what: raised.append(what)):
        if not (TINY * 0.5)[0] > 0.0 or not (TINY + 0.0)[0] > 0.0:
            found.append("denormals are zero")
        if raised and all(kind != "underflow" for kind, _ in raised):
            found.append(f"flags {raised}")
    if (1.0 + HALF_ULP)[0] != 1.0 or (-1.0 - HALF_ULP)[0] != -1.0:
        found.append("rounding")
    if np.finfo(np.longdouble).nmant > 60:
        wide = np.ones(1, np.longdouble) + np.array([2.0**-60], np.longdouble)
        if wide[0] == 1.0:
            found.append("precision")
    with np.errstate(all="ignore"):  # and this must not trap
        np.ones(2) / np.zeros(2)
        np.zeros(2) / np.zeros(2)
        np.full(2, 1e300) * np.full(2, 1e300)
    return ", ".join(found)


class Closing:
    def __del__(self) -> None:
        print("closed:", strange())


AT_IMPORT = strange()
closing = Closing()


class InputSchema(BaseModel):
    step: float = 1.0
    x: Array[(None,), Float64] = np.zeros(2)

    @field_validator("step")
    @classmethod
    def is_finite(cls, step: float) -> float:
        if step > 1e6:
            raise OutOfDomain("far outside")
        return step


class OutputSchema(BaseModel):
    at_import: str
    in_call: str
    y: Array[(None,), Float64]


def apply(inputs: InputSchema) -> OutputSchema:
    if inputs.step > 100.0:
        raise Unstable(f"the step {inputs.step} is unstable")
    if inputs.step > 10.0:
        raise OutOfDomain(f"the step {inputs.step} is too large")
    return OutputSchema(at_import=AT_IMPORT, in_call=strange(), y=inputs.x)


def abstract_eval(abstract_inputs):
    found = strange()
    if found:
        raise RuntimeError(found)
    return {"at_import": "", "in_call": "", "y": {"shape": [2], "dtype": "float64"}}
