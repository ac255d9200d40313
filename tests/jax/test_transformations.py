"""Every transformation against the same function in JAX, with the calls that it makes."""

from __future__ import annotations

from typing import Any

import jax_support
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp

ALL = ["a", "b", "x"]


def reference(x: Any, a: Any, b: Any) -> dict[str, Any]:
    return {"y": a * jnp.sin(x), "z": jnp.sum(x * x) + b}


def _y(f: Any) -> Any:
    return lambda *r: f(*r)["y"].sum()


def _both(f: Any) -> Any:
    return lambda *r: f(*r)["y"].sum() + f(*r)["z"] ** 2


def _once(f: Any) -> Any:
    def value(*r: Any) -> Any:
        out = f(*r)
        return out["y"].sum() + out["z"] ** 2

    return value


def _scan(f: Any) -> Any:
    def run(x: Any, a: Any, b: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            out = f(c, a, b)
            return out["y"], out["z"]

        return jax.lax.scan(step, x, None, length=3)

    return run


def _while(f: Any) -> Any:
    def run(x: Any, a: Any, b: Any) -> Any:
        return jax.lax.while_loop(
            lambda c: c[1] < 3, lambda c: (f(c[0], a, b)["y"], c[1] + 1), (x, 0)
        )[0]

    return run


def _cond(f: Any) -> Any:
    return lambda x, a, b: jax.lax.cond(a > 0, _y(f), lambda *_: 0.0, x, a, b)


# name: (what is made of the function, the calls on the way)
CASES: dict[str, tuple[Any, Any]] = {
    "eager": (lambda f: f, ["apply"]),
    "jit": (jax.jit, ["apply"]),
    "two equal calls": (lambda f: jax.jit(_both(f)), ["apply"]),
    "eager grad": (lambda f: jax.grad(_once(f), (0, 1, 2)), ["apply", ("vjp", ALL, ["y", "z"])]),
    "jit grad": (
        lambda f: jax.jit(jax.grad(_y(f), (0, 1, 2))),
        [("vjp", ALL, ["y"])],
    ),
    "jit grad by one": (lambda f: jax.jit(jax.grad(_y(f), (1,))), [("vjp", ["a"], ["y"])]),
    "jit value_and_grad": (
        lambda f: jax.jit(jax.value_and_grad(_y(f), (1,))),
        ["apply", ("vjp", ["a"], ["y"])],
    ),
    "jvp": (
        lambda f: lambda x, a, b: jax.jvp(lambda x: f(x, a, b), (x,), (x,)),
        ["apply", ("jvp", ["x"], ["y", "z"])],
    ),
    "jit jvp of one output": (
        lambda f: jax.jit(lambda x, a, b: jax.jvp(lambda x: f(x, a, b), (x,), (x,))[1]["z"]),
        [("jvp", ["x"], ["z"])],
    ),
    "linearize": (
        lambda f: lambda *r: jax.linearize(f, *r)[1](*r),
        ["apply", ("jvp", ALL, ["y", "z"])],
    ),
    "jacfwd": (lambda f: jax.jacfwd(f, (0, 1)), ["apply", ("jacobian", ["a", "x"], ["y", "z"])]),
    "jacrev": (lambda f: jax.jacrev(f, (0, 1)), ["apply", ("jacobian", ["a", "x"], ["y", "z"])]),
    "jit jacrev": (lambda f: jax.jit(jax.jacrev(f)), [("jacobian", ["x"], ["y", "z"])]),
    "jit jacfwd of one output": (
        lambda f: jax.jit(jax.jacfwd(lambda *r: f(*r)["z"])),
        [("jacobian", ["x"], ["z"])],
    ),
    "remat": (
        lambda f: jax.jit(jax.grad(jax.checkpoint(_y(f)), (0, 1))),
        [("vjp", ["a", "x"], ["y"])],
    ),
    "scan": (_scan, ["apply"] * 3),
    "while": (lambda f: jax.jit(_while(f)), ["apply"] * 3),
    "cond": (lambda f: jax.jit(_cond(f)), ["apply"]),
    "grad of cond": (lambda f: jax.jit(jax.grad(_cond(f))), [("vjp", ["x"], ["y"])]),
    "grad of scan": (
        lambda f: jax.jit(jax.grad(lambda *r: _scan(f)(*r)[0].sum())),
        ["apply"] * 3 + [("vjp", ["x"], ["y"])] * 3,
    ),
    "linear_transpose": (
        lambda f: (
            lambda x, a, b: jax.linear_transpose(
                lambda t: jax.jvp(lambda x: f(x, a, b), (x,), (t,))[1], x
            )({"y": x, "z": a})
        ),
        None,
    ),
    "forward over reverse in the cotangent": (
        lambda f: (
            lambda x, a, b: jax.jvp(
                lambda c: jax.vjp(lambda x: f(x, a, b)["y"], x)[1](c)[0], (x,), (x * 2,)
            )
        ),
        ["apply", ("vjp", ["x"], ["y"]), ("vjp", ["x"], ["y"])],
    ),
    "reverse over reverse in the cotangent": (
        lambda f: (
            lambda x, a, b: jax.grad(
                lambda c: (jax.vjp(lambda x: f(x, a, b)["y"], x)[1](c)[0] ** 2).sum()
            )(x)
        ),
        ["apply", ("vjp", ["x"], ["y"]), ("jvp", ["x"], ["y"])],
    ),
    "reverse over forward in the tangent": (
        lambda f: jax.jit(
            lambda x, a, b: jax.grad(
                lambda t: (jax.jvp(lambda x: f(x, a, b)["y"], (x,), (t,))[1] ** 2).sum()
            )(x)
        ),
        [("jvp", ["x"], ["y"]), ("vjp", ["x"], ["y"])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_transformation_gives_what_jax_gives_and_asks_no_more(opened: Any, name: str) -> None:
    two = opened("two")
    arguments = (jnp.arange(3.0) + 0.3, jnp.float64(1.7), jnp.float64(0.2))
    transform, calls = CASES[name]
    function = transform(lambda x, a, b: two({"x": x, "a": a, "b": b}))
    expected = transform(reference)(*arguments)

    found: list[Any] = []
    made = two.calls(lambda: found.append(function(*arguments)) or found)

    jax_support.same(found[0], expected)
    if calls is not None:
        assert made == calls


def test_a_call_costs_one_abstract_eval_for_all_of_its_types(opened: Any) -> None:
    two = opened("two")
    x, a = jnp.arange(3.0), jnp.float64(1.0)
    for _ in range(3):
        two({"x": x, "a": a})

    assert two.module.calls.count("abstract_eval") == 1
    two({"x": jnp.arange(4.0), "a": a})
    assert two.module.calls.count("abstract_eval") == 2


def test_gradients_agree_with_finite_differences(opened: Any) -> None:
    from jax.test_util import check_grads

    two = opened("two")
    x, a = jnp.arange(3.0) + 0.3, jnp.float64(1.7)
    check_grads(lambda x, a: two({"x": x, "a": a}), (x, a), order=1, modes=("fwd", "rev"))


def test_a_donated_input_is_right(opened: Any) -> None:
    noop = opened("noop")
    function = jax.jit(lambda x: noop({"x": x})["y"] * 2, donate_argnums=0)
    jax_support.same(function(jnp.arange(5.0)), jnp.arange(5.0) * 2)


def test_a_tesseract_is_an_argument_a_static_argument_and_a_key(opened: Any) -> None:
    from tesseract_host.jax import apply_tesseract

    noop, other = opened("noop"), opened("noop")
    x = jnp.arange(3.0)

    @jax.jit
    def as_argument(tesseract: Any, x: Any) -> Any:
        return apply_tesseract(tesseract, {"x": x})["y"]

    as_static = jax.jit(lambda t, x: apply_tesseract(t, {"x": x})["y"], static_argnums=0)
    jax_support.same(as_argument(noop.tesseract, x), x)
    jax_support.same(as_static(noop.tesseract, x), x)
    assert as_argument._cache_size() == 1
    as_argument(noop.tesseract, x)
    assert as_argument._cache_size() == 1
    as_argument(other.tesseract, x)
    assert as_argument._cache_size() == 2
    assert {noop.tesseract: 1, other.tesseract: 2}[noop.tesseract] == 1
    assert jax.tree.leaves(noop.tesseract) == []
