"""Several devices: shard_map with and without checks, sharded jit, and their gradients."""

from __future__ import annotations

from typing import Any

import jax_support
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


@pytest.fixture
def mesh() -> Any:
    if jax.device_count() < 2:
        pytest.skip("there is one device")
    return Mesh(np.array(jax.devices()[:2]), ("d",))


def reference(x: Any, a: Any) -> dict[str, Any]:
    return {"y": a * jnp.sin(x), "z": jnp.sum(x * x) + 0.5}


@pytest.mark.parametrize("check", [False, True])
def test_shard_map(opened: Any, mesh: Any, check: bool) -> None:
    two = opened("two")

    def over(f: Any) -> Any:
        def body(x: Any, a: Any) -> Any:
            out = f(x, a)
            return out["y"], jax.lax.psum(out["z"], "d")

        return jax.shard_map(
            body, mesh=mesh, in_specs=(P("d"), P()), out_specs=(P("d"), P()), check_vma=check
        )

    x, a = jnp.arange(8.0), jnp.float64(1.5)
    ours = over(lambda x, a: two({"x": x, "a": a}))
    theirs = over(reference)
    assert two.calls(lambda: jax.jit(ours)(x, a)) == ["apply"] * 2
    jax_support.same(jax.jit(ours)(x, a), jax.jit(theirs)(x, a))

    def loss(f: Any) -> Any:
        return jax.jit(jax.grad(lambda x, a: (f(x, a)[0] ** 2).sum() + f(x, a)[1], (0, 1)))

    jax_support.same(loss(ours)(x, a), loss(theirs)(x, a))
    rows = jnp.stack([x, x + 1, x + 2])
    jax_support.same(
        jax.jit(jax.vmap(ours, (0, None)))(rows, a), jax.jit(jax.vmap(theirs, (0, None)))(rows, a)
    )
    jax_support.same(
        jax.jit(lambda x: jax.jvp(lambda x: ours(x, a), (x,), (x,)))(x),
        jax.jit(lambda x: jax.jvp(lambda x: theirs(x, a), (x,), (x,)))(x),
    )


def test_sharded_jit(opened: Any, mesh: Any) -> None:
    two = opened("two")
    x = jax.device_put(jnp.arange(8.0), NamedSharding(mesh, P("d")))
    a = jnp.float64(1.5)
    found = jax.jit(lambda x: two({"x": x, "a": a}))(x)
    jax_support.same(found, reference(jnp.arange(8.0), a))
    gradient = jax.jit(jax.grad(lambda x: two({"x": x, "a": a})["y"].sum()))(x)
    jax_support.same(gradient, a * jnp.cos(jnp.arange(8.0)))


def test_the_other_device(opened: Any, mesh: Any) -> None:
    noop = opened("noop")
    x = jax.device_put(jnp.arange(4.0), jax.devices()[1])
    found = jax.jit(lambda x: noop({"x": x})["y"])(x)
    assert found.devices() == {jax.devices()[1]}
    jax_support.same(found, jnp.arange(4.0))
