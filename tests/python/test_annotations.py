"""Module contract §3.1: declaring arrays; and the types in models of the module's own."""

from __future__ import annotations

import importlib
import json
from typing import Any

import numpy as np
import pytest
import support
from pydantic import BaseModel, TypeAdapter, ValidationError

RUNTIMES = ["tesseract_host.runtime", "tesseract_core.runtime"]


@pytest.fixture(params=RUNTIMES)
def types(request: pytest.FixtureRequest) -> Any:
    """The types of one implementation."""
    pytest.importorskip(request.param, reason="tesseract-core[runtime] is not installed")
    return importlib.import_module(f"{request.param}.schema_types")


def names(types: Any) -> dict[str, Any]:
    return {**vars(types), **vars(importlib.import_module("typing")), "np": np}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Array[[3], 'float32']", ValueError),
        ("Array[3, 'float32']", ValueError),
        ("Array[('n',), 'float32']", ValueError),
        ("Array[(3,), 'float128']", ValueError),
        ("Array[(3,), 'double']", ValueError),
        ("Array[(3,)]", TypeError),
        ("Array((3,), 'float32')", RuntimeError),
        ("Differentiable[float]", ValueError),
        ("Float32(1)", RuntimeError),
    ],
)
def test_bad_declarations(types: Any, text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        eval(text, names(types))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Array[(3,), Float32]", "Array[(3,), 'float32']"),
        ("Array[(), 'bool']", "Array[(), 'bool']"),
        ("Array[(None, 3), None]", "Array[(None, 3), None]"),
    ],
)
def test_repr(types: Any, text: str, expected: str) -> None:
    assert repr(eval(text, names(types))) == expected


def test_differentiable_adds_only_a_flag(types: Any) -> None:
    array = types.Array[(3,), "int32"]
    marked = types.Differentiable[array]
    assert types.is_differentiable(marked)
    assert not types.is_differentiable(array)
    assert not types.is_differentiable(float)
    assert issubclass(marked, array)
    assert (marked.expected_shape, marked.expected_dtype) == ((3,), "int32")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, name.lower())
        for name in [
            "Float16",
            "Float32",
            "Float64",
            "Int8",
            "Int16",
            "Int32",
            "Int64",
            "UInt8",
            "UInt16",
            "UInt32",
            "UInt64",
            "Bool",
            "Complex64",
            "Complex128",
        ]
    ],
)
def test_scalar_aliases(types: Any, name: str, dtype: str) -> None:
    alias = getattr(types, name)
    assert (alias.expected_shape, alias.expected_dtype) == ((), dtype)


UNIONS = [
    # annotation, value, result
    ("float | Float32", 1.5, 1.5),
    ("Float32 | float", 1.5, 1.5),
    ("float | Float32", 1, 1.0),
    ("float | Float32", np.float32(1.5), 1.5),
    ("Float32 | float", 1, np.float32(1)),
    ("Float32 | float", np.float32(1.5), np.float32(1.5)),
    ("int | Float64", 3, 3),
    ("Float64 | int", 3, 3),
    ("int | Float64", True, np.float64(1.0)),
    ("str | Float64", "a", "a"),
    ("list[float] | Array[(None,), 'float64']", [1.0], [1.0]),
    ("list[float] | Array[(None,), 'float64']", np.array([1.0]), np.array([1.0])),
    ("Int32 | Float64", 3, np.int32(3)),
    ("Float32 | Float64", np.float64(1.5), np.float32(1.5)),
    ("Int32 | Float64", 1.5, np.float64(1.5)),
    ("Optional[Float64]", None, None),
    ("Optional[Float64]", 1, np.float64(1)),
    ("dict[str, int] | Array[..., None]", {"a": 1}, {"a": 1}),
]


@pytest.mark.parametrize(("text", "value", "expected"), UNIONS)
def test_unions(types: Any, text: str, value: Any, expected: Any) -> None:
    got = TypeAdapter(eval(text, names(types))).validate_python(value)
    if isinstance(expected, float) and not isinstance(expected, np.generic):
        assert isinstance(got, float) and got == expected
    else:
        assert support.same(got, expected)


def model_of(types: Any) -> type[BaseModel]:
    vector, triple = types.Array[(None,), "float64"], types.Array[(3,), types.Float32]

    class Model(BaseModel):
        a: vector  # type: ignore[valid-type]
        s: types.Float32 = 2.0
        w: triple = [0, 1, 2]  # type: ignore[valid-type]

    return Model


def test_dump_in_python_mode(types: Any) -> None:
    dumped = model_of(types)(a=[1, 2]).model_dump()
    expected = {
        "a": np.array([1.0, 2.0]),
        "s": np.float32(2.0),
        "w": np.array([0, 1, 2], "float32"),
    }
    assert support.same(dumped, expected)


@pytest.mark.parametrize("encoding", ["json", "base64"])
def test_json_round_trip(types: Any, encoding: str) -> None:
    cls = model_of(types)
    text = cls(a=[1, 2]).model_dump_json(context={"array_encoding": encoding})
    data = json.loads(text)["a"]
    assert (data["object_type"], data["shape"], data["dtype"]) == ("array", [2], "float64")
    assert data["data"]["encoding"] == encoding
    again = cls.model_validate_json(text)
    assert support.same(again.a, np.array([1.0, 2.0]))
    assert support.same(again.s, np.float32(2))


def test_json_gives_null_for_what_is_not_finite(types: Any) -> None:
    text = model_of(types)(a=[np.nan, np.inf, -np.inf, 1]).model_dump_json()
    assert json.loads(text)["a"]["data"]["buffer"] == [None, None, None, 1.0]


@pytest.mark.parametrize("value", [[1, 2], 1.0, "text", {"shape": [2]}])
def test_json_takes_only_encoded_arrays(types: Any, value: Any) -> None:
    with pytest.raises(ValidationError):
        model_of(types).model_validate_json(json.dumps({"a": value}))


def test_both_implementations_dump_the_same(reference: Any) -> None:
    texts = []
    for name in RUNTIMES:
        types = importlib.import_module(f"{name}.schema_types")
        value = model_of(types)(a=np.linspace(0, 1, 4))
        texts.append(
            [
                value.model_dump_json(),
                value.model_dump_json(context={"array_encoding": "base64"}),
                repr(value),
            ]
        )
    assert texts[0] == texts[1]


def test_json_schema_of_an_array(types: Any) -> None:
    schema = TypeAdapter(types.Differentiable[types.Array[(None, 3), "float32"]]).json_schema()
    assert schema["title"] == "EncodedArrayModel__any_3__float32__DIFFERENTIABLE"
    assert schema["array_flags"] == ["DIFFERENTIABLE"]
    assert set(schema["properties"]) == {"object_type", "shape", "dtype", "data"}
    assert schema["additionalProperties"] is False


def test_shape_and_dtype(types: Any) -> None:
    fits = TypeAdapter(types.ShapeDType[(None, 3), "float32"])
    given = {"shape": [2, 3], "dtype": "int8", "data": "ignored"}
    assert fits.validate_python(given).model_dump() == {"shape": (2, 3), "dtype": "float32"}
    for bad in (
        {"shape": [2, 1], "dtype": "float32"},
        {"shape": [2], "dtype": "float32"},
        {"shape": [2, 3], "dtype": "complex64"},
        {"shape": [2, 3], "dtype": "Float32"},
    ):
        with pytest.raises(ValidationError):
            fits.validate_python(bad)
