"""What is asked of components in derivatives, and what can't be derived."""

from __future__ import annotations

from typing import Any

import jax_support
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp

MIXED = """
class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]
    fixed: Array[(None,), Float64]
    n: Array[(None,), Int64] = np.zeros(1, "int64")
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]
    aside: Array[(None,), Float64]
    count: Array[(), Int64]
    flag: Bool
def apply(inputs):
    calls.append("apply")
    return {"y": 2 * inputs.x, "aside": inputs.x + 1, "count": 3, "flag": True}
def abstract_eval(abstract_inputs):
    shape = abstract_inputs.x.shape
    return {"y": ShapeDType(shape=shape, dtype="float64"),
            "aside": ShapeDType(shape=shape, dtype="float64"),
            "count": ShapeDType(shape=(), dtype="int64"),
            "flag": ShapeDType(shape=(), dtype="bool")}
def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    calls.append(("jvp", sorted(jvp_inputs), sorted(jvp_outputs)))
    return {"y": 2 * tangent_vector["x"]}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    calls.append(("vjp", sorted(vjp_inputs), sorted(vjp_outputs)))
    return {"x": 2 * cotangent_vector["y"]}
"""

POISON = """
class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]
    w: Differentiable[Array[(None,), Float64]]
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]
    bad: Differentiable[Array[(None,), Float64]]
def apply(inputs):
    calls.append("apply")
    return {"y": inputs.x * inputs.w, "bad": inputs.x * np.nan}
def abstract_eval(abstract_inputs):
    one = ShapeDType(shape=abstract_inputs.x.shape, dtype="float64")
    return {"y": one, "bad": one}
def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    calls.append(("jvp", sorted(jvp_inputs), sorted(jvp_outputs)))
    t = tangent_vector
    y = t.get("x", 0) * inputs.w + t.get("w", 0) * inputs.x
    return {o: y if o == "y" else y * np.nan for o in jvp_outputs}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    calls.append(("vjp", sorted(vjp_inputs), sorted(vjp_outputs)))
    c = cotangent_vector.get("y", 0 * inputs.x)
    c = c + cotangent_vector["bad"] * np.nan if "bad" in vjp_outputs else c
    return {i: c * (inputs.w if i == "x" else inputs.x) for i in vjp_inputs}
"""


def test_outputs_that_are_not_used_poison_no_gradient(opened: Any) -> None:
    poison = opened(POISON)
    x = jnp.arange(3.0)
    f = lambda x, w: poison({"x": x, "w": w})["y"].sum()  # noqa: E731
    jax_support.same(jax.grad(f)(x, x + 1), x + 1)
    made = poison.calls(lambda: jax.jit(jax.grad(f))(x, x + 1))
    assert made == [("vjp", ["x"], ["y"])]


def test_gradients_that_are_not_used_are_not_asked_for(opened: Any) -> None:
    poison = opened(POISON)
    x = jnp.arange(3.0)
    both = jax.grad(lambda x, w: poison({"x": x, "w": w})["y"].sum(), (0, 1))
    assert poison.calls(lambda: jax.jit(lambda x: both(x, x)[1])(x)) == [("vjp", ["w"], ["y"])]


def test_tangents_that_are_not_used_are_not_asked_for(opened: Any) -> None:
    poison = opened(POISON)
    x = jnp.arange(3.0)

    def tangent(x: Any) -> Any:
        return jax.jvp(lambda x: poison({"x": x, "w": x}), (x,), (x,))[1]["y"]

    assert poison.calls(lambda: jax.jit(tangent)(x)) == [("jvp", ["w", "x"], ["y"])]


def test_apply_is_never_narrowed(opened: Any) -> None:
    """Two uses of one call stay equal, and are merged."""
    two = opened("two")
    x = jnp.arange(3.0)
    call = lambda x: two({"x": x, "a": 1.0})  # noqa: E731
    function = jax.jit(lambda x: call(x)["y"].sum() + call(x)["z"])
    assert two.calls(lambda: function(x)) == ["apply"]


def test_unused_calls_are_dropped(opened: Any) -> None:
    two = opened("two")
    function = jax.jit(lambda x: (two({"x": x, "a": 1.0}), x)[1])
    assert two.calls(lambda: function(jnp.arange(3.0))) == []


