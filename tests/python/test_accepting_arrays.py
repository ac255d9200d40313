"""Module contract §3.2 to §3.4: what an array field accepts, and what the module then gets."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
import support

NON_NUMERIC = "array_non_numeric"
RANK = "array_dimensionality_mismatch"
SHAPE = "array_shape_mismatch"
DTYPE = "array_dtype_mismatch"
RANGE = "array_value_out_of_range"


def seen(opened: Any, annotation: str, value: Any) -> Any:
    """The value that the module gets for a field of this type."""
    source = support.schema_source(f"x: {annotation}", body="return {'y': [inputs.x]}")
    return opened(source).call("apply", {"inputs": {"x": value}})["y"][0]


ACCEPTED = [
    # annotation, value, dtype, shape
    ("Array[(3,), 'float32']", [1, 2, 3], "float32", (3,)),
    ("Array[(None,), 'float32']", np.arange(3.0), "float32", (3,)),
    ("Array[(None, 2), 'int64']", [[1, 2]], "int64", (1, 2)),
    ("Array[(2, 3), 'float64']", np.ones((1, 3)), "float64", (2, 3)),
    ("Array[(2, 3), 'float32']", np.ones((2, 1)), "float32", (2, 3)),
    ("Array[(None,), 'float64']", [], "float64", (0,)),
    ("Array[(2, None), 'float64']", np.ones((1, 0)), "float64", (2, 0)),
    ("Array[..., 'float64']", np.ones((2, 1, 2)), "float64", (2, 1, 2)),
    ("Array[..., 'float64']", 3, "float64", ()),
    ("Array[..., None]", np.ones(2, "uint8"), "uint8", (2,)),
    ("Float32", 2, "float32", ()),
    ("Float32", np.float64(2.5), "float32", ()),
    ("Float64", np.array(1, "int8"), "float64", ()),
    ("Float64", True, "float64", ()),
    ("Int32", np.uint64(5), "int32", ()),
    ("UInt8", 255, "uint8", ()),
    ("UInt8", True, "uint8", ()),
    ("Int8", np.int64(-128), "int8", ()),
    ("Complex64", 1.5, "complex64", ()),
    ("Complex128", 1 + 2j, "complex128", ()),
    ("Bool", False, "bool", ()),
    ("Float64", np.longdouble(1.25), "float64", ()),
    ("Float16", 65504, "float16", ()),
    ("Float32", float("inf"), "float32", ()),
    ("Float32", float("nan"), "float32", ()),
    ("Float32", 1e-60, "float32", ()),
    ("Int64", np.array(3, ">i4"), "int64", ()),
]


@pytest.mark.parametrize(("annotation", "value", "dtype", "shape"), ACCEPTED)
def test_accepted(
    opened: Any, annotation: str, value: Any, dtype: str, shape: tuple[int, ...]
) -> None:
    got = seen(opened, annotation, value)
    assert (got.dtype, got.shape) == (np.dtype(dtype), shape)
    assert isinstance(got, np.ndarray if shape else np.generic)
    expected = np.broadcast_to(np.asarray(value, dtype), shape)
    assert np.array_equal(got, expected, equal_nan=got.dtype.kind in "fc")


REFUSED = [
    ("Float64", 1j, DTYPE),
    ("Int32", 1.0, DTYPE),
    ("Array[(None,), 'int32']", [], DTYPE),
    ("Bool", 1, DTYPE),
    ("UInt8", -1, RANGE),
    ("UInt8", 256, RANGE),
    ("Int8", 300, RANGE),
    ("Int32", 2**40, RANGE),
    ("Int64", np.uint64(2**63), RANGE),
    ("Float32", 1e40, RANGE),
    ("Float16", 65520.0, RANGE),
    ("Complex64", 1e40j, RANGE),
    ("Array[(3,), 'float64']", 1.0, RANK),
    ("Float64", [1.0], RANK),
    ("Array[(2, 3), 'float64']", np.ones(3), RANK),
    ("Array[(1,), 'float64']", np.ones(3), SHAPE),
    ("Array[(3,), 'float64']", np.ones(2), SHAPE),
    ("Array[(0,), 'float64']", np.ones(2), SHAPE),
    ("Array[..., None]", np.longdouble(1), "array_invalid_dtype"),
    ("Array[(None,), 'float64']", [[1], [1, 2]], "value_error"),
    ("Float64", "1", NON_NUMERIC),
    ("Float64", b"1", NON_NUMERIC),
    ("Float64", None, NON_NUMERIC),
    ("Float64", 2**70, NON_NUMERIC),
    ("Float64", np.array(1.0, object), NON_NUMERIC),
    ("Float64", np.datetime64("2020-01-01"), NON_NUMERIC),
    ("Array[..., 'float64']", {1, 2}, NON_NUMERIC),
    ("Array[..., 'float64']", {"a": 1}, NON_NUMERIC),
    ("Array[..., 'float64']", {}, NON_NUMERIC),
    ("Array[..., 'float64']", (i for i in range(3)), NON_NUMERIC),
]


@pytest.mark.parametrize(("annotation", "value", "type_"), REFUSED)
def test_refused(opened: Any, annotation: str, value: Any, type_: str) -> None:
    with pytest.raises(ValueError) as caught:
        seen(opened, annotation, value)
    assert support.error_types(caught.value) == [(type_, ("inputs", "x"))]


@pytest.mark.parametrize(
    ("annotation", "value", "words"),
    [
        ("Int32", 1.5, ("float64", "int32")),
        ("Array[(3,), 'float64']", np.ones(2), ("(2,)", "(3,)")),
        ("UInt8", -1, ("uint8", "-1")),
    ],
)
def test_messages_name_what_was_given_and_expected(
    opened: Any, annotation: str, value: Any, words: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError) as caught:
        seen(opened, annotation, value)
    message = caught.value.errors(include_url=False)[0]["msg"]  # type: ignore[attr-defined]
    assert all(word in message for word in words)


VIEWS = [
    # value, shares the caller's memory, writeable
    (np.arange(6.0), True, False),
    (np.arange(12.0)[::2], False, False),
    (np.arange(6.0)[::-1], False, False),
    (np.arange(6, dtype="float32"), False, True),
    ([0.0, 1.0], False, False),
    ([0, 1], False, True),
    (memoryview(np.arange(3.0)), True, False),
]


@pytest.mark.parametrize(("value", "shares", "writeable"), VIEWS)
def test_memory(opened: Any, value: Any, shares: bool, writeable: bool) -> None:
    flags = value.flags.writeable if isinstance(value, np.ndarray) else None
    got = seen(opened, "Array[(None,), 'float64']", value)
    memory = np.asarray(value)
    # The result is validated once more, as part of an Any field, which passes it on untouched.
    assert got.flags.c_contiguous
    assert np.shares_memory(got, memory) == shares
    assert got.flags.writeable == writeable
    if flags is not None:
        assert value.flags.writeable == flags


def test_grown_axis_is_a_view_with_stride_zero(opened: Any) -> None:
    value = np.ones((1, 3))
    got = seen(opened, "Array[(4, 3), 'float64']", value)
    assert got.strides[0] == 0
    assert np.shares_memory(got, value)
    assert not got.flags.writeable


def test_fortran_order_becomes_c_order(opened: Any) -> None:
    value = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    got = seen(opened, "Array[(2, 3), 'float64']", value)
    assert got.flags.c_contiguous
    assert np.array_equal(got, value)


def test_byte_order_is_native_where_a_dtype_is_declared(opened: Any) -> None:
    value = np.arange(3).astype(">f8")
    assert seen(opened, "Array[(3,), 'float64']", value).dtype.isnative
    assert seen(opened, "Array[(3,), None]", value).dtype == np.dtype(">f8")


def test_subclasses_become_plain_arrays(opened: Any) -> None:
    masked = np.ma.masked_array([1.0, 2.0], mask=[True, False])
    assert type(seen(opened, "Array[(2,), 'float64']", masked)) is np.ndarray


class Foreign:
    """An array of another library, known by one protocol."""

    def __init__(self, array: Any, protocol: str) -> None:
        self._array = array
        self._protocol = protocol

    def __getattr__(self, name: str) -> Any:
        if name == self.__dict__["_protocol"]:
            return getattr(self.__dict__["_array"], name)
        raise AttributeError(name)


def test_array_interface_is_read_without_a_copy(opened: Any) -> None:
    array = np.arange(3.0)
    got = seen(opened, "Array[(3,), 'float64']", Foreign(array, "__array_interface__"))
    assert np.shares_memory(got, array)


def test_array_method(opened: Any) -> None:
    class Converts:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.arange(3.0)

    assert np.array_equal(seen(opened, "Array[(3,), 'float32']", Converts()), [0, 1, 2])


class OnlyDlpack:
    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def test_dlpack_objects_are_read_without_a_copy(component: Any) -> None:
    array = np.arange(3.0)
    source = support.schema_source("x: Array[(3,), 'float64']", body="return {'y': [inputs.x]}")
    got = component(source).call("apply", {"inputs": {"x": OnlyDlpack(array)}})["y"][0]
    assert np.shares_memory(got, array)
    assert not got.flags.writeable


# ---- Defaults ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        ("Float32", "2.0"),
        ("Array[(3,), Float32]", "[0, 1, 2]"),
        ("Float32", "None"),
        ("Float32", "'text by mistake'"),
        ("int", "'7'"),
    ],
)
def test_defaults_are_not_validated(opened: Any, annotation: str, default: str) -> None:
    source = support.schema_source(f"x: {annotation} = {default}", body="return {'y': [inputs.x]}")
    got = opened(source).call("apply", {"inputs": {}})["y"][0]
    assert support.same(got, eval(default))


def test_mutable_defaults_are_copied_for_each_call(opened: Any) -> None:
    source = support.schema_source(
        "x: Array[(None,), Float32] = [1]",
        body="inputs.x.append(2); return {'y': len(inputs.x)}",
    )
    module = opened(source)
    assert [module.call("apply", {"inputs": {}})["y"] for _ in range(3)] == [2, 2, 2]


# ---- Encoded arrays ----------------------------------------------------------------------------


def encoded(shape: list[int], dtype: str, buffer: Any, encoding: str = "json") -> dict[str, Any]:
    return {
        "object_type": "array",
        "shape": shape,
        "dtype": dtype,
        "data": {"buffer": buffer, "encoding": encoding},
    }


def b64(array: Any) -> str:
    return base64.b64encode(array.tobytes()).decode()


ENCODED = [
    ("Array[(2,), 'float64']", encoded([2], "float64", [1, 2.5]), [1, 2.5]),
    ("Array[(2,), 'float64']", encoded([2], "float32", [1, 2.5]), [1, 2.5]),
    ("Array[(2, 2), 'float64']", encoded([2, 2], "float64", [1, 2, 3, 4]), [[1, 2], [3, 4]]),
    ("Array[(2,), 'float64']", encoded([1], "float64", [3]), [3, 3]),
    ("Array[(2,), 'float64']", encoded([2], "float64", [None, "inf"]), [np.nan, np.inf]),
    ("Array[(2,), 'int32']", encoded([2], "int32", [1.0, 2]), [1, 2]),
    ("Array[(2,), 'bool']", encoded([2], "bool", [True, False]), [True, False]),
    ("Array[(1,), 'complex128']", encoded([1], "complex128", ["1+2j"]), [1 + 2j]),
    ("Float64", encoded([], "float64", 4), 4.0),
    ("Array[(0,), 'float64']", encoded([0], "float64", []), []),
    ("Array[(2,), 'float64']", encoded([2], "float64", b64(np.array([1.0, 2])), "base64"), [1, 2]),
    ("Array[(2,), 'int64']", encoded([2], "int8", b64(np.array([1, 2], "i1")), "base64"), [1, 2]),
]


@pytest.mark.parametrize(("annotation", "value", "expected"), ENCODED)
def test_encoded_arrays(opened: Any, annotation: str, value: Any, expected: Any) -> None:
    got = seen(opened, annotation, value)
    assert np.array_equal(got, expected, equal_nan=got.dtype.kind == "f")


BADLY_ENCODED = [
    ("Array[(2,), 'int32']", encoded([2], "int32", [1.5, 2]), "array_expected_integer"),
    ("Array[(2,), 'float64']", encoded([2], "float64", [1]), "array_decode_error"),
    ("Array[(2,), 'float64']", encoded([2], "float64", "AAA", "base64"), "array_decode_error"),
    (
        "Array[(2,), 'float64']",
        encoded([2], "float64", b64(np.ones(1)), "base64"),
        "array_decode_error",
    ),
    ("Array[(2,), 'float64']", encoded([3], "float64", [1, 2, 3]), NON_NUMERIC),
    ("Array[(2,), 'int32']", encoded([2], "float64", [1, 2]), NON_NUMERIC),
    ("Array[(2,), 'float64']", {**encoded([2], "float64", [1, 2]), "more": 1}, NON_NUMERIC),
    ("Array[(2,), 'float64']", {"shape": [2], "dtype": "float64"}, NON_NUMERIC),
    ("Array[(1,), 'uint8']", encoded([1], "uint8", [300]), RANGE),
    ("Array[(1,), 'float64']", encoded([1], "float64", [1], "raw"), NON_NUMERIC),
]


@pytest.mark.parametrize(("annotation", "value", "type_"), BADLY_ENCODED)
def test_badly_encoded_arrays(opened: Any, annotation: str, value: Any, type_: str) -> None:
    with pytest.raises(ValueError) as caught:
        seen(opened, annotation, value)
    assert support.error_types(caught.value) == [(type_, ("inputs", "x"))]


def test_binref_is_relative_to_the_input_path(component: Any, tmp_path: Any) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.bin").write_bytes(b"\0" * 8 + np.array([1.5, 2.5]).tobytes())
    source = support.schema_source("x: Array[(2,), 'float64']", body="return {'y': inputs.x.sum()}")
    opened = component(source, input_path=str(data))
    value = encoded([2], "float64", "a.bin:8", "binref")
    assert opened.call("apply", {"inputs": {"x": value}})["y"] == 4.0


def test_encoded_integers_never_wrap(component: Any) -> None:
    """tesseract-core lets 2**63 wrap around in an int64 buffer; values must fit."""
    source = support.schema_source("x: Array[(1,), 'int64']")
    with pytest.raises(ValueError) as caught:
        component(source).call("apply", {"inputs": {"x": encoded([1], "int64", [2**63])}})
    assert support.error_types(caught.value) == [(RANGE, ("inputs", "x"))]


@pytest.mark.parametrize(
    ("dtype", "buffer"),
    [
        ("uint64", [2**64 - 1, 100]),
        ("uint64", [2**63 + 1, 0, 1.0]),
        ("int64", [2**60 + 1, 1.0, -3]),
        ("int64", [-(2**63), 2**63 - 1, True]),
    ],
)
def test_encoded_integers_keep_their_digits(component: Any, dtype: str, buffer: Any) -> None:
    source = support.schema_source(f"x: Array[(None,), {dtype!r}]", body="return {'y': [inputs.x]}")
    value = encoded([len(buffer)], dtype, buffer)
    (got,) = component(source).call("apply", {"inputs": {"x": value}})["y"]
    assert got.dtype == dtype
    assert got.tolist() == buffer


def test_encoded_integers_are_cast_by_their_value(component: Any) -> None:
    source = support.schema_source("x: Array[(None,), 'int64']", body="return {}")
    value = encoded([2], "uint64", [2**64 - 1, 100])  # tesseract-core reads it as [0, 100]
    with pytest.raises(ValueError) as caught:
        component(source).call("apply", {"inputs": {"x": value}})
    assert support.error_types(caught.value)[0][0] == RANGE
