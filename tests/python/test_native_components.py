"""Native components in `Tesseract`."""

from __future__ import annotations

import enum
import gc
import sys
import weakref
from collections import UserDict
from typing import Any

import native
import numpy as np
import pytest
from native import counts, opened

X = np.arange(3.0)


# ---- Endpoints ---------------------------------------------------------------------------------


def test_the_whole_interface() -> None:
    square = opened("square")
    assert square.available_endpoints == [
        *("apply", "jacobian_vector_product", "vector_jacobian_product"),
        *("health", "abstract_eval", "test"),
    ]
    at = {"x": X, "a": 2.0}
    assert square.apply(at)["y"].tolist() == [0, 2, 8]
    tangents = square.jacobian_vector_product(at, ["x"], ["y"], {"x": np.ones(3)})
    assert list(tangents) == ["y"] and tangents["y"].tolist() == [0, 4, 8]
    gradients = square.vector_jacobian_product(at, ["a", "x"], ("y",), {"y": np.ones(3)})
    assert list(gradients) == ["a", "x"]
    assert gradients["x"].tolist() == [0, 4, 8]
    assert type(gradients["a"]) is np.float64 and gradients["a"] == 5
    shapes = square.abstract_eval({"x": {"shape": [4], "dtype": "float64"}})
    assert shapes == {"y": {"shape": (4,), "dtype": "float64"}}
    assert square.health() == {"status": "ok"}
    assert square.openapi_schema["openapi"].startswith("3.")
    assert square.server_capabilities is None
    assert square.with_encoding(compression="lz4").apply(at)["y"].tolist() == [0, 2, 8]
    assert square.current_encoding.gpu_transport == "none"
    assert square.resolve_gpu_transport() == "none"
    assert "square" in repr(square)


def test_derivatives_are_derived_only_when_asked_for() -> None:
    plain, derived = opened("only_jvp"), opened("only_jvp", derive=True)
    assert "jacobian" not in plain.available_endpoints
    assert {"jacobian", "vector_jacobian_product"} <= {*derived.available_endpoints}
    with pytest.raises(NotImplementedError, match="derive=True"):
        plain.jacobian({"x": X}, ["x"], ["y"])
    rows = derived.jacobian({"x": X, "a": 2.0}, ["x", "a"], {"y"})
    assert rows["y"]["x"].tolist() == np.diag([0.0, 4.0, 8.0]).tolist()
    assert rows["y"]["a"].tolist() == [0, 1, 4]


def test_a_missing_endpoint() -> None:
    alone = opened("apply_only")
    for call in (
        lambda: alone.jacobian({}, ["x"], ["y"]),
        lambda: alone.jacobian_vector_product({}, ["x"], ["y"], {}),
        lambda: alone.vector_jacobian_product({}, ["x"], ["y"], {}),
    ):
        with pytest.raises(NotImplementedError, match="it has apply"):
            call()


def test_there_are_no_classes() -> None:
    square = opened("square")
    for name in ("input_schema", "output_schema"):
        with pytest.raises(NotImplementedError, match=r"native.*no pydantic classes"):
            getattr(square, name)


def test_each_opening_is_an_instance() -> None:
    first, second = opened("stateful"), opened("stateful", options={"gain": 3})
    assert [int(first.apply({"x": X})["calls"]) for _ in range(3)] == [1, 2, 3]
    result = second.apply({"x": X})
    assert result["calls"] == 1 and result["y"].tolist() == [0, 3, 6]


# ---- Values in and out -------------------------------------------------------------------------


def test_nested_containers() -> None:
    containers = opened("containers")
    inputs = {"xs": [X, X + 1], "params": {"k": 2.0, "l {m}": 1}}
    assert containers.apply(inputs) == {"total": 27.0}
    gradients = containers.vector_jacobian_product(
        inputs, ["xs.[1]", r"params.{l \{m\}}"], ["total"], {"total": 1.0}
    )
    assert gradients["xs.[1]"].tolist() == [3, 3, 3]
    assert gradients[r"params.{l \{m\}}"] == 9
    assert containers.apply({"xs": (X,), "params": {"other": 2.0}}) == {"total": 6.0}


