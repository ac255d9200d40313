"""Every kind of value into every kind of array field: the same outcome as tesseract-core."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import support

FIELDS = [f"Array[(2,), {dtype!r}]" for dtype in support.DTYPES] + [
    "Array[(2,), None]",
    "Array[..., 'float64']",
    "Array[(None, 2), 'float32']",
    "Float64",
    "Optional[Int32]",
    "Int32 | Float64",
    "float | Float32",
    "list[float] | Array[(None,), 'float64']",
]


def values() -> list[Any]:
    """Edges of each dtype, in several forms."""
    found: list[Any] = []
    for dtype in support.DTYPES:
        kind = np.dtype(dtype).kind
        if kind in "iu":
            limits = np.iinfo(dtype)
            found += [np.array([limits.min, limits.max], dtype), np.array([1, 2], dtype)]
        elif kind == "f":
            limits = np.finfo(dtype)
            found += [np.array([limits.max, -1.5], dtype), np.array([np.nan, np.inf], dtype)]
        elif kind == "c":
            found += [np.array([1 + 2j, 3], dtype)]
        else:
            found += [np.array([True, False])]
    found += [
        1, 0, -1, 2**31, 2**63, 2**64, 1.5, 1e300, True, 1j, None, "1", "x", b"x", (), [], {},
        [1, 2], [1.0, 2], [True, False], [1, None], [[1], [2, 3]], [[1, 2]], (1, 2), ["a", "b"],
        {1, 2}, range(2), np.float32(1.5), np.int64(7), np.array(3), np.array([1]),
        np.zeros((2, 2)),
        np.zeros((0,)), np.zeros((2, 0)), np.arange(4.0)[::2], np.arange(2.0)[::-1],
        np.array([1.0, 2.0], ">f8"), np.array(["a", "b"]), np.array([1, 2], object),
        np.array(["2020-01-01", "2020-01-02"], "M8[D]"), np.ma.masked_array([1.0, 2.0], [0, 1]),
        np.longdouble([1, 2]), memoryview(b"ab"), bytearray(b"ab"), float("nan"),
        {"shape": [2], "dtype": "int8", "data": {"buffer": [1, 2], "encoding": "json"}},
        {"shape": [1], "dtype": "float64", "data": {"buffer": [1.5], "encoding": "json"}},
        {"shape": [2], "dtype": "float64", "data": {"buffer": "AAAA", "encoding": "base64"}},
        {"shape": [2], "dtype": "bool", "data": {"buffer": [1, 0], "encoding": "json"}},
        {"shape": [2], "dtype": "bool", "data": {"buffer": [3, 0], "encoding": "json"}},
        {"shape": [2], "dtype": "int32", "data": {"buffer": [True, 2.0], "encoding": "json"}},
        {"shape": [2], "dtype": "float32", "data": {"buffer": ["NaN", None], "encoding": "json"}},
        {"shape": [2], "dtype": "float32", "data": {"buffer": ["x", 1], "encoding": "json"}},
        {"shape": [2], "dtype": "float32", "data": {"buffer": [1e300, 1], "encoding": "json"}},
        {"shape": [2], "dtype": "complex64", "data": {"buffer": ["1+2j", 3], "encoding": "json"}},
        {"shape": [], "dtype": "float64", "data": {"buffer": 4, "encoding": "json"}},
        {"shape": [], "dtype": "float64", "data": {"buffer": [4], "encoding": "json"}},
        {"shape": [2], "dtype": "float64", "data": {"buffer": [1, 2], "encoding": "raw"}},
        {"shape": [2], "dtype": "float64", "data": {"buffer": [1, 2], "encoding": "none"}},
        {"shape": [2], "dtype": "float64", "data": {"buffer": "x:0", "encoding": "binref"}},
        {"shape": [2], "dtype": "int8", "data": {"buffer": "", "encoding": "base64"}},
        {"shape": [2], "dtype": "float64"},
        {"object_type": "other", "shape": [2], "dtype": "float64", "data": {}},
    ]  # fmt: skip
    return found


VALUES = values()


def module(field: str) -> str:
    return support.schema_source(
        f"x: {field}; code: str = ''",
        "y: Any = None; z: Any = None",
        "return {'y': [inputs.x], 'z': [{}]}",
    )


def seen(opened: Any, value: Any) -> tuple[str, Any]:
    kind, result = support.outcome(opened, "apply", {"inputs": {"x": value}})
    if kind == "invalid":  # pydantic labels the members of a union by how they are built
        return kind, [(type_, location[:2]) for type_, location in result]
    if kind != "ok":
        return kind, result
    got = result["y"][0]
    flags = (got.flags.writeable, got.flags.c_contiguous) if isinstance(got, np.ndarray) else None
    return kind, (got, flags)


@pytest.mark.parametrize("field", FIELDS)
def test_inputs(reference: Any, field: str, tmp_path: Any) -> None:
    path = support.write(tmp_path / "c", module(field))
    ours, theirs = support.Ours().open(path), reference.open(path)
    different = []
    for value in VALUES:
        first, second = seen(ours, value), seen(theirs, value)
        if not support.same(first, second):
            different.append((value, first, second))
    assert not different


OUTPUT_FIELDS = ["Array[(2,), 'float32']", "Array[(2,), 'int32']", "Float64", "Array[..., None]"]


@pytest.mark.parametrize(
    ("field", "as_instance"), list(itertools.product(OUTPUT_FIELDS, [True, False]))
)
def test_outputs(reference: Any, field: str, as_instance: bool, tmp_path: Any) -> None:
    form = "OutputSchema.model_construct(y=inputs.x)" if as_instance else "{'y': inputs.x}"
    source = support.schema_source("x: Any", f"y: {field}", f"return {form}")
    path = support.write(tmp_path / "c", source)
    ours, theirs = support.Ours().open(path), reference.open(path)
    different = []
    for value in VALUES:
        payload = {"inputs": {"x": value}}
        first = support.outcome(ours, "apply", payload)
        second = support.outcome(theirs, "apply", payload)
        if not support.same(first, second):
            different.append((value, first, second))
    assert not different


PATHS = [
    "a", "b", "n.p", "n", "ns.[0].p", "ns.[1].p", "ns.[00].p", "ns.[].p", "ns.[0]", "d.{k}",
    "d.{}", "d.{k.l}", "d.{k", "d.k", "a.b", "", ".", "a.", ".a", "A", "a ", "a\n", "t.[0]",
    "t.[5]", "{a}", "[0]", "plain",
]  # fmt: skip

DERIVATIVES = """
class N(BaseModel):
    p: Differentiable[Float64] = 1.0
