"""Calls of stateful components: as many as are written, whatever becomes of their results."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import jax_support
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp
from jax import export
from tesseract_host.jax import _adapter

X = np.arange(3.0) + 0.3
Part = jax.sharding.PartitionSpec


@pytest.fixture
def two(opened: Any) -> Any:
    return opened("two", stateful=True)


def f_of(two: Any) -> Any:
    return lambda x: two({"x": x, "a": jnp.float64(1.7), "b": jnp.float64(0.2)})


def theirs(x: Any) -> Any:
    return {"y": 1.7 * jnp.sin(x), "z": jnp.sum(x * x) + 0.2}


def made(two: Any, function: Any, count: int) -> dict[str, int]:
    """The calls of a function, for whose results nothing need wait."""

    def run() -> None:
        jax.block_until_ready(function())
        until = time.monotonic() + 10
        while time.monotonic() < until and len(two.module.calls) < count:
            time.sleep(0.001)
        time.sleep(0.01)

    calls = two.calls(run)
    return dict(Counter(call if isinstance(call, str) else call[0] for call in calls))


def _y(f: Any) -> Any:
    return lambda x: f(x)["y"].sum()


def _scan(step: Any) -> Any:
    return lambda x: jax.lax.scan(lambda c, _: (step(c), None), x, None, length=3)[0]


def _cond(f: Any) -> Any:
    return lambda x: jax.lax.cond(x[0] > 0, _y(f), lambda x: 0.0, x)


def _ignored(f: Any) -> Any:
    return lambda x: (f(x), x * 2)[1]


def _shards(f: Any) -> Any:
    mesh = jax.sharding.Mesh(jax.devices()[:2], ("i",))
    inside = jax.shard_map(lambda x: f(x)["y"], mesh=mesh, in_specs=Part("i"), out_specs=Part("i"))
    return lambda x: inside(jnp.concatenate([x, x + 1]))


def _jvp(f: Any) -> Any:
    return lambda x: jax.jvp(lambda x: f(x)["y"], (x,), (x,))[0]


# name: (what is made of the function, the calls that are made)
CASES: dict[str, tuple[Any, dict[str, int]]] = {
    "eager": (lambda f: f, {"apply": 1}),
    "eager, twice": (lambda f: lambda x: (f(x), f(x)), {"apply": 2}),
    "two equal": (lambda f: jax.jit(lambda x: (f(x), f(x))), {"apply": 2}),
    "unused": (lambda f: jax.jit(_ignored(f)), {"apply": 1}),
    "unused, inside of jit": (lambda f: jax.jit(_ignored(jax.jit(f))), {"apply": 1}),
    "gradient": (lambda f: jax.jit(jax.grad(_y(f))), {"apply": 1, "vjp": 1}),
    "eager gradient": (lambda f: jax.grad(_y(f)), {"apply": 1, "vjp": 1}),
    "two equal gradients": (
        lambda f: jax.jit(lambda x: (jax.grad(_y(f))(x), jax.grad(_y(f))(x))),
        {"apply": 2, "vjp": 2},
    ),
    "unused gradient": (lambda f: jax.jit(_ignored(jax.grad(_y(f)))), {"apply": 1, "vjp": 1}),
    "unused gradient in scan": (
        lambda f: jax.jit(_scan(_ignored(jax.grad(_y(f))))),
        {"apply": 3, "vjp": 3},
    ),
    "unused tangent": (lambda f: jax.jit(_jvp(f)), {"apply": 1, "jvp": 1}),
    "unused tangent in scan": (lambda f: jax.jit(_scan(_jvp(f))), {"apply": 3, "jvp": 3}),
    "vmap": (lambda f: lambda x: jax.jit(jax.vmap(f))(jnp.stack([x, 2 * x])), {"apply": 2}),
    "scan": (lambda f: jax.jit(_scan(lambda x: f(x)["y"])), {"apply": 3}),
    "unused in scan": (lambda f: jax.jit(_scan(_ignored(f))), {"apply": 3}),
    "the same in scan": (
        lambda f: jax.jit(lambda x: _scan(lambda s: s + f(x)["y"])(x)),
        {"apply": 3},
    ),
    "gradient of scan": (
        lambda f: jax.jit(jax.grad(lambda x: _scan(lambda x: f(x)["y"])(x).sum())),
        {"apply": 3, "vjp": 3},
    ),
    "while": (
        lambda f: (
            lambda x: jax.lax.while_loop(
                lambda c: c[1] < 3, lambda c: (f(c[0])["y"], c[1] + 1), (x, 0)
            )[0]
        ),
        {"apply": 3},
    ),
    "cond": (lambda f: jax.jit(_cond(f)), {"apply": 1}),
    "unused cond": (lambda f: jax.jit(_ignored(_cond(f))), {"apply": 1}),
    "gradient of cond": (lambda f: jax.jit(jax.grad(_cond(f))), {"apply": 1, "vjp": 1}),
    "checkpoint": (lambda f: jax.jit(jax.checkpoint(f)), {"apply": 1}),
    "gradient of checkpoint": (
        lambda f: jax.grad(jax.checkpoint(_y(f))),
        {"apply": 1, "vjp": 1},
    ),
    "gradient of a loop of checkpoints": (
        lambda f: jax.jit(jax.grad(lambda x: _scan(jax.checkpoint(lambda x: f(x)["y"]))(x).sum())),
        {"apply": 3, "vjp": 3},
    ),
    "shard_map": (lambda f: jax.jit(_shards(f)), {"apply": 2}),
    "gradient of shard_map": (
        lambda f: jax.jit(jax.grad(lambda x: _shards(f)(x).sum())),
        {"apply": 2, "vjp": 2},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_call_is_made_once(two: Any, name: str) -> None:
    transform, counts = CASES[name]
    if "shard_map" in name and len(jax.devices()) < 2:
        pytest.skip("needs two devices")
    x = jnp.asarray(X)
    found: list[Any] = []
    function = transform(f_of(two))
    calls = made(two, lambda: found.append(function(x)) or found, sum(counts.values()))
    jax_support.same(found[0], transform(theirs)(x))
    assert calls == counts


def test_custom_rules_may_call(two: Any) -> None:
    f = _y(f_of(two))
    rule = jax.custom_vjp(lambda x: f(x))
    rule.defvjp(lambda x: (f(x), x), lambda x, c: (c * x,))
    x = jnp.asarray(X)
    assert made(two, lambda: jax.jit(rule)(x), 1) == {"apply": 1}
    assert made(two, lambda: jax.jit(jax.grad(rule))(x), 1) == {"apply": 1}


def test_differentiated_loops_make_calls_that_do_not_change_once(two: Any) -> None:
    f = _y(f_of(two))
    x = jnp.asarray(X)
    loop = lambda w: _scan(lambda s: s * w + f(x))(w)  # noqa: E731
    assert made(two, lambda: jax.jit(loop)(2.0), 3) == {"apply": 3}
    assert made(two, lambda: jax.jit(jax.grad(loop))(2.0), 1) == {"apply": 1}, "as documented"


def test_programs_that_xla_divides_are_refused(two: Any) -> None:
    if len(jax.devices()) < 2:
        pytest.skip("needs two devices")
    mesh = jax.sharding.Mesh(jax.devices()[:2], ("i",))
    x = jax.device_put(jnp.arange(4.0), jax.sharding.NamedSharding(mesh, Part("i")))
    with pytest.raises(NotImplementedError, match=r"two is stateful .* inside of jax\.shard_map"):
        jax.jit(f_of(two))(x)


def test_exported_programs_keep_the_effect(tmp_path: Path) -> None:
    pytest.importorskip("flatbuffers", reason="jax.export needs flatbuffers")
    jax_support.needs_adapter()
    two = jax_support.open_("two", tmp_path, stateful=True)
    checks = [export.DisabledSafetyCheck.custom_call(_adapter.TARGET)]
    program = export.export(jax.jit(_ignored(f_of(two))), disabled_checks=checks)(jnp.asarray(X))
    read = export.deserialize(program.serialize())
    assert made(two, lambda: jax.jit(read.call)(jnp.asarray(X)), 1) == {"apply": 1}