class Method(enum.Enum):
    HEUN = "heun"


@pytest.mark.parametrize("calls", [1, 3])
def test_values_that_are_no_arrays(calls: int) -> None:
    values = opened("values")
    for _ in range(calls):
        given = {"x": X, "method": Method.HEUN, "solver": {"steps": np.int64(3)}}
        given["anything"] = {"a": [1, None, {"b": True}], "c": (1.5, "ü"), "d": []}
        result = values.apply(given)
        assert result["sum"] == 3
        assert result["seen"] == {
            "method": "heun",
            "solver": {"steps": 3},
            "anything": {"a": [1, None, {"b": True}], "c": [1.5, "ü"], "d": []},
        }
        assert list(result) == ["sum", "seen"]


def test_each_value_has_its_own_call() -> None:
    """Values that are equal to Python but not to JSON must not be taken for each other."""
    values = opened("values")
    for value in (
        1,
        True,
        1.0,
        0.0,
        -0.0,
        0,
        False,
        None,
        "1",
        [1],
        [1.0],
        (1,),
        {},
        [],
        "",
        2**63,
    ):
        for _ in range(2):
            got = values.apply({"anything": value})["seen"].get("anything")
            wanted = list(value) if isinstance(value, tuple) else value
            assert repr(got) == repr(wanted)
    assert values.apply({"anything": float("nan")})["seen"]["anything"] != 0


def test_more_calls_than_are_remembered() -> None:
    values = opened("values")
    for _ in range(2):
        for i in range(80):
            assert values.apply({"x": X, "anything": i})["seen"]["anything"] == i
    assert values._client.caller("apply").remembered == 32


@pytest.mark.parametrize(
    "given",
    [
        *(X, [0, 1, 2], [0.0, 1.0, 2.0], (0, 1, 2), X.astype(np.float32), X.astype(np.int8)),
        *(X.astype(">f8"), np.repeat(X, 2)[::2], np.arange(5.0)[2::-1][::-1], X.astype(bool) * X),
        np.asarray([[0.0, 1.0, 2.0]]).view(np.matrix).A1,
        np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float64),
    ],
)
def test_what_is_taken_for_an_array(given: Any) -> None:
    square = opened("square")
    for _ in range(3):
        assert square.apply({"x": given, "a": 2})["y"].tolist() == [0, 2, 8]


def test_read_only_and_broadcast_arrays() -> None:
    square = opened("square")
    fixed = X.copy()
    fixed.flags.writeable = False
    assert square.apply({"x": fixed})["y"].tolist() == [0, 1, 4]
    assert square.apply({"x": np.broadcast_to(2.0, 3)})["y"].tolist() == [4, 4, 4]


@pytest.mark.parametrize(
    "number", [2, 2.0, np.float64(2), np.float32(2), np.int16(2), np.asarray(2.0), np.asarray(2)]
)
def test_what_is_taken_for_a_number(number: Any) -> None:
    square = opened("square")
    for _ in range(3):
        assert square.apply({"x": X, "a": number})["y"].tolist() == [0, 2, 8]
    assert square.apply({"x": X, "a": True})["y"].tolist() == [0, 1, 4]
    assert square.apply({"x": X, "a": None})["y"].tolist() == [0, 1, 4]


def test_each_dtype() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    typed = opened("typed")
    given = {
        "bf16": np.asarray([1.5], ml_dtypes.bfloat16),
        "f32": np.asarray([1.5], np.float32),
        "i8": np.asarray([-3], np.int8),
        "i64": np.asarray([2**60]),
        "u64": np.asarray([2**63], np.uint64),
        "flag": np.asarray([True]),
        "c64": np.asarray([1j], np.complex64),
        "f64": np.asarray([[2.5]]),
    }
    for _ in range(2):
        result = typed.apply(given)
        for name, array in given.items():
            assert result[name].dtype == array.dtype and result[name].shape == array.shape, name


