"""Fails in the way it is asked to."""

import sys
import warnings

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64


class InputSchema(BaseModel):
    how: str = "not"


class OutputSchema(BaseModel):
    y: Array[(None,), Float64]


def deeper() -> None:
    deeper()


def unhappy_helper() -> None:
    raise RuntimeError("the mesh is tangled")


def apply(inputs: InputSchema) -> OutputSchema:
    if inputs.how == "raise":
        unhappy_helper()
    elif inputs.how == "exit":
        sys.exit(3)
    elif inputs.how == "interrupt":
        raise KeyboardInterrupt
    elif inputs.how == "recurse":
        deeper()
    elif inputs.how == "memory":
        raise MemoryError
    elif inputs.how == "shape":
        return {"y": np.zeros((2, 2))}
    elif inputs.how == "none":
        return None
    elif inputs.how == "print":
        print("a word from the module")
    elif inputs.how == "warn":
        warnings.warn("the mesh is coarse", stacklevel=1)
    elif inputs.how == "unprintable":

        class Unprintable(Exception):
            def __str__(self) -> str:
                raise ValueError("no text")

        raise Unprintable
    return OutputSchema(y=np.ones(2))
