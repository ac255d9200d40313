"""Fields with aliases and root models: values as tesseract-jax gives them, and no derivatives."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax_support
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp

ARRAY = "Differentiable[Array[(None,), Float64]]"
SHAPE = '{"shape": SHAPED.shape, "dtype": "float64"}'
REST = """
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    calls.append(("vjp", sorted(vjp_inputs)))
    return {path: 2 * cotangent_vector["y"] for path in vjp_inputs}
"""


def module(inputs: str, outputs: str, result: str, shapes: str, x: str) -> str:
    code = f"""
class In(BaseModel):
    x: {ARRAY} = Field(alias="X")
    n: int = Field(1, alias="N")
class Rows(RootModel[list[{ARRAY}]]): pass
class Named(RootModel[dict[str, {ARRAY}]]): pass
class One(RootModel[{ARRAY}]): pass
{inputs}
{outputs}
def apply(inputs):
    calls.append("apply")
    value = 2 * inputs.{x}
    return {result}
def abstract_eval(abstract_inputs):
    return {shapes}
{REST}"""
    return code.replace("SHAPED", f"abstract_inputs.{x}")


def taking(field: str, x: str, config: str = "") -> str:
    """A module whose input is this field."""
    return module(
        f"class InputSchema(BaseModel):\n    {config or 'pass'}\n    {field}",
        f"class OutputSchema(BaseModel):\n    y: {ARRAY}",
        '{"y": value}',
        f'{{"y": {SHAPE}}}',
        x,
    )


def giving(field: str, result: str, shapes: str) -> str:
    """A module whose output is this field."""
    return module(
        f"class InputSchema(BaseModel):\n    x: {ARRAY}",
        f"class OutputSchema(BaseModel):\n    {field}",
        result,
        shapes,
        "x",
    )


BY_NAME = "model_config = ConfigDict(populate_by_name=True)"

# name: (module, inputs of x, outputs of y)
CASES: dict[str, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "alias": (
        taking(f'x: {ARRAY} = Field(alias="X")', "x"),
        lambda x: {"X": x},
        lambda y: {"y": y},
    ),
    "alias or name, by alias": (
        taking(f'x: {ARRAY} = Field(alias="X")', "x", BY_NAME),
        lambda x: {"X": x},
        lambda y: {"y": y},
    ),
    "validation alias": (
        taking(f'x: {ARRAY} = Field(validation_alias="X")', "x"),
        lambda x: {"X": x},
        lambda y: {"y": y},
    ),
    "aliases in a model": (
        taking('inner: In = Field(alias="Inner")', "inner.x"),
        lambda x: {"Inner": {"X": x, "N": 3}},
        lambda y: {"y": y},
    ),
    "aliases that are the names of others": (
        taking(f'x: {ARRAY} = Field(alias="z")\n    z: {ARRAY} = Field(alias="x")', "x"),
        lambda x: {"z": x, "x": x * 5},
        lambda y: {"y": y},
    ),
    "root list": (
        taking("rows: Rows", "rows.root[1]"),
        lambda x: {"rows": [x * 5, x]},
        lambda y: {"y": y},
    ),
    "root dict": (
        taking("rows: Named", "rows.root['a.b']"),
        lambda x: {"rows": {"a.b": x}},
        lambda y: {"y": y},
    ),
    "root array": (taking("one: One", "one.root"), lambda x: {"one": x}, lambda y: {"y": y}),
    "alias of an output": (
        giving(f'y: {ARRAY} = Field(alias="Y")', '{"Y": value}', f'{{"Y": {SHAPE}}}'),
        lambda x: {"x": x},
        lambda y: {"y": y},
    ),
    "output of a root list": (
        giving("rows: Rows", "OutputSchema(rows=Rows([value]))", f'{{"rows": [{SHAPE}]}}'),
        lambda x: {"x": x},
        lambda y: {"rows": [y]},
    ),
    "output of a root array": (
        giving("one: One", "OutputSchema(one=One(value))", f'{{"one": {SHAPE}}}'),
        lambda x: {"x": x},
        lambda y: {"one": y},
    ),
}

X = np.arange(3.0) + 0.5


@pytest.mark.parametrize("name", CASES)
def test_values(opened: Any, name: str) -> None:
    source, inputs, outputs = CASES[name]
    component = opened(source)
    call = lambda x: component(inputs(x))  # noqa: E731
    expected = outputs(jnp.asarray(2 * X))
    jax_support.same(call(jnp.asarray(X)), expected)
    jax_support.same(jax.jit(call)(jnp.asarray(X)), expected)
    rows = jnp.stack([X, 3 * X])
    jax_support.same(jax.vmap(call)(rows), outputs(2 * rows))


@pytest.mark.skipif(
    importlib.util.find_spec("tesseract_jax") is None, reason="tesseract-jax is not installed"
)
@pytest.mark.parametrize("name", CASES)
def test_tesseract_jax_gives_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tesseract_core
    import tesseract_jax

    source, inputs, _outputs = CASES[name]
    ours = jax_support.open_(source, tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "tesseract_api", raising=False)
    path = jax_support.source_of(source, tmp_path)
    theirs = tesseract_core.Tesseract.from_tesseract_api(path)

    def gradient(call: Any) -> Any:
        total = lambda x: sum(leaf.sum() for leaf in jax.tree.leaves(call(inputs(x))))  # noqa: E731
        return jax.grad(total)(jnp.asarray(X))

    call = lambda given: tesseract_jax.apply_tesseract(theirs, given)  # noqa: E731
    for given in (inputs(jnp.asarray(X)), inputs(X)):
        jax_support.same(ours(given), call(given))
    if name == "alias of an output":
        jax_support.same(gradient(ours), gradient(call))
        return
    if name == "aliases that are the names of others":  # theirs is that of the wrong field
        with pytest.raises(ValueError, match="not differentiable"):
            gradient(ours)
        return
    errors = []
    for side in (ours, call):
        with pytest.raises(ValueError, match=r"ifferentiable") as caught:
            gradient(side)
        errors.append(type(caught.value))
    assert errors[0] is errors[1]


def test_fields_that_may_be_given_by_name_have_derivatives(opened: Any) -> None:
    component = opened(taking(f'x: {ARRAY} = Field(alias="X")', "x", BY_NAME))
    gradient = jax.jit(jax.grad(lambda x: component({"x": x})["y"].sum()))
    jax_support.same(gradient(jnp.asarray(X)), jnp.full(3, 2.0))
    assert component.calls(lambda: gradient(jnp.asarray(X))) == [("vjp", ["x"])]