def test_numbers_keep_within_their_dtype() -> None:
    from tesseract_host.exceptions import InputError

    typed = opened("typed")
    for name, value in (("f32", [1e300]), ("i8", [300]), ("i64", [2.5]), ("flag", [2])):
        for _ in range(2):
            with pytest.raises(InputError) as caught:
                typed.apply({name: value})
            assert caught.value.path == name


def test_shapes_that_only_the_run_knows() -> None:
    dependent = opened("dependent")
    for given in (np.asarray([1.0, -1.0, 2.0]), -X, np.empty(0), X):
        result = dependent.apply({"x": given})
        assert result["y"].tolist() == given[given > 0].tolist()
        assert result["count"] == (given > 0).sum()


def test_mappings_and_models() -> None:
    from pydantic import BaseModel

    class Inputs(BaseModel):
        x: list[float] = [0, 1, 2]

    square = opened("square")
    for given in (UserDict(x=X), Inputs()):
        assert square.apply(given)["y"].tolist() == [0, 1, 4]


def test_encoded_arrays() -> None:
    encoded = {
        "object_type": "array",
        "shape": [3],
        "dtype": "float64",
        "data": {"buffer": [0, 1, 2], "encoding": "json"},
    }
    assert opened("square").apply({"x": encoded})["y"].tolist() == [0, 1, 4]


def test_the_arguments_are_left_as_they_are() -> None:
    square = opened("square")
    inputs, seed = {"x": X.copy(), "a": 2.0}, {"y": np.ones(3)}
    square.vector_jacobian_product(inputs, ["x"], ["y"], seed)
    assert inputs["x"].tolist() == X.tolist() and inputs["a"] == 2.0 and list(inputs) == ["x", "a"]
    assert seed["y"].tolist() == [1, 1, 1]


# ---- Memory ------------------------------------------------------------------------------------


def test_nothing_is_copied() -> None:
    adopts = opened("adopts")
    n = 1 << 16
    result = adopts.apply({"x": np.ones(n)})
    assert result["status"] == 0, "the component's memory was not taken over"
    assert result["y"].ctypes.data == result["address"]
    assert result["y"].flags.writeable and not result["y"].flags.owndata
    freed = int(adopts.apply({"x": X})["freed"])
    kept = result["y"][1:]
    del result
    assert adopts.apply({"x": X})["freed"] == freed + 1
    del kept
    gc.collect()
    assert adopts.apply({"x": X})["freed"] == freed + 3  # the large one, and that of the last call
    assert all(value == 0 for name, value in counts(adopts).items() if "copies" in name)


def test_strides_are_passed_on() -> None:
    strided = opened("any_strides")
    a = np.arange(12.0).reshape(3, 4)[:, ::2].T
    result = strided.apply({"a": a})
    assert (result["stride0"], result["stride1"]) == (2, 4)
    assert result["b"].tolist() == (2 * a).tolist()
    assert counts(strided)["layout_copies"] == 0


def test_results_outlive_their_component() -> None:
    adopts = opened("adopts")
    y = adopts.apply({"x": X})["y"]
    client = weakref.ref(adopts._client)
    del adopts
    gc.collect()
    assert client() is None
    assert y.tolist() == [0, 2, 4]


def test_conversions_are_counted() -> None:
    square = opened("square")
    square.apply({"x": X.astype(np.float32)})
    assert counts(square)["dtype_copies"] == 1


def test_a_cycle_through_the_log_is_collected() -> None:
    class Holder:
        def log(self, level: int, line: str) -> None:
            pass

    holder: Any = Holder()
    holder.tesseract = opened("square", log=holder.log)
    seen = weakref.ref(holder)
    del holder
    gc.collect()
    assert seen() is None


