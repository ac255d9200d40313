"""Native components: straight from XLA, with derivatives and loops."""

from __future__ import annotations

from typing import Any

import jax_support
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp
from tesseract_host import Tesseract
from tesseract_host.jax import _adapter, apply_tesseract, register


def opened(name: str, **options: Any) -> Any:
    tesseract = Tesseract.from_library(jax_support.plugin(name))
    register(tesseract, **options)
    return tesseract


@pytest.fixture(params=[None, "carrier"])
def square(request: pytest.FixtureRequest) -> Any:
    """Y = a * x * x, in its own lane and in JAX's callback."""
    return opened("square", lane=request.param)


def made(tesseract: Any, function: Any) -> dict[str, int]:
    """How many calls a function makes."""
    identity = tesseract._client.identity
    names = ("apply", "jvp", "vjp", "jacobian")
    before = [_adapter.calls(identity, name) for name in names]
    jax.block_until_ready(function())
    after = [_adapter.calls(identity, name) for name in names]
    counts = dict(zip(names, np.subtract(after, before).tolist(), strict=True))
    return {name: count for name, count in counts.items() if count}


def theirs(x: Any, a: Any = 1.0) -> Any:
    return a * x * x


def f_of(square: Any) -> Any:
    return lambda x, a=1.0: apply_tesseract(square, {"x": x, "a": a})["y"]


X = np.arange(3.0) + 1


@pytest.mark.parametrize(
    ("name", "transform", "counts"),
    [
        ("eager", lambda f: f, {"apply": 1}),
        ("jit", jax.jit, {"apply": 1}),
        ("grad", lambda f: jax.jit(jax.grad(lambda x, a: f(x, a).sum(), (0, 1))), {"vjp": 1}),
        (
            "value_and_grad",
            lambda f: jax.jit(jax.value_and_grad(lambda x, a: f(x, a).sum())),
            {"apply": 1, "vjp": 1},
        ),
        ("jvp", lambda f: lambda *r: jax.jvp(f, r, r), {"apply": 1, "jvp": 1}),
        ("jacfwd", lambda f: jax.jit(jax.jacfwd(f)), {"jvp": 1}),
        ("jacrev", lambda f: jax.jit(jax.jacrev(f)), {"vjp": 1}),
        ("vmap", lambda f: lambda x, a: jax.vmap(f, (None, 0))(x, jnp.arange(5.0)), {"apply": 1}),
        (
            "nested vmap",
            lambda f: (
                lambda x, a: jax.vmap(lambda a: jax.vmap(f, (0, None))(jnp.stack([x, 2 * x]), a))(
                    jnp.arange(5.0)
                )
            ),
            {"apply": 1},
        ),
        (
            "grad of vmap",
            lambda f: jax.jit(
                jax.grad(lambda x, a: (jax.vmap(f, (None, 0))(x, a * jnp.arange(4.0)) ** 2).sum())
            ),
            {"apply": 1, "vjp": 1},
        ),
        (
            "scan",
            lambda f: (
                lambda x, a: jax.lax.scan(lambda c, _: (f(c, a) / 4, None), x, None, length=5)[0]
            ),
            {"apply": 5},
        ),
    ],
)
def test_transformations(square: Any, name: str, transform: Any, counts: Any) -> None:
    x, a = jnp.asarray(X), jnp.float64(1.5)
    ours = transform(f_of(square))
    jax_support.same(ours(x, a), transform(theirs)(x, a))
    assert made(square, lambda: ours(x, a)) == counts, name


def test_defaults_and_float32(square: Any) -> None:
    x = jnp.asarray(X, jnp.float32)
    f = lambda x: apply_tesseract(square, {"x": x})["y"]  # noqa: E731
    assert f(x).dtype == jnp.float64
    assert jax.grad(lambda x: f(x).sum())(x).dtype == jnp.float32
    np.testing.assert_allclose(jax.grad(lambda x: f(x).sum())(x), 2 * X)


def test_what_does_not_fit_is_refused_when_tracing(square: Any) -> None:
    for inputs in ({}, {"x": jnp.ones((2, 2))}, {"x": jnp.ones(2), "b": 1.0}):
        with pytest.raises((ValueError, RuntimeError), match=r"[xb]"):
            jax.jit(lambda i: apply_tesseract(square, i))(
                {key: jnp.asarray(value) for key, value in inputs.items()}
            )


def test_it_goes_on_from_several_threads_of_xla(square: Any) -> None:
    f = f_of(square)

    @jax.jit
    def many(x: Any) -> Any:
        m = jnp.ones((200, 200)) * x[0]
        return sum(f(x * k + (m @ m)[k, k] * 0) for k in range(12))

    np.testing.assert_allclose(many(jnp.asarray(X)), X * X * sum(k * k for k in range(12)))
