"""Unknown fields: refused unless the user's class says otherwise; other settings are kept."""

from typing import Any

from pydantic import BaseModel, ConfigDict
from tesseract_core.runtime import Float64

from looking import look


class Plain(BaseModel):
    v: Float64 = 0.0


class Allows(BaseModel):
    model_config = ConfigDict(extra="allow")
    v: Float64 = 0.0
    plain: Plain = Plain()


class Ignores(BaseModel):
    model_config = ConfigDict(extra="ignore")
    v: Float64 = 0.0


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    n: int = 0
    v: Float64 = 0.0


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, str_strip_whitespace=True)
    text: str = ""


class InputSchema(BaseModel):
    plain: Plain = Plain()
    allows: Allows = Allows()
    ignores: Ignores = Ignores()
    strict: Strict = Strict()
    frozen: Frozen = Frozen()


class OutputSchema(BaseModel):
    model_config = ConfigDict(extra="allow")
    seen: Any


def apply(inputs):
    try:
        inputs.frozen.text = "new"
    except ValueError:
        pass
    return {"seen": look(inputs), "more": 1, "array": [1.0]}


CALLS = [
    ("apply", {}),
    ("apply", {"unknown": 1}),
    ("apply", {"plain": {"v": 1, "w": 2}, "other": 1}),
    ("apply", {"allows": {"v": 1, "w": [2], "plain": {"v": 3}}}),
    ("apply", {"allows": {"plain": {"w": 3}}}),
    ("apply", {"ignores": {"v": 1, "w": 2}}),
    ("apply", {"strict": {"n": 1, "v": 1}}),
    ("apply", {"strict": {"n": "1"}}),
    ("apply", {"strict": {"n": 1.0}}),
    ("apply", {"strict": {"w": 1.0}}),
    ("apply", {"frozen": {"text": " padded "}}),
    ("apply", [1]),
    ("apply", None),
    ("apply", "text"),
]