class InputSchema(BaseModel):
    a: Differentiable[Float64] = 1.0
    n: N = N()
    ns: list[N] = [N()]
    d: dict[str, Differentiable[Float64]] = {"k": 1.0, "k.l": 2.0}
    t: tuple[Differentiable[Float64], ...] = (1.0,)
    plain: Float64 = 0.0
class OutputSchema(InputSchema):
    pass
def apply(inputs): return {}
def jacobian(inputs, jac_inputs, jac_outputs):
    return {o: {i: 1.0 for i in jac_inputs} for o in jac_outputs}
def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    return {o: sum(tangent_vector.values()) for o in jvp_outputs}
"""


@pytest.mark.parametrize("side", ["jac_inputs", "jac_outputs", "jvp"])
def test_paths(reference: Any, side: str, tmp_path: Any) -> None:
    path = support.write(tmp_path / "c", DERIVATIVES)
    ours, theirs = support.Ours().open(path), reference.open(path)
    inputs = {"ns": [{}, {}], "d": {"k": 1, "k.l": 2}, "t": [1, 2]}
    different = []
    for text in PATHS:
        payload: dict[str, Any] = {"inputs": inputs, "jac_inputs": ["a"], "jac_outputs": ["a"]}
        endpoint = "jacobian"
        if side == "jvp":
            endpoint = "jvp"
            payload = {"inputs": inputs, "jvp_inputs": [text], "jvp_outputs": ["a"]}
            payload["tangent_vector"] = {text: 2.0}
        else:
            payload[side] = [text]
        first = support.outcome(ours, endpoint, payload)
        second = support.outcome(theirs, endpoint, payload)
        if first[0] != second[0] or (first[0] == "ok" and not support.same(first, second)):
            different.append((text, first, second))
    assert not different