def test_a_cycle_through_a_remembered_type_is_collected() -> None:
    def make() -> weakref.ref[Any]:
        class Vector:
            def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
                return X

        tesseract = opened("square")
        Vector.made_for = tesseract  # type: ignore[attr-defined]
        for _ in range(2):
            assert tesseract.apply({"x": Vector()})["y"].tolist() == [0, 1, 4]
        return weakref.ref(tesseract._client)

    client = make()
    gc.collect()
    assert client() is None


def test_references_are_kept_even() -> None:
    square = opened("square")
    x = X.copy()
    inputs = {"x": x, "a": 2.0}
    for _ in range(3):
        square.apply(inputs)
    before = sys.getrefcount(x)
    for _ in range(100):
        square.apply(inputs)
        with pytest.raises(RuntimeError):
            square.apply({"x": x, "a": -1.0})
    assert sys.getrefcount(x) == before


# ---- What integrations ask ---------------------------------------------------------------------


def test_what_the_client_says() -> None:
    first, second = opened("stateful"), opened("stateful")
    other = opened("stateful", options={"gain": 2})
    client = first._client
    assert client.kind == "native" and client.uses_jax is False
    names = [t._client.identity for t in (first, second, other)]
    base = names[0].rpartition("-")[0]
    assert names[0] == f"{base}-0" and names[1] == f"{base}-1"
    assert names[2].rpartition("-")[0] != base
    assert client.host() is client.host() and client.host().pointer
    assert client.description["inputs"][0]["path"] == "x"
    assert set(names[0]) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_.")


def test_regression_tests() -> None:
    square = opened("square")
    spec = {"endpoint": "apply", "payload": {"inputs": {"x": [1.0, 2.0], "a": 2.0}}}
    square.test({**spec, "expected_outputs": {"y": [2.0, 8.0]}})
    encoded = {"shape": [2], "dtype": "float64", "data": {"buffer": [2, 8], "encoding": "json"}}
    square.test({**spec, "expected_outputs": {"y": {"object_type": "array", **encoded}}})
    for wrong in ([2.0, 9.0], [2.0], [[2.0, 8.0]], "text", None):
        with pytest.raises(AssertionError):
            square.test({**spec, "expected_outputs": {"y": wrong}})
    with pytest.raises(AssertionError):
        square.test({**spec, "expected_exception": "ValueError"})
    with pytest.raises(AssertionError, match="no endpoint"):
        square.test({"endpoint": "jacobian", "payload": {}, "expected_outputs": {}})
    square.test({"endpoint": "apply", "payload": {"inputs": {}}, "expected_exception": ValueError})
    with pytest.raises(AssertionError, match="don't fit"):
        square.test({"endpoint": "apply", "payload": {"inputs": {}}, "expected_outputs": {}})


def test_the_fortran_component() -> None:
    from tesseract_host import Tesseract

    native.need_binding()
    file = native.PLUGINS.parent / "bindings" / "libkinds.so"
    if not file.exists():
        pytest.skip(f"{file} is not built")
    kinds = Tesseract.from_library(file)
    given = {
        "r0": 1.5,
        "r1": X,
        "r2": np.arange(6.0).reshape(2, 3),
        "r3": np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
        "r4": np.ones((1, 2, 1, 3), order="F"),
        "r5": np.ones((1, 2, 1, 2, 1), order="F"),
        "r6": np.ones((1, 2, 1, 2, 1, 2), order="F"),
        "r7": np.ones((2, 1, 2, 1, 2, 1, 2), order="F"),
        "f": np.ones((2, 2), np.float32),
        "i8": [[2**60]],
        "i4": [[-3, 4]],
        "z": np.full((1, 2), 1 + 1j),
        "flag": [True, False],
    }
    result = kinds.apply({**given, "behaviour": "grow"})
    for name, value in given.items():
        wanted = ~np.asarray(value) if name == "flag" else 2 * np.asarray(value)
        assert np.array_equal(result[name], wanted), name
    assert result["r2"].flags.f_contiguous
    assert result["grown"].tolist() == [[0, 1, 2], [10, 11, 12]]
    assert result["seen"] == {"behaviour": "grow"}
    assert counts(kinds)["layout_copies"] == 1  # r2, which is given row by row
