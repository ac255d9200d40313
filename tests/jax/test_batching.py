"""vmap: the methods by name, the loop, Jacobians for many vectors."""

from __future__ import annotations

from typing import Any

import jax_support
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp


def reference(x: Any, a: Any, b: Any) -> dict[str, Any]:
    return {"y": a * jnp.sin(x), "z": jnp.sum(x * x) + b}


X = [[0.3, 1.3, 2.3], [1.0, -1.0, 0.5], [0.1, 0.2, 0.3], [4.0, 5.0, 6.0]]

# name: (what is made of the function, its arguments, how many calls of which endpoint)
CASES: dict[str, tuple[Any, Any, dict[str, int]]] = {
    "one axis": (lambda f: jax.vmap(f, (0, None, None)), (X, 1.5, 0.5), {"apply": 4}),
    "another axis": (
        lambda f: jax.jit(jax.vmap(f, (1, None, None))),
        (list(zip(*X, strict=True)), 1.5, 0.5),
        {"apply": 4},
    ),
    "output axis": (
        lambda f: jax.vmap(f, (0, None, None), {"y": 1, "z": 0}),
        (X, 1.5, 0.5),
        {"apply": 4},
    ),
    "all": (jax.vmap, (X, X[0] + [2.0], X[1] + [3.0]), {"apply": 4}),
    "nested": (
        lambda f: jax.vmap(jax.vmap(f, (0, None, None)), (None, 0, 0)),
        (X, X[0], X[1]),
        {"apply": 12},
    ),
    "nested in one argument": (
        lambda f: jax.vmap(jax.vmap(f, (0, 0, None)), (0, None, 0)),
        ([X, X], X[0] + [2.0], X[1][:2]),
        {"apply": 8},
    ),
    "of grad": (
        lambda f: jax.jit(jax.vmap(jax.grad(lambda *r: f(*r)["y"].sum(), (0, 1)), (0, None, None))),
        (X, 1.5, 0.5),
        {"vjp": 4},
    ),
    "grad of, with an argument that is not mapped": (
        lambda f: jax.jit(
            jax.grad(lambda *r: (jax.vmap(f, (0, None, None))(*r)["y"]).sum(), (0, 1))
        ),
        (X, 1.5, 0.5),
        {"vjp": 4},
    ),
    "jvp of": (
        lambda f: lambda *r: jax.jvp(jax.vmap(f, (0, None, None)), r, r),
        (X, 1.5, 0.5),
        {"apply": 4, "jvp": 4},
    ),
    "of jacrev": (
        lambda f: jax.vmap(jax.jacrev(f, (0, 1)), (0, None, None)),
        (X, 1.5, 0.5),
        {"apply": 4, "jacobian": 4},
    ),
    "jacrev of": (
        lambda f: jax.jacrev(jax.vmap(f, (0, None, None)), (0, 1)),
        (X, 1.5, 0.5),
        {"apply": 4, "jacobian": 4},
    ),
    "jacfwd of": (
        lambda f: jax.jacfwd(jax.vmap(f, (0, None, None)), (0, 1)),
        (X, 1.5, 0.5),
        {"apply": 4, "jacobian": 4},
    ),
    "of scan": (
        lambda f: jax.jit(
            jax.vmap(
                lambda x, a, b: jax.lax.scan(
                    lambda c, _: (f(c, a, b)["y"], None), x, None, length=2
                )[0],
                (0, None, None),
            )
        ),
        (X, 1.5, 0.5),
        {"apply": 8},
    ),
}


@pytest.mark.parametrize("method", [None, "sequential"])
@pytest.mark.parametrize("name", CASES)
def test_elements_are_called_one_by_one(opened: Any, name: str, method: Any) -> None:
    two = opened("two")
    transform, arguments, counts = CASES[name]
    arguments = tuple(jnp.asarray(value, jnp.float64) for value in arguments)
    function = transform(lambda x, a, b: two({"x": x, "a": a, "b": b}, vmap_method=method))

    found: list[Any] = []
    made = two.calls(lambda: found.append(function(*arguments)) or found)

    jax_support.same(found[0], transform(reference)(*arguments))
    names = [call if isinstance(call, str) else call[0] for call in made]
    assert {one: names.count(one) for one in names} == counts


@pytest.mark.parametrize(
    ("options", "endpoint", "count"),
    [
        ({}, "jacobian", 1),
        ({"materialize_jacobian": True}, "jacobian", 1),
        ({"materialize_jacobian": False}, "vjp", 4),
    ],
)
def test_jacrev_uses_the_jacobian_unless_told_not_to(
    opened: Any, options: Any, endpoint: str, count: int
) -> None:
    two = opened("two")
    x = jnp.arange(3.0)
    function = jax.jacrev(lambda x: two({"x": x, "a": jnp.float64(2.0)}, **options))
    made = two.calls(lambda: function(x))
    assert [call[0] for call in made if call != "apply"] == [endpoint] * count


def test_few_vectors_at_one_point_are_called_for_one_by_one(opened: Any) -> None:
    """A Jacobian of 50 columns for two of them would cost more."""
    two = opened("two")
    x, t = jnp.arange(50.0), jnp.ones((2, 50))
    f = lambda x: two({"x": x, "a": jnp.float64(2.0)})["y"]  # noqa: E731
    linear = jax.linearize(f, x)[1]
    made = two.calls(lambda: jax.vmap(linear)(t))
    assert [call[0] for call in made] == ["jvp", "jvp"]
    forced = jax.linearize(lambda x: two({"x": x, "a": 2.0}, materialize_jacobian=True)["y"], x)[1]
    assert [call[0] for call in two.calls(lambda: jax.vmap(forced)(t))] == ["jacobian"]
    jax_support.same(jax.vmap(forced)(t), jax.vmap(linear)(t))


