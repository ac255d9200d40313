"""What `describe` says of a component (docs/description.md)."""

from __future__ import annotations

import json
from typing import Any

import pytest
import support

COMPONENT_KEYS = {
    "name",
    "threads",
    "reentrant",
    "checks",
    "devices",
    "inputs",
    "outputs",
    "x-routes",
}
ARRAY_KEYS = {"path", "dtype", "shape", "differentiable", "required", "default", "description"}
OTHER_KEYS = {"path", "type", "required", "default", "enum", "description", "tensor"}

MODULE = """
import enum
class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"
class Item(BaseModel):
    p: Differentiable[Array[(2, None), "float32"]]
    n: int = 0
class Sub(BaseModel):
    y: Float32
    n: int
class Other(BaseModel):
    z: Float32
class InputSchema(BaseModel):
    a: Differentiable[Array[(None, 3), "float64"]] = Field(description="positions")
    s: Float32 = 2.0
    w: Array[(2,), "int32"] = [1, 2]
    o: Optional[Differentiable[Float64]] = None
    r: Array[..., None]
    u: Differentiable[Float32] | Float64 = 0.0
    m: int | Float64 = 0
    t: str | Float64 = "x"
    k: int
    f: float = 0.5
    b: bool = True
    c: Color = Color.RED
    l: Literal["x", 1] = "x"
    q: Optional[str] = None
    items: list[Item] = []
    d: dict[str, Differentiable[Float64]] = {}
    xs: list[int] = []
    sub: Optional[Sub]
    mixed: Float64 | list[Float64]
    pair: tuple[Float32, int] = (1, 2)
    any: Any = None
    plain: dict = {}
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), "float64"]]
    n: int
    o: Optional[Float64] = None
    t: Optional[str] = None
    s: Float64 = 1.0
    sub: Optional[Sub] = None
    either: Sub | Other
    xs: list[Optional[Float64]] = []
    d: Optional[dict[str, Float64]] = None
    mixed: Float64 | list[Float64]
def apply(inputs): return {}
"""

FLOAT32 = {"dtype": "float32", "shape": [], "differentiable": False}
FLOAT64 = {"dtype": "float64", "shape": [], "differentiable": False}

LEAVES = {
    "a": {
        "dtype": "float64",
        "shape": [None, 3],
        "differentiable": True,
        "required": True,
        "description": "positions",
    },
    "s": {
        "dtype": "float32",
        "shape": [],
        "differentiable": False,
        "required": False,
        "default": 2.0,
    },
    "w": {
        "dtype": "int32",
        "shape": [2],
        "differentiable": False,
        "required": False,
        "default": [1, 2],
    },
    "o": {"dtype": "float64", "shape": [], "differentiable": True, "required": False},
    "r": {"dtype": None, "shape": None, "differentiable": False, "required": True},
    "u": {"dtype": None, "shape": [], "differentiable": True, "required": False, "default": 0.0},
    "m": {"dtype": None, "shape": None, "differentiable": False, "required": False, "default": 0},
    "t": {"type": "any", "tensor": True, "required": False, "default": "x"},
    "k": {"type": "integer", "tensor": True, "required": True},
    "f": {"type": "number", "tensor": True, "required": False, "default": 0.5},
    "b": {"type": "boolean", "tensor": True, "required": False, "default": True},
    "c": {
        "type": "string",
        "enum": ["red", "blue"],
        "tensor": True,
        "required": False,
        "default": "red",
    },
    "l": {
        "type": ["string", "integer"],
        "enum": ["x", 1],
        "tensor": True,
        "required": False,
        "default": "x",
    },
    "q": {"type": ["string", "null"], "tensor": True, "required": False},
    "items.[].p": {
        "dtype": "float32",
        "shape": [2, None],
        "differentiable": True,
        "required": False,
    },
    "items.[].n": {"type": "integer", "tensor": True, "required": False, "default": 0},
    "d.{}": {"dtype": "float64", "shape": [], "differentiable": True, "required": False},
    "xs.[]": {"type": "integer", "tensor": True, "required": False},
    "sub.y": {"dtype": "float32", "shape": [], "differentiable": False, "required": False},
    "sub.n": {"type": "integer", "tensor": True, "required": False},
    "mixed": {"type": "any", "tensor": True, "required": True},
    "pair.[]": {"dtype": None, "shape": None, "differentiable": False, "required": False},
    "any": {"type": "any", "tensor": True, "required": False},
    "plain": {"type": "object", "tensor": True, "required": False, "default": {}},
}


@pytest.fixture
def described(component: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(component(MODULE).describe())
    return document


def test_the_component(described: dict[str, Any]) -> None:
    assert set(described) <= COMPONENT_KEYS
    assert described["name"] == "component"
    assert described["threads"] == "serial-per-instance"
    assert described["reentrant"] is True
    assert described["checks"] == "component"
    assert described["devices"] == ["cpu"]


@pytest.mark.parametrize("path", LEAVES)
def test_inputs(described: dict[str, Any], path: str) -> None:
    by_path = {leaf["path"]: leaf for leaf in described["inputs"]}
    assert by_path[path] == {"path": path, **LEAVES[path]}


def test_order_and_keys(described: dict[str, Any]) -> None:
    assert [leaf["path"] for leaf in described["inputs"]] == list(LEAVES)
    for leaf in described["inputs"] + described["outputs"]:
        assert set(leaf) <= (ARRAY_KEYS if "dtype" in leaf else OTHER_KEYS)


def test_outputs(described: dict[str, Any]) -> None:
    assert described["outputs"] == [
        {"path": "y", "dtype": "float64", "shape": [None], "differentiable": True},
        {"path": "n", "type": "integer"},
        {"path": "o", **FLOAT64, "required": False},
        {"path": "t", "type": ["string", "null"], "required": False},
        {"path": "s", **FLOAT64},
        {"path": "sub.y", **FLOAT32, "required": False},
        {"path": "sub.n", "type": "integer", "required": False},
        {"path": "either.y", **FLOAT32, "required": False},
        {"path": "either.n", "type": "integer", "required": False},
        {"path": "either.z", **FLOAT32, "required": False},
        {"path": "xs.[]", **FLOAT64, "required": False},
        {"path": "d.{}", **FLOAT64, "required": False},
        {"path": "mixed", "type": "any", "required": False},
    ]


def test_options_show(component: Any) -> None:
    source = support.schema_source("x: int = 0")
    opened = component(source, threads="concurrent", gpu_transport="cuda_ipc")
    document = json.loads(opened.describe())
    assert document["threads"] == "concurrent"
    assert document["devices"] == ["cpu", "cuda"]


def test_defaults_without_a_json_form_are_left_out(component: Any) -> None:
    source = support.schema_source(
        "x: Complex64 = 1j; n: Any = object(); v: Array[(2,), 'float64'] = np.ones(2)"
    )
    by_path = {leaf["path"]: leaf for leaf in json.loads(component(source).describe())["inputs"]}
    assert "default" not in by_path["x"] and not by_path["x"]["required"]
    assert "default" not in by_path["n"]
    assert by_path["v"]["default"] == [1.0, 1.0]
