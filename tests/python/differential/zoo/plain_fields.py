"""Fields that are no arrays: pydantic's own rules in lax mode (contract 4)."""

import datetime
import decimal
import enum
import pathlib
import uuid
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, Field, HttpUrl, PositiveInt, conlist, constr
from tesseract_core.runtime import Float64

from looking import look


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


class InputSchema(BaseModel):
    i: int = 0
    f: float = 0.0
    s: str = ""
    b: bool = False
    c: complex = 0j
    none: None = None
    lit: Literal["a", 1] = "a"
    colour: Colour = Colour.RED
    level: Level = Level.LOW
    date: datetime.date = datetime.date(2020, 1, 2)
    time: datetime.datetime = None
    delta: datetime.timedelta = None
    path: pathlib.Path = pathlib.Path()
    raw: bytes = b""
    unique: set[int] = set()
    frozen: frozenset[str] = frozenset()
    pair: tuple[int, str] = (1, "a")
    table: dict[int, float] = {}
    anything: Any = None
    bounded: Annotated[int, Field(gt=0, le=5)] = 1
    positive: PositiveInt = 1
    short: constr(max_length=3) = ""
    few: conlist(int, max_length=2) = []
    url: HttpUrl = None
    ident: uuid.UUID = None
    exact: decimal.Decimal = None


class OutputSchema(InputSchema):
    seen: Any = None
    x: Float64 = 0.0


def apply(inputs):
    given = {name: getattr(inputs, name) for name in inputs.model_fields_set}
    if inputs.b:
        return OutputSchema(seen=look(given), **given)
    return {"seen": look(given), **given}


GIVEN = {
    "i": [3, "3", 3.0, 3.5, True, np.int64(3), np.array(3), np.float64(3), np.array([3]), None,
          "x", 2**70, b"3", np.float64(3.5), np.bool_(True)],
    "f": [1, "2.5", np.float32(1.5), np.array(1.5), "x", None, True, float("nan"), np.int8(2), 1j],
    "s": ["x", 1, b"x", None, np.str_("y"), Colour.RED],
    "b": [1, 0, "no", "yes", 2, "maybe", np.bool_(True), 1.0, None, np.array(True)],
    "c": [1, 1j, "1+2j", np.complex64(1j), None, "x"],
    "none": [None, 0],
    "lit": ["a", 1, "1", True, 2, None],
    "colour": ["red", Colour.BLUE, "RED", None],
    "level": [1, 2, "1", 1.0],
    "date": ["2021-02-03", datetime.date(2021, 1, 1), 0, "x", datetime.datetime(2021, 1, 1)],
    "time": ["2021-02-03T04:05:06", 0, 1.5, "x"],
    "delta": [1, "PT1H", 1.5, "x"],
    "path": ["/a/b", pathlib.Path("c"), 3],
    "raw": [b"x", "x", 3, bytearray(b"y")],
    "unique": [{1, 2}, [1, 1, "2"], (1,), "12", 3],
    "frozen": [["a"], {"a", "b"}, "ab"],
    "pair": [[1, "b"], (2, "c"), [1], [1, 2], {1, 2}],
    "table": [{"1": 2}, {1: "2"}, {"x": 1}, {1: "x"}, [1], {1.0: 1}],
    "anything": [1, "x", [1, {"a": None}], np.arange(2), {1, 2}],
    "bounded": [1, 5, 0, 6, "3"],
    "positive": [1, 0, np.int32(4)],
    "short": ["abc", "abcd"],
    "few": [[1, 2], [1, 2, 3]],
    "url": ["http://example.org", "nonsense"],
    "ident": ["12345678123456781234567812345678", "x"],
    "exact": ["1.10", 1, "x"],
}  # fmt: skip
CALLS = [("apply", {name: value}) for name, values in GIVEN.items() for value in values]
CALLS += [("apply", {**payload, "b": True}) for _, payload in CALLS if "b" not in payload]
