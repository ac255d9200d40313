"""`sow` and `save_intermediates`."""

from __future__ import annotations

from typing import Any

import jax_support
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp
from tesseract_host.jax import save_intermediates, sow


def pipeline(two: Any) -> Any:
    def f(x: Any) -> Any:
        first = sow(two({"x": x, "a": jnp.float64(2.0)}), "first")
        second = sow(two({"x": first["y"], "a": first["z"]})["y"], "second")
        return second.sum()

    return f


def test_values_are_saved(opened: Any) -> None:
    two = opened("two")
    x = jnp.arange(3.0)
    for function in (pipeline(two), jax.jit(pipeline(two))):
        result, saved = save_intermediates(function)(x)
        assert set(saved) == {"first", "second"} and set(saved["first"]) == {"primal"}
        jax_support.same(saved["first"]["primal"], two({"x": x, "a": jnp.float64(2.0)}))
        jax_support.same(result, saved["second"]["primal"].sum())


@pytest.mark.parametrize("compiled", [False, True])
def test_cotangents_and_tangents_are_saved(opened: Any, compiled: bool) -> None:
    two = opened("two")
    f, x = pipeline(two), jnp.arange(3.0)
    wrap = jax.jit if compiled else lambda f: f
    gradient, saved = save_intermediates(wrap(jax.grad(f)))(x)
    jax_support.same(gradient, jax.grad(f)(x))
    assert set(saved["first"]) == {"primal", "cotangent"}
    jax_support.same(saved["second"]["cotangent"], jnp.ones(3))
    assert saved["first"]["cotangent"]["y"].shape == (3,)

    result, saved = save_intermediates(wrap(lambda x: jax.jvp(f, (x,), (x,))))(x)
    assert set(saved["first"]) == {"primal", "tangent"}
    jax_support.same(result[1], saved["second"]["tangent"].sum())


def test_names_are_used_once() -> None:
    function = save_intermediates(lambda x: sow(sow(x, "a"), "a"))
    with pytest.raises(ValueError, match="Duplicate sow name 'a'"):
        function(jnp.ones(2))


def test_tags() -> None:
    def f(x: Any) -> Any:
        return sow(sow(x, "a", tag="other") * 2, "b")

    assert set(save_intermediates(f)(jnp.ones(2))[1]) == {"b"}
    assert set(save_intermediates(f, tag="other")(jnp.ones(2))[1]) == {"a"}
    assert save_intermediates(lambda x: x * 2)(jnp.ones(2))[1] == {}


def test_without_saving_nothing_changes() -> None:
    f = lambda x: sow({"v": jnp.sin(x), "n": 3}, "a")["v"]  # noqa: E731
    x = jnp.arange(3.0)
    jax_support.same(jax.jit(f)(x), jnp.sin(x))
    jax_support.same(jax.grad(lambda x: f(x).sum())(x), jnp.cos(x))
    jax_support.same(jax.vmap(f)(x), jnp.sin(x))


def test_scan_stacks_and_checkpoint_notes_once() -> None:
    def f(x: Any) -> Any:
        return jax.lax.scan(lambda c, _: (sow(c * 2, "c"), None), x, None, length=3)[0].sum()

    x = jnp.ones(2)
    _, saved = save_intermediates(f)(x)
    jax_support.same(saved["c"]["primal"][:, 0], jnp.asarray([2.0, 4.0, 8.0]))
    gradient, saved = save_intermediates(jax.grad(f))(x)
    jax_support.same(gradient, jnp.full(2, 8.0))
    jax_support.same(saved["c"]["cotangent"][:, 0], jnp.asarray([4.0, 2.0, 1.0]))

    g = jax.checkpoint(lambda x: jnp.sin(sow(x * 2, "d")).sum())
    gradient, saved = save_intermediates(jax.grad(g))(x)
    jax_support.same(gradient, 2 * jnp.cos(2 * x))
    assert set(saved["d"]) == {"primal", "cotangent"}


def test_integers_among_the_values() -> None:
    def f(x: Any) -> Any:
        return sow({"x": x, "n": jnp.arange(2)}, "a")["x"].sum()

    gradient, saved = save_intermediates(jax.grad(f))(jnp.ones(2))
    jax_support.same(gradient, jnp.ones(2))
    jax_support.same(saved["a"]["cotangent"]["x"], jnp.ones(2))