def test_a_jacobian_stands_in_for_products_that_are_not_offered(opened: Any) -> None:
    only = opened(
        """
        class InputSchema(BaseModel):
            x: Differentiable[Array[(None,), Float64]]
        class OutputSchema(BaseModel):
            y: Differentiable[Array[(None,), Float64]]
        def apply(inputs):
            return {"y": 3 * inputs.x}
        def abstract_eval(abstract_inputs):
            return {"y": abstract_inputs.x}
        def jacobian(inputs, jac_inputs, jac_outputs):
            return {"y": {"x": 3 * np.eye(inputs.x.shape[0])}}
        """
    )
    f = lambda x: only({"x": x})["y"]  # noqa: E731
    x = jnp.arange(3.0)
    jax_support.same(jax.jacrev(f)(x), 3 * jnp.eye(3))
    jax_support.same(jax.vmap(jax.linearize(f, x)[1])(jnp.ones((1, 3))), jnp.full((1, 3), 3.0))


def test_a_jacobian_that_is_not_offered_can_not_be_demanded(opened: Any) -> None:
    noop = opened("noop")
    with pytest.raises(RuntimeError, match="noop has no jacobian endpoint"):
        jax.jacrev(lambda x: noop({"x": x}, materialize_jacobian=True)["y"])(jnp.arange(3.0))


def test_dtypes_of_jacobians(opened: Any) -> None:
    """The output's forward, the input's in reverse."""
    mixed = opened(
        """
        class InputSchema(BaseModel):
            x: Differentiable[Array[(None,), Float32]]
        class OutputSchema(BaseModel):
            y: Differentiable[Array[(None,), Float64]]
        def apply(inputs):
            return {"y": inputs.x.astype("float64") * 2}
        def abstract_eval(abstract_inputs):
            return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
        def jacobian(inputs, jac_inputs, jac_outputs):
            return {"y": {"x": 2 * np.eye(inputs.x.shape[0])}}
        def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
            return {"y": 2 * tangent_vector["x"]}
        def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
            return {"x": 2 * cotangent_vector["y"]}
        """
    )
    f = lambda x: mixed({"x": x})["y"]  # noqa: E731
    x = jnp.arange(3.0, dtype=jnp.float32)
    assert jax.jacfwd(f)(x).dtype == jnp.float64
    assert jax.jacrev(f)(x).dtype == jnp.float32


# ---- One call on longer arrays ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "shape"),
    [("expand_dims", (1, 3)), ("broadcast_all", (4, 3)), ("auto_experimental", (1, 3))],
)
def test_vectorised_methods_make_one_call(opened: Any, method: str, shape: Any) -> None:
    component = opened("anyrank")
    x, w = jnp.arange(12.0).reshape(4, 3), jnp.arange(3.0) + 1

    def f(x: Any, w: Any) -> Any:
        return component({"x": x, "w": w}, vmap_method=method)["y"]

    found: list[Any] = []
    made = component.calls(lambda: found.append(jax.vmap(f, (0, None))(x, w)) or found)
    assert made == [("apply", (4, 3), shape)]
    jax_support.same(found[0], x * w)

    value = jax.jit(jax.grad(lambda x, w: (jax.vmap(f, (0, None))(x, w) ** 2).sum(), (0, 1)))
    expected = jax.grad(lambda x, w: ((x * w) ** 2).sum(), (0, 1))(x, w)
    jax_support.same(value(x, w), expected)
    per_example = jax.vmap(jax.grad(lambda x, w: f(x, w).sum(), (0, 1)), (0, None))
    jax_support.same(per_example(x, w), (jnp.broadcast_to(w, (4, 3)), x))


def test_auto_calls_one_by_one_where_a_shape_is_declared(opened: Any) -> None:
    two = opened("two")
    x = jnp.arange(6.0).reshape(2, 3)
    f = lambda x: two({"x": x, "a": 1.0}, vmap_method="auto_experimental")  # noqa: E731
    assert two.calls(lambda: jax.vmap(f)(x)) == ["apply", "apply"]


def test_auto_calls_one_by_one_for_inputs_that_are_not_differentiable(opened: Any) -> None:
    component = opened("anyrank")
    f = lambda s: component(  # noqa: E731
        {"x": jnp.ones(2), "w": jnp.ones(2), "shift": s}, vmap_method="auto_experimental"
    )
    assert len(component.calls(lambda: jax.vmap(f)(jnp.arange(3.0)))) == 3


def test_tangents_and_points_get_one_shape_when_vectorised(opened: Any) -> None:
    component = opened("anyrank")
    x, w, t = jnp.arange(3.0), jnp.arange(3.0) + 1, jnp.ones((4, 3))

    def f(x: Any) -> Any:
        return component({"x": x, "w": w}, vmap_method="expand_dims")["y"]

    found = jax.vmap(lambda t: jax.jvp(f, (x,), (t,))[1])(t)
    jax_support.same(found, jnp.broadcast_to(w, (4, 3)))


def test_unknown_methods_are_refused(opened: Any) -> None:
    noop = opened("noop")
    with pytest.raises(ValueError, match=r"Unknown vmap_method: 'all'.*broadcast_all"):
        noop({"x": jnp.ones(2)}, vmap_method="all")


def test_an_axis_of_no_length_makes_no_call(opened: Any) -> None:
    two = opened("two")
    f = jax.vmap(lambda x: two({"x": x, "a": 1.0})["y"])
    found: list[Any] = []
    assert two.calls(lambda: found.append(f(jnp.ones((0, 3)))) or found) == []
    assert found[0].shape == (0, 3)
