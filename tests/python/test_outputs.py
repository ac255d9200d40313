"""Module contract §5: what apply may return, and what the caller gets."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import support

MODULE = """
import enum, datetime
from pathlib import Path
class Color(enum.Enum):
    RED = "red"
class Nested(BaseModel):
    p: Float32 = 1.0
class Unrelated(BaseModel):
    a: Array[(None,), "float64"]
class InputSchema(BaseModel):
    x: Array[(None,), "float64"] = [1.0, 2.0]
    code: str = "{}"
class OutputSchema(BaseModel):
    a: Array[(None,), "float64"]
    s: Float32 = 2.0
    i: Int32 = 0
    n: Nested = Nested()
    more: Any = None
class Derived(OutputSchema):
    pass
A = np.array([1.0, 2.0])
def apply(inputs):
    return eval(inputs.code, {**globals(), **locals()})
"""

REST = {"s": np.float32(2), "i": np.int32(0), "n": {"p": np.float32(1)}, "more": None}
REST_ORDER = ("a", "s", "i", "n", "more")
A = np.array([1.0, 2.0])

ACCEPTED = [
    ("OutputSchema(a=A)", {"a": A}),
    ("Derived(a=A)", {"a": A}),
    ("OutputSchema(a=A, n=Nested(p=3))", {"a": A, "n": {"p": np.float32(3)}}),
    ("{'a': A, 's': 3, 'n': {'p': 2}}", {"a": A, "s": np.float32(3), "n": {"p": np.float32(2)}}),
    ("{'a': [1, 2.0]}", {"a": A}),
    ("{'a': np.array([1, 2])}", {"a": A}),
    ("{'a': (1, 2)}", {"a": A}),
    ("{'a': [np.nan, np.inf]}", {"a": np.array([np.nan, np.inf])}),
    ("{'a': np.asarray(inputs.x)}", {"a": A}),
    ("{'a': np.array([])}", {"a": np.array([])}),
    ("{'a': A, 'i': np.int64(7)}", {"a": A, "i": np.int32(7)}),
    (
        "OutputSchema.model_construct(a=A, s=1, i=0, n=Nested(), more=None)",
        {"a": A, "s": np.float32(1)},
    ),
    ("{'a': A, 'more': {1: 'x'}}", {"a": A, "more": {1: "x"}}),
]


@pytest.mark.parametrize(("expression", "expected"), ACCEPTED)
def test_accepted(opened: Any, expression: str, expected: dict[str, Any]) -> None:
    got = opened(MODULE).call("apply", {"inputs": {"code": expression}})
    wanted = {key: {**REST, **expected}[key] for key in REST_ORDER}
    assert support.same(got, wanted)


REFUSED = [
    ("None", ""),
    ("[1.0]", ""),
    ("A", ""),
    ("'text'", ""),
    ("Unrelated(a=A)", ""),
    ("(i for i in 'a')", ""),
    ("{}", "a"),
    ("{'a': A, 'z': 1}", "z"),
    ("{'a': 1.0}", "a"),
    ("{'a': A * 1j}", "a"),
    ("{'a': A, 'i': 1.5}", "i"),
    ("{'a': A, 'i': 2**40}", "i"),
    ("{'a': A, 's': 1e40}", "s"),
    ("{'a': A, 's': [1]}", "s"),
    ("{'a': A, 'n': Nested()}", "n"),
    ("{'a': A, 'n': {'q': 1}}", "q"),
    ("{'a': None}", "a"),
]


@pytest.mark.parametrize(("expression", "field"), REFUSED)
def test_refused(opened: Any, expression: str, field: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        opened(MODULE).call("apply", {"inputs": {"code": expression}})
    text = str(caught.value)
    assert "Error running Tesseract API apply" in text
    assert "ValidationError" in text
    assert field in text


@pytest.mark.filterwarnings("ignore:coroutine")
def test_coroutines_are_refused(opened: Any) -> None:
    module = opened(MODULE.replace("def apply", "async def apply"))
    with pytest.raises(RuntimeError):
        module.call("apply", {"inputs": {}})


def test_validators_of_outputs_run_twice_for_an_instance(opened: Any) -> None:
    source = """
        count = 0
        class InputSchema(BaseModel):
            x: int = 0
        class OutputSchema(BaseModel):
            y: int
            @field_validator("y")
            @classmethod
            def counted(cls, v):
                global count
                count += 1
                return count
        def apply(inputs):
            return OutputSchema(y=0) if inputs.x else {"y": 0}
    """
    module = opened(source)
    assert module.call("apply", {"inputs": {"x": 1}}) == {"y": 2}
    assert module.call("apply", {"inputs": {"x": 0}}) == {"y": 3}


PLAIN = [
    ("Color", "Color.RED", None),
    ("datetime.date", "datetime.date(2020, 1, 2)", datetime.date(2020, 1, 2)),
    ("Path", "Path('/a')", Path("/a")),
    ("bytes", "b'\\xff'", b"\xff"),
    ("set[int]", "{1, 2}", {1, 2}),
    ("tuple[int, str]", "(1, 'a')", (1, "a")),
    ("list[Float32]", "[1, 2]", [np.float32(1), np.float32(2)]),
    ("dict[str, Array[..., None]]", "{'k': A}", {"k": A}),
    ("Optional[Float32]", "None", None),
]


@pytest.mark.parametrize("as_instance", [True, False])
@pytest.mark.parametrize(("annotation", "expression", "expected"), PLAIN)
def test_kinds_of_values(
    opened: Any, annotation: str, expression: str, expected: Any, as_instance: bool
) -> None:
    fields = MODULE.replace("more: Any = None", f"more: {annotation}")
    form = "OutputSchema(a=A, more={})" if as_instance else "dict(a=A, more={})"
    got = opened(fields).call("apply", {"inputs": {"code": form.format(expression)}})["more"]
    if annotation == "Color":
        assert got.value == "red"
    else:
        assert support.same(got, expected)


SPECIAL = [
    # fields of the output, returned, result or None
    ("@computed_field\\n    def c(self) -> int: return 3", "OutputSchema(y=1)", None),
    ("@computed_field\\n    def c(self) -> int: return 3", "{'y': 1}", {"y": 1, "c": 3}),
    ("z: int = Field(alias='zz', default=0)", "OutputSchema(y=1)", None),
    ("z: int = Field(alias='zz', default=0)", "{'y': 1, 'zz': 2}", {"y": 1, "z": 2}),
    ("z: int = Field(exclude=True, default=0)", "{'y': 1, 'z': 2}", {"y": 1}),
]


@pytest.mark.parametrize(("field", "returned", "expected"), SPECIAL)
def test_computed_aliased_and_excluded_fields(
    opened: Any, field: str, returned: str, expected: Any
) -> None:
    field = field.replace("\\n", "\n")
    source = (
        "class InputSchema(BaseModel):\n    x: int = 0\n"
        f"class OutputSchema(BaseModel):\n    y: int\n    {field}\n"
        f"def apply(inputs):\n    return {returned}\n"
    )
    module = opened(source)
    if expected is None:
        with pytest.raises(RuntimeError):
            module.call("apply", {"inputs": {}})
    else:
        assert module.call("apply", {"inputs": {}}) == expected


def test_an_array_the_module_keeps_is_not_handed_out_writeable(opened: Any) -> None:
    given = {"inputs": {"code": "{'a': A, 'more': A.tolist()}"}}
    first = opened(MODULE).call("apply", given)["a"]
    assert not first.flags.writeable
    assert opened(MODULE).call("apply", given)["more"] == [1.0, 2.0]


def test_a_result_that_can_not_be_dumped(component: Any) -> None:
    source = support.schema_source("x: int = 0", "y: Float64 = 'text'", "return {}")
    with pytest.raises(RuntimeError, match="Error running Tesseract API apply"):
        component(source).call("apply", {"inputs": {}})
