"""Exceptions of the module, and what stays usable (contract 9)."""

import sys
import warnings

from pydantic import BaseModel, field_validator
from tesseract_core.runtime import Differentiable, Float64


class Custom(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


class Base(BaseException):
    pass


class InputSchema(BaseModel):
    x: Differentiable[Float64] = 0.0
    how: str = ""

    @field_validator("how")
    @classmethod
    def check(cls, value):
        if value == "validator":
            raise ValueError("not this one")
        if value == "assertion":
            assert value != "assertion", "nor this one"
        if value == "type error":
            raise TypeError("of the validator")
        return value


class OutputSchema(BaseModel):
    y: Differentiable[Float64] = 0.0


def fail(how):
    errors = {
        "value": ValueError("bad value"),
        "runtime": RuntimeError("already one"),
        "not implemented": NotImplementedError("later"),
        "custom": Custom(1, 2),
        "key": KeyError("k"),
        "empty": ValueError(),
        "lines": ValueError("two\nlines"),
        "unicode": ValueError("größer"),
        "stop": StopIteration(),
        "base": Base("b"),
        "os": OSError(2, "no"),
        "memory": MemoryError(),
        "exit": SystemExit(3),
        "interrupt": KeyboardInterrupt(),
        "generator exit": GeneratorExit(),
        "group": ExceptionGroup("g", [ValueError(1)]) if sys.version_info > (3, 11) else OSError(),
    }
    if how in errors:
        raise errors[how]
    if how == "chain":
        try:
            fail("key")
        except KeyError as error:
            raise ValueError("chained") from error
    if how == "recursion":
        fail(how)
    if how == "assert":
        assert how == "x", "message"
    if how == "warn":
        warnings.warn("careful")
    if how == "own validation":
        InputSchema(x="bad")
    if how == "output validation":
        OutputSchema(y="bad")


def apply(inputs):
    fail(inputs.how)
    return {"y": inputs.x}


def jacobian(inputs, jac_inputs, jac_outputs):
    fail(inputs.how)
    return {"y": {"x": 1.0}}


def abstract_eval(inputs):
    fail(inputs.how)
    return {"y": inputs.x}


HOWS = [
    "", "value", "runtime", "not implemented", "custom", "key", "empty", "lines", "unicode", "stop",
    "base", "os", "memory", "exit", "interrupt", "generator exit", "group", "chain", "recursion",
    "assert", "warn", "own validation", "output validation", "validator", "assertion", "type error",
]  # fmt: skip
SHAPE = {"shape": [], "dtype": "float64"}
CALLS = [("apply", {"how": how, "x": 1}) for how in HOWS]
CALLS += [("abstract_eval", {"how": how, "x": SHAPE}) for how in HOWS]
CALLS += [
    ("jacobian", {"inputs": {"how": how}, "jac_inputs": ["x"], "jac_outputs": ["y"]})
    for how in HOWS
]
