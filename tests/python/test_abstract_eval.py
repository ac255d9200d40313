"""Module contract §6: shapes and dtypes without values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import support

MODULE = """
class Nested(BaseModel):
    p: Array[(2, None), "float32"]
class InputSchema(BaseModel):
    x: Array[(None,), "float64"]
    n: Optional[Nested] = None
    xs: list[Float32] = []
    d: Array[(3,), "float32"] = [1, 2, 3]
    bad: Float32 = "not a number"
    o: Optional[Float32] = None
    k: int = 4
    code: str = "{}"
class OutputSchema(BaseModel):
    y: Array[(None, 3), "float32"] = np.zeros((1, 3), "float32")
    z: Float64 = 1.0
    k: int = 7
    more: Any = None
def apply(inputs): return {}
def abstract_eval(abstract):
    return eval(abstract.code, {**globals(), **locals()})
"""


def shape(*lengths: int, dtype: str = "float64") -> dict[str, Any]:
    return {"shape": lengths, "dtype": dtype}


def call(opened: Any, returned: str, inputs: Any = None) -> Any:
    """The result of an abstract_eval that returns the value of an expression."""
    given = {"x": shape(5)} if inputs is None else inputs
    if "code" not in given:
        given = {**given, "code": returned}
    return opened(MODULE).call("abstract_eval", {"inputs": given})


def seen(opened: Any, expression: str, inputs: Any = None) -> Any:
    """The value of an expression in abstract_eval."""
    return call(opened, f"{{'more': {expression}}}", inputs)["more"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("(abstract.x.shape, abstract.x.dtype)", ((5,), "float64")),
        ("abstract.x.model_dump()", {"shape": (5,), "dtype": "float64"}),
        (
            "(type(abstract.x).__name__, type(abstract).__name__)",
            ("ShapeDType", "AbstractEval_InputSchema"),
        ),
        ("isinstance(abstract, InputSchema)", True),
        ("(abstract.d.shape, abstract.d.dtype)", ((3,), "float32")),
        ("abstract.bad", "not a number"),
        ("(abstract.o, abstract.n, abstract.xs, abstract.k)", (None, None, [], 4)),
    ],
)
def test_what_arrives(opened: Any, expression: str, expected: Any) -> None:
    assert support.same(seen(opened, expression), expected)


@pytest.mark.parametrize(
    ("inputs", "expression", "expected"),
    [
        ({"x": shape(5, dtype="int8")}, "abstract.x.dtype", "float64"),
        ({"x": {"shape": [5], "dtype": "float64", "data": 3}}, "abstract.x.shape", (5,)),
        ({"x": shape(-5)}, "abstract.x.shape", (-5,)),
        (
            {"x": shape(5), "n": {"p": shape(2, 9, dtype="float16")}},
            "(abstract.n.p.shape, abstract.n.p.dtype, type(abstract.n).__name__)",
            ((2, 9), "float32", "AbstractEval_Nested"),
        ),
        (
            {"x": shape(5), "xs": [shape(), shape()]},
            "[v.dtype for v in abstract.xs]",
            ["float32", "float32"],
        ),
        ({"x": shape(5), "k": "6"}, "abstract.k", 6),
    ],
)
def test_accepted(opened: Any, inputs: Any, expression: str, expected: Any) -> None:
    assert support.same(seen(opened, expression, inputs), expected)


@pytest.mark.parametrize(
    "inputs",
    [
        {"x": shape(5, 1)},
        {"x": shape(5, dtype="complex128")},
        {"x": shape(5, dtype="Float64")},
        {"x": np.zeros(5)},
        {"x": [1.0]},
        {"x": shape(5), "n": {"p": shape(1, 9, dtype="float32")}},
        {"x": shape(5), "z": 1},
        {},
        {"x": {"shape": [5]}},
    ],
)
def test_refused(opened: Any, inputs: Any) -> None:
    with pytest.raises(ValueError) as caught:
        call(opened, "{}", inputs)
    assert caught.value.title == "AbstractInputSchema"  # type: ignore[attr-defined]


Y = "ShapeDType(shape=(4, 3), dtype='float32')"

RETURNED = [
    (f"{{'y': {Y}}}", shape(4, 3, dtype="float32")),
    ("{'y': {'shape': [4, 3], 'dtype': 'int16'}}", shape(4, 3, dtype="float32")),
    ("{}", shape(1, 3, dtype="float32")),
]


@pytest.mark.parametrize(("returned", "expected"), RETURNED)
def test_returned(opened: Any, returned: str, expected: Any) -> None:
    got = call(opened, returned)
    z = {"shape": (), "dtype": "float64"}
    assert support.same(got, {"y": expected, "z": z, "k": 7, "more": None})


@pytest.mark.parametrize(
    "returned",
    [
        "{'y': ShapeDType(shape=(4,), dtype='float32')}",
        "{'y': ShapeDType(shape=(4, 1), dtype='float32')}",
        "{'y': ShapeDType(shape=(4, 3), dtype='complex64')}",
        "{'y': {'shape': (4, 3), 'dtype': 'Float32'}}",
        "{'y': np.zeros((4, 3), 'float32')}",
        "{'q': 1}",
        "OutputSchema()",
        "None",
        "{'y': None}",
    ],
)
def test_refused_results(opened: Any, returned: str) -> None:
    with pytest.raises(RuntimeError, match="Error running Tesseract API abstract_eval"):
        call(opened, returned)


def test_validators_meet_shapes(opened: Any) -> None:
    source = """
        class InputSchema(BaseModel):
            x: Float32 = Field(gt=0)
        class OutputSchema(BaseModel):
            y: int = 0
        def apply(inputs): return {}
        def abstract_eval(abstract): return {}
    """
    with pytest.raises(TypeError):
        opened(source).call("abstract_eval", {"inputs": {"x": shape(dtype="float32")}})