def test_no_derivative_is_called_for_where_nothing_depends(opened: Any) -> None:
    two = opened("two")
    constant = jax.grad(lambda x: two({"x": jnp.ones(3), "a": 1.0})["y"].sum() + x.sum())
    x = jnp.arange(3.0)
    assert two.calls(lambda: constant(x)) == ["apply"]
    jax_support.same(constant(x), jnp.ones(3))


def test_tangents_of_what_is_not_differentiable(opened: Any) -> None:
    mixed = opened(MIXED)
    x = jnp.arange(3.0)
    out, tangents = jax.jvp(lambda x: mixed({"x": x, "fixed": jnp.ones(3)}), (x,), (x,))
    jax_support.same(out["y"], 2 * x)
    jax_support.same(tangents["y"], 2 * x)
    assert np.isnan(tangents["aside"]).all() and tangents["aside"].dtype == jnp.float64
    assert (
        tangents["count"].dtype == jax.dtypes.float0 and tangents["flag"].dtype == jax.dtypes.float0
    )
    batched = jax.vmap(
        lambda t: jax.jvp(lambda x: mixed({"x": x, "fixed": jnp.ones(3)}), (x,), (t,))[1]
    )
    assert np.isnan(batched(jnp.ones((2, 3)))["aside"]).all()


def test_tangents_can_be_zero_instead_of_nan(opened: Any) -> None:
    mixed = opened(MIXED, zero_tangents=True)
    x = jnp.arange(3.0)
    tangents = jax.jvp(lambda x: mixed({"x": x, "fixed": jnp.ones(3)}), (x,), (x,))[1]
    jax_support.same(tangents["aside"], jnp.zeros(3))


def test_a_derivative_by_what_is_not_differentiable_is_refused(opened: Any) -> None:
    mixed = opened(MIXED)
    f = lambda s: mixed({"x": jnp.ones(3), "fixed": s})["y"].sum()  # noqa: E731
    with pytest.raises(ValueError, match=r"input 'fixed' is not differentiable.*argnums"):
        jax.grad(f)(jnp.ones(3))
    with pytest.raises(ValueError, match="input 'fixed' is not differentiable"):
        jax.jit(jax.jvp, static_argnums=0)(f, (jnp.ones(3),), (jnp.ones(3),))
    jax_support.same(jax.grad(lambda s: f(jax.lax.stop_gradient(s)))(jnp.ones(3)), jnp.zeros(3))


def test_a_gradient_through_what_is_not_differentiable_is_refused(opened: Any) -> None:
    mixed = opened(MIXED)
    f = lambda x: mixed({"x": x, "fixed": jnp.ones(3)})["aside"].sum()  # noqa: E731
    with pytest.raises(ValueError, match="output 'aside' is not differentiable"):
        jax.grad(f)(jnp.ones(3))
    with pytest.raises(ValueError, match="output 'aside' is not differentiable"):
        jax.jit(jax.grad(f))(jnp.ones(3))


def test_integers_among_the_inputs_have_no_tangent(opened: Any) -> None:
    mixed = opened(MIXED)
    f = lambda x, n: mixed({"x": x, "fixed": jnp.ones(3), "n": n})["y"]  # noqa: E731
    x, n = jnp.arange(3.0), jnp.arange(3)
    float0 = np.zeros(3, jax.dtypes.float0)
    _, tangent = jax.jvp(f, (x, n), (x, float0))
    jax_support.same(tangent, 2 * x)
    grads = jax.grad(lambda x, n: f(x, n).sum(), (0, 1), allow_int=True)(x, n)
    jax_support.same(grads[0], jnp.full(3, 2.0))
    assert grads[1].dtype == jax.dtypes.float0


SECOND = {
    "hessian": lambda f: jax.hessian(f),
    "reverse over reverse": lambda f: jax.grad(lambda x: jax.grad(f)(x).sum()),
    "forward over forward": lambda f: jax.jacfwd(jax.jacfwd(f)),
    "reverse over forward": lambda f: jax.grad(lambda x: jax.jvp(f, (x,), (x,))[1]),
    "of jacobian": lambda f: jax.jacrev(jax.jacrev(f)),
}


