"""Python objects of fields that are no arrays reach the caller as they are (contract 5)."""

import datetime
import enum
import pathlib
from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64


class Colour(enum.Enum):
    RED = "red"


class Part(BaseModel):
    colour: Colour = Colour.RED
    x: Float64 = 1.0


class InputSchema(BaseModel):
    pass


class OutputSchema(BaseModel):
    date: datetime.date = datetime.date(2020, 1, 1)
    path: pathlib.Path = pathlib.Path("a/b")
    raw: bytes = b"x"
    unique: set[int] = {1, 2}
    pair: tuple[int, Float64] = (1, 2)
    listed: list[Part] = [Part()]
    table: dict[int, Part] = {3: Part()}
    numbers: dict[str, Array[(None,), Float64]] = {"a": [1]}
    anything: Any = np.arange(3)
    number: float = 1
    count: int = True
    text: str = "t"


def apply(inputs):
    return OutputSchema() if len(inputs.model_dump()) else {}


class Values(BaseModel):
    pass


CALLS = [("apply", {})]
