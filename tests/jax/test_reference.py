"""The same calls by tesseract-jax and by tesseract_host.jax: equal values, calls and errors.

What is meant to differ is in docs/jax.md, and not here.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax_support
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")
pytest.importorskip("tesseract_jax", reason="tesseract-jax is not installed")

import jax.numpy as jnp

X = np.array([0.3, 1.3, 2.3])
A = np.float64(1.7)


class Side:
    """One implementation with one opened module."""

    def __init__(self, package: Any, tesseract: Any, module: Any) -> None:
        self.package = package
        self.tesseract = tesseract
        self.module = module

    def __call__(self, inputs: Any, **options: Any) -> Any:
        return self.package.apply_tesseract(self.tesseract, inputs, **options)


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[Any]:
    before = list(sys.path)

    def open_(module: str) -> tuple[Side, Side]:
        import tesseract_core

        path = jax_support.source_of(module, tmp_path)
        ours = jax_support.open_(module, tmp_path)
        for name in ("tesseract_api", path.stem):
            sys.modules.pop(name, None)
        theirs = tesseract_core.Tesseract.from_tesseract_api(path)
        return (
            Side(importlib.import_module("tesseract_host.jax"), ours.tesseract, ours.module),
            Side(importlib.import_module("tesseract_jax"), theirs, sys.modules[path.stem]),
        )

    yield open_
    sys.path[:] = before


def outcome(side: Side, function: Any) -> tuple[str, Any, list[Any]]:
    """How a call went: its value or the class of its error, and what was asked."""
    getattr(side.module, "calls", []).clear()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            value = jax.block_until_ready(function(side))
    except Exception as error:
        return "raised", error, []
    calls = [call for call in getattr(side.module, "calls", []) if call != "abstract_eval"]
    kinds = [warning.category for warning in caught if warning.category is UserWarning]
    return "returned", (value, kinds), sorted(calls, key=repr)  # eager programs may overlap


def x_of(f: Any) -> Any:
    return lambda side: lambda x: f(side({"x": x, "a": A}))


VALUES: dict[str, Any] = {
    "eager": lambda s: s({"x": X, "a": A}),
    "jit": lambda s: jax.jit(lambda x: s({"x": x, "a": A}))(X),
    "numbers": lambda s: s({"x": X, "a": 2}),
    "static": lambda s: s({"x": X, "a": A, "scale": 3.0}),
    "equal calls": lambda s: jax.jit(lambda x: s({"x": x, "a": A})["y"] + s({"x": x, "a": A})["y"])(
        X
    ),
    "unused call": lambda s: jax.jit(lambda x: (s({"x": x, "a": A}), x)[1])(X),
    "grad": lambda s: jax.grad(lambda x: s({"x": x, "a": A})["y"].sum())(X),
    "jit grad": lambda s: jax.jit(jax.grad(lambda x: s({"x": x, "a": A})["y"].sum()))(X),
    "value_and_grad": lambda s: jax.value_and_grad(
        lambda x, a: s({"x": x, "a": a})["z"], argnums=(0, 1)
    )(X, A),
    "jvp": lambda s: jax.jvp(lambda x: s({"x": x, "a": A}), (X,), (X,)),
    "linearize": lambda s: jax.linearize(lambda x: s({"x": x, "a": A}), X)[1](X),
    "jacfwd": lambda s: jax.jacfwd(lambda x: s({"x": x, "a": A}))(X),
    "jacrev": lambda s: jax.jacrev(lambda x: s({"x": x, "a": A}))(X),
    "jacrev one by one": lambda s: jax.jacrev(
        lambda x: s({"x": x, "a": A}, vmap_method="sequential", materialize_jacobian=False)["y"]
    )(X),
    "vmap": lambda s: jax.vmap(lambda x: s({"x": x, "a": A}, vmap_method="sequential"))(
        np.stack([X, 2 * X])
    ),
    "vmap of grad": lambda s: jax.vmap(
        jax.grad(lambda x: s({"x": x, "a": A}, vmap_method="sequential")["y"].sum())
    )(np.stack([X, 2 * X])),
    "scan": lambda s: jax.lax.scan(
        lambda c, _: (s({"x": c, "a": A})["y"], None), jnp.asarray(X), None, length=3
    ),
    "grad of scan": lambda s: jax.grad(
        lambda x: jax.lax.scan(lambda c, _: (s({"x": c, "a": A})["y"], None), x, None, length=3)[
            0
        ].sum()
    )(jnp.asarray(X)),
    "remat": lambda s: jax.grad(jax.checkpoint(lambda x: s({"x": x, "a": A})["y"].sum()))(X),
    "sow": lambda s: s.package.save_intermediates(
        jax.grad(lambda x: s.package.sow(s({"x": x, "a": A}), "out")["y"].sum())
    )(jnp.asarray(X)),
    "tesseract as argument": lambda s: jax.jit(
        lambda t, x: s.package.apply_tesseract(t, {"x": x, "a": A})
    )(s.tesseract, X),
}

ERRORS: dict[str, Any] = {
    "no tesseract": lambda s: s.package.apply_tesseract("x", {}),
    "unknown method": lambda s: s({"x": X, "a": A}, vmap_method="x"),
    "list": lambda s: s({"x": [1.0], "a": A}),
    "text": lambda s: s({"x": "1", "a": A}),
    "rank": lambda s: s({"x": X[:, None], "a": A}),
    "missing": lambda s: s({"x": X}),
    "unknown field": lambda s: s({"x": X, "a": A, "q": 1}),
    "hessian": lambda s: jax.hessian(lambda x: s({"x": x, "a": A})["z"])(X),
    "reverse over reverse": lambda s: jax.grad(
        lambda x: jax.grad(lambda x: s({"x": x, "a": A})["z"])(x).sum()
    )(X),
    "linear_transpose": lambda s: jax.linear_transpose(
        lambda x: jax.jvp(lambda x: s({"x": x, "a": A})["y"], (x,), (X,))[1], X
    )(X),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_and_calls(sides: Any, name: str) -> None:
    ours, theirs = (outcome(side, VALUES[name]) for side in sides("two"))
    assert ours[0] == theirs[0] == "returned", (ours[1], theirs[1])
    jax_support.same(ours[1][0], theirs[1][0], rtol=1e-10)
    assert ours[1][1] == theirs[1][1]
    assert ours[2] == theirs[2]


@pytest.mark.parametrize("name", ERRORS)
def test_errors(sides: Any, name: str) -> None:
    ours, theirs = (outcome(side, ERRORS[name]) for side in sides("two"))
    assert ours[0] == theirs[0] == "raised"
    assert type(ours[1]).__name__ == type(theirs[1]).__name__, (ours[1], theirs[1])
    named = set(re.findall(r"'(x|a|q)'", str(theirs[1])))
    assert all(f"'{path}'" in str(ours[1]) for path in named if name != "missing")


METHODS = ("expand_dims", "broadcast_all", "auto_experimental")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("what", ["value", "gradient", "of gradient", "tangents"])
def test_vectorised_methods(sides: Any, method: str, what: str) -> None:
    rows, w = np.arange(12.0).reshape(4, 3), np.arange(3.0) + 1

    def run(side: Side) -> Any:
        f = lambda x, w: side({"x": x, "w": w}, vmap_method=method)["y"]  # noqa: E731
        if what == "value":
            return jax.vmap(f, (0, None))(rows, w)
        if what == "gradient":
            g = lambda x, w: (jax.vmap(f, (0, None))(x, w) ** 2).sum()  # noqa: E731
            return jax.grad(g, (0, 1))(rows, w)
        if what == "of gradient":
            return jax.vmap(jax.grad(lambda x, w: f(x, w).sum(), (0, 1)), (0, None))(rows, w)
        t = np.ones((4, 3))
        return jax.vmap(lambda t: jax.jvp(lambda x: f(x, w), (rows[0],), (t,))[1])(t)

    ours, theirs = (outcome(side, run) for side in sides("anyrank"))
    assert ours[0] == theirs[0] == "returned", (ours[1], theirs[1])
    jax_support.same(ours[1][0], theirs[1][0])
    assert ours[2] == theirs[2]


def test_nested_inputs(sides: Any) -> None:
    def run(side: Side) -> Any:
        inputs = {
            "layers": [{"w": X, "scale": 2.0}, {"w": X, "kind": "squared"}],
            "params": {"a": X, "b": X + 1},
            "extra": X,
        }
        return side(inputs)

    ours, theirs = (outcome(side, run) for side in sides("nested"))
    assert ours[0] == theirs[0] == "returned", (ours[1], theirs[1])
    assert jax.tree.structure(ours[1][0]) == jax.tree.structure(theirs[1][0])
    for a, b in zip(jax.tree.leaves(ours[1][0]), jax.tree.leaves(theirs[1][0]), strict=True):
        np.testing.assert_array_equal(a, b)
    assert ours[1][1] == theirs[1][1]


@pytest.mark.parametrize("value", ["drift", "none"])
def test_outputs_that_are_no_arrays(sides: Any, value: str) -> None:
    import test_static_outputs

    def run(side: Side) -> Any:
        out = side({"x": X, "drift": value == "drift"})
        jax.block_until_ready(out["y"])
        return {key: out[key] for key in ("steps", "names", "none")}

    ours, theirs = (outcome(side, run) for side in sides(test_static_outputs.STATIC))
    assert ours[:2] == theirs[:2]


@pytest.mark.parametrize("by", ["fixed", "aside"])
def test_what_is_not_differentiable(sides: Any, by: str) -> None:
    import test_endpoint_derivatives

    def run(side: Side) -> Any:
        if by == "fixed":
            return jax.grad(lambda f: side({"x": X, "fixed": f})["y"].sum())(X)
        return jax.grad(lambda x: side({"x": x, "fixed": X})["aside"].sum())(X)

    ours, theirs = (outcome(side, run) for side in sides(test_endpoint_derivatives.MIXED))
    assert type(ours[1]) is type(theirs[1]) is ValueError
    assert by in str(ours[1]) and by in str(theirs[1])


def test_tangents_of_what_is_not_differentiable(sides: Any) -> None:
    import test_endpoint_derivatives

    def run(side: Side) -> Any:
        tangents = jax.jvp(lambda x: side({"x": x, "fixed": X}), (X,), (X,))[1]
        return {key: np.asarray(tangents[key], float) for key in ("y", "aside")}

    ours, theirs = (outcome(side, run) for side in sides(test_endpoint_derivatives.MIXED))
    assert ours[0] == theirs[0] == "returned"
    for key in ("y", "aside"):
        np.testing.assert_array_equal(ours[1][0][key], theirs[1][0][key])


@pytest.mark.narrow
def test_wide_outputs(sides: Any) -> None:
    ours, theirs = (
        outcome(side, lambda s: s({"x": jnp.ones(3, jnp.float32)})) for side in sides("noop")
    )
    assert type(ours[1]) is type(theirs[1]) is ValueError
