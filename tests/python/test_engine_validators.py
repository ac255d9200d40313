"""Validators and factories of the user's under the engine: run once, heard, passed on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from tesseract_host import _engine
from tesseract_host.loader import calls

pytestmark = pytest.mark.skipif(_engine.native is None, reason=_engine.missing)

A = np.arange(3, dtype="f4")

VALIDATED = """
seen = []

class InputSchema(BaseModel):
    a: Array[(None,), Float32]
    n: int = 1
    m: Array[(), Float32] = 0.0

    @field_validator("a")
    @classmethod
    def first(cls, value):
        seen.append("a")
        if value.size == 9:
            raise ValueError("nine")
        if value.size == 8:
            raise KeyboardInterrupt
        return value * 2

    @model_validator(mode="after")
    def last(self):
        seen.append("model")
        self.n += 1
        return self

class OutputSchema(BaseModel):
    y: Any

def apply(inputs):
    return {"y": (inputs.a.tolist(), inputs.n, sorted(inputs.model_fields_set))}
"""


def test_validators_run_once(component: Any) -> None:
    opened = component(VALIDATED)
    assert "a validator" not in str(opened.routes()["apply"]["reasons"])
    for inputs in (
        {"a": A},
        {"a": [1.0, 2.0], "n": 3},
        {"a": A, "n": "3"},  # for pydantic: no validator has run before that is known
        {"a": A, "m": np.ones(1)[0]},
        {"n": 2, "a": A.astype("f8"), "m": memoryview(np.array(1.0))},
    ):
        opened.module.seen.clear()
        first = opened.call("apply", {"inputs": inputs})
        assert opened.module.seen == ["a", "model"], inputs
        assert first == calls.call(opened, "apply", {"inputs": inputs})


def test_validators_that_refuse(component: Any) -> None:
    opened = component(VALIDATED)
    with pytest.raises(ValidationError, match="nine") as caught:
        opened.call("apply", {"inputs": {"a": np.ones(9)}})
    assert caught.value.title == "ApplyInputSchema"
    assert caught.value.errors()[0]["loc"] == ("inputs", "a")
    opened.module.seen.clear()
    with pytest.raises(KeyboardInterrupt):
        opened.call("apply", {"inputs": {"a": np.ones(8)}})
    assert opened.module.seen == ["a"]


CALLING = """
class InputSchema(BaseModel):
    n: Annotated[int, AfterValidator(lambda n: check(n))]
    f: int = Field(default_factory=lambda: make())
class OutputSchema(BaseModel):
    y: int = 0
runs = []
call = None
def check(n):
    runs.append(n)
    return call(n) if call else n
made = None
def make():
    return made() if made else 1
def apply(inputs):
    return {"y": inputs.n}
"""


@pytest.mark.parametrize("error", [RuntimeError, RecursionError, MemoryError, NotImplementedError])
@pytest.mark.parametrize("name", ["call", "made"])
def test_what_pydantic_passes_on_is_passed_on_at_once(
    component: Any, error: type[Exception], name: str
) -> None:
    opened = component(CALLING)

    def fail(*_given: Any) -> Any:
        raise error("the mesh is tangled")

    setattr(opened.module, name, fail)
    for call in (opened.call, lambda *given: calls.call(opened, *given)):
        opened.module.runs.clear()
        with pytest.raises(error, match=r"^the mesh is tangled$"):
            call("apply", {"inputs": {"n": 1}})
        assert opened.module.runs == [1]


def test_validators_that_call_their_component_for_ever(component: Any) -> None:
    opened = component(CALLING)
    opened.module.call = lambda n: opened.call("apply", {"inputs": {"n": n + 1}})["y"]
    with pytest.raises(RecursionError):
        opened.call("apply", {"inputs": {"n": 1}})
    opened.module.call = None
    assert opened.call("apply", {"inputs": {"n": 1}}) == {"y": 1}


def test_a_validator_that_empties_the_payload(component: Any) -> None:
    opened = component(CALLING)
    for call in (opened.call, lambda *given: calls.call(opened, *given)):
        payload = {"n": 1}
        opened.module.runs.clear()
        opened.module.call = lambda n, payload=payload: payload.clear() or n
        assert call("apply", {"inputs": payload}) == {"y": 1}
        assert opened.module.runs == [1]
