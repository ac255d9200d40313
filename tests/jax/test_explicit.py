"""Programs that say explicitly how arrays are divided over devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

X = np.arange(4.0) + 0.3


@pytest.fixture(params=["i", None])
def x(request: pytest.FixtureRequest) -> Iterator[Any]:
    """An array with its only axis divided, or whole on each device."""
    if jax.device_count() < 2:
        pytest.skip("there is one device")
    mesh = jax.make_mesh((2,), ("i",), axis_types=(AxisType.Explicit,), devices=jax.devices()[:2])
    with jax.set_mesh(mesh):
        yield jax.device_put(jnp.asarray(X), NamedSharding(mesh, P(request.param)))


def theirs(x: Any) -> Any:
    return {"y": 1.7 * jnp.sin(x), "z": jnp.sum(x * x) + 0.5}


def _y(f: Any) -> Any:
    return lambda x: f(x)["y"].sum()


CASES: dict[str, Any] = {
    "eager": lambda f: f,
    "jit": jax.jit,
    "with the input": lambda f: jax.jit(lambda x: f(x)["y"] + x),
    "grad": lambda f: jax.grad(_y(f)),
    "jit grad": lambda f: jax.jit(jax.grad(_y(f))),
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (x,)),
    "jacfwd": lambda f: jax.jit(jax.jacfwd(lambda x: f(x)["y"])),
    "jacrev": lambda f: jax.jit(jax.jacrev(lambda x: f(x)["y"])),
    "vmap": lambda f: lambda x: jax.jit(jax.vmap(f))(jnp.stack([x, 2 * x])),
    "vmap of a divided axis": lambda f: jax.jit(lambda x: jax.vmap(f)(jnp.outer(x, jnp.ones(3)))),
    "grad of vmap": lambda f: jax.jit(
        jax.grad(lambda x: jax.vmap(lambda s: _y(f)(x * s))(jnp.arange(3.0)).sum())
    ),
    "reverse over reverse in the cotangent": lambda f: (
        lambda x: jax.grad(
            lambda c: (jax.vjp(lambda x: f(x)["y"].sum() * c, x)[1](1.0)[0] ** 2).sum()
        )(2.0)
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_jax(opened: Any, x: Any, name: str) -> None:
    two = opened("two")
    transform = CASES[name]
    found = transform(lambda x: two({"x": x, "a": jnp.float64(1.7)}))(x)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(transform(theirs)(x)), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12, atol=1e-14)
    if "grad" in name:
        assert jax.typeof(found) == jax.typeof(x)


def test_results_are_whole_on_each_device(opened: Any, x: Any) -> None:
    two = opened("two")
    found = jax.jit(lambda x: two({"x": x, "a": jnp.float64(1.7)})["y"])(x)
    assert jax.typeof(found).sharding.spec == P(None)

    def loop(x: Any) -> Any:
        reshard = getattr(jax, "reshard", None) or jax.sharding.reshard
        where = jax.typeof(x).sharding.spec

        def step(c: Any, _: Any) -> Any:
            return reshard(two({"x": c, "a": jnp.float64(1.7)})["y"], where), None

        return jax.lax.scan(step, x, None, length=2)[0]

    expected = 1.7 * np.sin(1.7 * np.sin(X))
    np.testing.assert_allclose(np.asarray(jax.jit(loop)(x)), expected, rtol=1e-12)


def test_shards_are_calls(opened: Any, x: Any) -> None:
    two = opened("two")
    if jax.typeof(x).sharding.spec != P("i"):
        pytest.skip("not divided")
    body = lambda x: two({"x": x, "a": jnp.float64(1.7)})["y"]  # noqa: E731
    shards = jax.jit(jax.shard_map(body, in_specs=P("i"), out_specs=P("i")))
    assert two.calls(lambda: shards(x)) == ["apply"] * 2
    np.testing.assert_allclose(np.asarray(shards(x)), 1.7 * np.sin(X), rtol=1e-12)
    gradient = jax.jit(jax.grad(lambda x: shards(x).sum()))(x)
    np.testing.assert_allclose(np.asarray(gradient), 1.7 * np.cos(X), rtol=1e-12)
