"""Modules that change the classes of their schemas once they are loaded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import support
from tesseract_host import _engine
from tesseract_host.loader import calls

SOURCE = """
from pydantic import computed_field, model_serializer

class Part(BaseModel):
    u: Array[(None,), Float64]

class InputSchema(BaseModel):
    x: Array[(None,), Float64]
    change: str = ""
    part: Part | None = None

class OutputSchema(BaseModel):
    y: Array[(None,), Float64]
    text: str = "made"

made = []

def new(cls, *args, **kw):
    made.append(cls.__name__)
    return object.__new__(cls)

def dump(self, **kw):
    return {"y": -self.y, "text": "dumped"}

def init(self, **kw):
    BaseModel.__init__(self, **kw)
    self.__dict__["text"] = "initialised"

class Serialized(OutputSchema):
    @model_serializer
    def serialize(self):
        return {"y": -self.y, "text": "serialised"}

def change(what, inputs):
    if what == "new of inputs":
        type(inputs).__new__ = staticmethod(new)
    if what == "new of a part":
        type(inputs.part).__new__ = staticmethod(new)
    if what == "new of the user's inputs":
        InputSchema.__new__ = staticmethod(new)
    if what == "new of outputs":
        OutputSchema.__new__ = staticmethod(new)
    if what == "dump":
        OutputSchema.model_dump = dump
    if what == "init":
        OutputSchema.__init__ = init
        OutputSchema.model_rebuild(force=True)
    if what == "serializer":
        OutputSchema.__pydantic_decorators__ = Serialized.__pydantic_decorators__
        OutputSchema.model_rebuild(force=True)
    if what == "rebuild":
        InputSchema.model_rebuild(force=True)
        type(inputs).model_rebuild(force=True)
        OutputSchema.model_rebuild(force=True)
    if what == "default":
        OutputSchema.model_fields["text"].default = "another"
        OutputSchema.model_rebuild(force=True)
    if what == "default of inputs":
        type(inputs).model_fields["change"].default = "another"
        type(inputs).model_rebuild(force=True)
    if what == "attribute":
        InputSchema.colour = OutputSchema.colour = "green"
    if what == "restore":
        del OutputSchema.model_dump

def apply(inputs):
    change(inputs.change, inputs)
    if inputs.change:
        made.clear()
    seen = [getattr(inputs, "colour", ""), inputs.change, *made]
    made.clear()
    out = OutputSchema(y=inputs.x)
    out.text += " " + " ".join(seen)
    return out
"""

X = np.array([1.0, 2.0])

# What the next call comes to: the sign of y, its text.
CHANGES = {
    "new of inputs": (1, "made   Apply_InputSchema"),
    "new of a part": (1, "made   Apply_Part"),
    "new of the user's inputs": (1, "made   Apply_InputSchema"),
    "new of outputs": (1, "made   OutputSchema Apply_OutputSchema"),
    "dump": (-1, "dumped"),
    "init": (1, "initialised  "),
    "serializer": (-1, "serialised"),
    "rebuild": (1, "made  "),
    "default": (1, "another  "),
    "default of inputs": (1, "made  "),
    "attribute": (1, "made green "),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_next_call_sees_it(host: Any, tmp_path: Any, change: str) -> None:
    opened = host.open(support.write(tmp_path / "component", SOURCE))
    given = {"x": X, "part": {"u": X}}
    for _ in range(2):
        opened.call("apply", {"inputs": given})
    opened.call("apply", {"inputs": {**given, "change": change}})
    sign, text = CHANGES[change]
    for _ in range(2):
        result = opened.call("apply", {"inputs": given})
        assert support.same(result["y"], sign * X)
        assert result["text"] == text


@pytest.mark.skipif(_engine.native is None, reason=_engine.missing)
def test_a_change_that_is_none_of_pydantics_keeps_the_quick_route(
    component: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = component(SOURCE)
    by_pydantic: list[Any] = []

    def checked(*given: Any) -> Any:
        by_pydantic.append(given)
        return outputs(*given)

    outputs = calls._outputs
    monkeypatch.setattr(calls, "_outputs", checked)

    def call(change: str = "") -> int:
        by_pydantic.clear()
        opened.call("apply", {"inputs": {"x": X, "change": change}})
        return len(by_pydantic)

    assert (call(), call("attribute"), call()) == (0, 0, 0)
    assert (call("dump"), call()) == (1, 1)
    assert (call("restore"), call()) == (0, 0)