@pytest.mark.parametrize("name", SECOND)
@pytest.mark.parametrize("compiled", [False, True])
def test_second_derivatives_fail_before_anything_runs(
    opened: Any, name: str, compiled: bool
) -> None:
    two = opened("two")
    f = lambda x: two({"x": x, "a": 2.0})["y"].sum()  # noqa: E731
    function = SECOND[name](f)
    with pytest.raises(RuntimeError, match=r"two: a second derivative by input 'x'.*higher-order"):
        (jax.jit(function) if compiled else function)(jnp.arange(3.0))


def test_endpoints_that_are_missing_are_named_when_tracing(opened: Any) -> None:
    only = opened(
        """
        class InputSchema(BaseModel):
            x: Differentiable[Array[(None,), Float64]]
        class OutputSchema(BaseModel):
            y: Differentiable[Array[(None,), Float64]]
        def apply(inputs):
            return {"y": 2 * inputs.x}
        def abstract_eval(abstract_inputs):
            return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
        """
    )
    f = lambda x: only({"x": x})["y"].sum()  # noqa: E731
    with pytest.raises(
        NotImplementedError, match=r"no vector_jacobian_product endpoint.*it has apply"
    ):
        jax.grad(f)(jnp.ones(3))
    with pytest.raises(NotImplementedError, match="jacobian_vector_product"):
        jax.jit(jax.jvp, static_argnums=0)(f, (jnp.ones(3),), (jnp.ones(3),))


FLOAT32 = """
class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float32]]
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float32]]
def apply(inputs):
    assert inputs.x.dtype == np.float32
    return {"y": 2 * inputs.x}
def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float32"}}
def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    return {"y": 2 * tangent_vector["x"]}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return {"x": 2 * cotangent_vector["y"]}
"""


@pytest.mark.parametrize("given", ["float64", "float32", "float16"])
def test_gradients_have_the_dtype_of_what_was_given(opened: Any, given: str) -> None:
    component = opened(FLOAT32)
    x = jnp.arange(3, dtype=given)
    f = lambda x: component({"x": x})["y"].sum()  # noqa: E731
    assert f(x).dtype == jnp.float32
    gradient = jax.jit(jax.grad(f))(x)
    assert gradient.dtype == x.dtype
    np.testing.assert_array_equal(gradient, 2)
    _, tangent = jax.jvp(lambda x: component({"x": x})["y"], (x,), (x,))
    assert tangent.dtype == jnp.float32


def test_calls_are_not_linear(opened: Any) -> None:
    two = opened("two")
    with pytest.raises(ValueError, match="not known to be linear"):
        jax.linear_transpose(lambda x: two({"x": x, "a": 1.0})["y"], jnp.ones(3))(jnp.ones(3))
    with pytest.raises(ValueError, match="not linear in input 'x'"):
        jax.linear_transpose(
            lambda x: jax.jvp(lambda x: two({"x": x, "a": 1.0})["y"], (x,), (jnp.ones(3),))[1],
            jnp.ones(3),
        )(jnp.ones(3))


def test_complex_values(opened: Any) -> None:
    """Tangents are complex, and cotangents transpose without conjugation, as JAX's do."""
    component = opened(
        """
        class InputSchema(BaseModel):
            x: Differentiable[Array[(None,), "complex128"]]
        class OutputSchema(BaseModel):
            y: Differentiable[Array[(None,), "complex128"]]
        def apply(inputs):
            return {"y": (2 + 1j) * inputs.x}
        def abstract_eval(abstract_inputs):
            return {"y": {"shape": abstract_inputs.x.shape, "dtype": "complex128"}}
        def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
            return {"y": (2 + 1j) * tangent_vector["x"]}
        def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
            return {"x": (2 + 1j) * cotangent_vector["y"]}
        """
    )
    x = jnp.arange(3.0) + 1j
    f = lambda x: component({"x": x})["y"]  # noqa: E731
    g = lambda x: (2 + 1j) * x  # noqa: E731
    jax_support.same(jax.vjp(f, x)[1](x), jax.vjp(g, x)[1](x))
    jax_support.same(jax.jvp(f, (x,), (x,)), jax.jvp(g, (x,), (x,)))
