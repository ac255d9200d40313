"""Components with a batch axis of their own: mapped calls are one call with more rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax_support
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp
from tesseract_host import Tesseract
from tesseract_host.jax import apply_tesseract, register

BATCHED = ("x", "ks.[]", "y")


def theirs(x: Any, k: Any, w: Any) -> dict[str, Any]:
    return {"y": k * ((x * x) @ w), "norm": jnp.sum(w * w)}


def y_of(f: Any) -> Any:
    return lambda *arguments: f(*arguments)["y"]


def total(f: Any) -> Any:
    """Of all that a function gives, with a part in it of each element."""
    return lambda *a: sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(f(*a)))


def random(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).uniform(0.5, 1.5, shape)


# Four elements of five rows of three.
X, K, W = random(4, 5, 3), random(4, 5), random(3)

# name: (what is made of the function, its arguments, the calls: endpoint and rows)
FOLDED: dict[str, tuple[Any, Any, list[tuple[str, int]]]] = {
    "eager": (lambda f: jax.vmap(f, (0, 0, None)), (X, K, W), [("apply", 20)]),
    "jit": (lambda f: jax.jit(jax.vmap(f, (0, 0, None))), (X, K, W), [("apply", 20)]),
    "rows that are not mapped": (
        lambda f: jax.jit(jax.vmap(f, (None, 0, None))),
        (X[0], K, W),
        [("apply", 20)],
    ),
    "other axes": (
        lambda f: jax.vmap(f, (1, 1, None), {"y": 1, "norm": 0}),
        (X.swapaxes(0, 1), K.T, W),
        [("apply", 20)],
    ),
    "nested": (
        lambda f: jax.jit(jax.vmap(jax.vmap(f, (0, None, None)), (None, 0, None))),
        (X, random(2, 5), W),
        [("apply", 40)],
    ),
    "nested in one argument": (
        lambda f: jax.vmap(jax.vmap(f, (0, 0, None)), (1, None, None)),
        (random(4, 2, 5, 3), K, W),
        [("apply", 40)],
    ),
    "grad of": (
        lambda f: jax.jit(jax.grad(total(jax.vmap(f, (0, 0, None))), (0, 1, 2))),
        (X, K, W),
        [("apply", 20), ("vjp", 20)],
    ),
    "grad of, by shared inputs alone": (
        lambda f: jax.jit(jax.grad(lambda w: jnp.sum(jax.vmap(y_of(f), (0, 0, None))(X, K, w)))),
        (W,),
        [("vjp", 20)],
    ),
    "of grad, by rows": (
        lambda f: jax.jit(jax.vmap(jax.grad(lambda *a: y_of(f)(*a).sum(), (0, 1)), (0, 0, None))),
        (X, K, W),
        [("vjp", 20)],
    ),
    "of grad, rows not mapped": (
        lambda f: jax.vmap(jax.grad(total(f)), (None, 0, None)),
        (X[0], K, W),
        [("apply", 20), ("vjp", 20)],
    ),
    "nested, of grad": (
        lambda f: jax.vmap(jax.vmap(jax.grad(total(f), 1), (0, None, None)), (None, 0, None)),
        (X, random(2, 5), W),
        [("apply", 40), ("vjp", 40)],
    ),
    "jvp of": (
        lambda f: lambda *a: jax.jvp(jax.vmap(f, (0, 0, None)), a, a),
        (X, K, W),
        [("apply", 20), ("jvp", 20)],
    ),
    "of jvp": (
        lambda f: jax.vmap(lambda *a: jax.jvp(f, a, a), (0, 0, None)),
        (X, K, W),
        [("apply", 20), ("jvp", 20)],
    ),
    "of tangents": (
        lambda f: lambda x, k, w, t: jax.vmap(jax.linearize(lambda k: f(x, k, w), k)[1])(t),
        (X[0], K[0], W, random(2, 5)),
        [("apply", 5), ("jvp", 10)],
    ),
    "of cotangents": (
        lambda f: lambda x, k, w, t: jax.vmap(jax.vjp(lambda k: y_of(f)(x, k, w), k)[1])(t),
        (X[0], K[0], W, random(2, 5)),
        [("apply", 5), ("vjp", 10)],
    ),
    "of scan": (
        lambda f: jax.jit(
            jax.vmap(
                lambda x, k, w: jax.lax.scan(
                    lambda c, _: (y_of(f)(x, c, w), None), k, None, length=2
                )[0],
                (0, 0, None),
            )
        ),
        (X, K, W),
        [("apply", 20)] * 2,
    ),
    "no rows": (
        lambda f: jax.vmap(f, (0, 0, None)),
        (np.ones((4, 0, 3)), np.ones((4, 0)), W),
        [("apply", 0)],
    ),
    "one element": (lambda f: jax.vmap(f, (0, None, None)), (X[:1], K[0], W), [("apply", 5)]),
}

# The same, of calls that can't be one: how many there are of each element's rows.
LOOPED: dict[str, tuple[Any, Any, list[tuple[str, int]]]] = {
    "no elements": (lambda f: jax.vmap(f, (0, 0, None)), (X[:0], K[:0], W), []),
    "a shared input": (
        lambda f: jax.vmap(f, (None, None, 0)),
        (X[0], K[0], random(2, 3)),
        [("apply", 5)] * 2,
    ),
    "all inputs": (jax.vmap, (X[:2], K[:2], random(2, 3)), [("apply", 5)] * 2),
    "of grad by a shared input": (
        lambda f: jax.vmap(jax.grad(lambda *a: y_of(f)(*a).sum(), (0, 2)), (0, 0, None)),
        (X, K, W),
        [("apply", 20)] + [("vjp", 5)] * 4,
    ),
    "of cotangents of shared outputs": (
        lambda f: (
            lambda x, k, w, t, u: jax.vmap(jax.vjp(lambda k: f(x, k, w), k)[1])({"y": t, "norm": u})
        ),
        (X[0], K[0], W, random(2, 5), random(2)),
        [("apply", 5), ("vjp", 5), ("vjp", 5)],
    ),
    "rows, of a shared input": (
        lambda f: jax.vmap(jax.vmap(f, (None, None, 0)), (0, 0, None)),
        (X, K, random(2, 3)),
        [("apply", 20)] * 2,
    ),
    "a shared input, of rows": (
        lambda f: jax.vmap(jax.vmap(f, (0, 0, None)), (None, None, 0)),
        (X, K, random(2, 3)),
        [("apply", 20)] * 2,
    ),
    "rows that both levels have, of a shared input": (
        lambda f: jax.vmap(jax.vmap(f, (0, None, 0)), (1, 0, None)),
        (random(2, 4, 5, 3), K, random(2, 3)),
        [("apply", 20)] * 2,
    ),
}


@pytest.fixture
def rows(opened: Any) -> Any:
    return opened("rows", batched=BATCHED)


def f_of(component: Any, **options: Any) -> Callable[..., Any]:
    return lambda x, k, w: component({"x": x, "ks": [k / 4, 3 * k / 4], "w": w}, **options)


@pytest.mark.parametrize("name", [*FOLDED, *LOOPED])
def test_rows_of_all_elements_go_into_one_call(rows: Any, name: str) -> None:
    transform, arguments, calls = (FOLDED | LOOPED)[name]
    arguments = tuple(map(jnp.asarray, arguments))
    function = transform(f_of(rows))
    found: list[Any] = []
    made = rows.calls(lambda: found.append(function(*arguments)) or found)
    jax_support.same(found[0], transform(theirs)(*arguments))
    assert sorted(made) == sorted(calls)


@pytest.mark.parametrize(
    ("options", "calls"),
    [
        ({}, [("apply", 5), ("jacobian", 5)]),
        ({"materialize_jacobian": False}, [("apply", 5), ("vjp", 25)]),
        ({"materialize_jacobian": False, "vmap_method": "sequential"}, [("vjp", 5)] * 5),
    ],
)
def test_jacobians(rows: Any, options: Any, calls: list[tuple[str, int]]) -> None:
    def jacobian(f: Any) -> Any:
        return jax.jacrev(lambda k: f(jnp.asarray(X[0]), k, jnp.asarray(W))["y"])(K[0])

    f = f_of(rows, **options)
    made = rows.calls(lambda: jacobian(f))
    assert [call for call in made if call in calls] == calls
    jax_support.same(jacobian(f), jacobian(theirs))
    made = rows.calls(lambda: jax.vmap(jax.jacrev(y_of(f)), (0, 0, None))(X, K, W))
    jax_support.same(
        jax.vmap(jax.jacrev(y_of(f)), (0, 0, None))(X, K, W),
        jax.vmap(jax.jacrev(y_of(theirs)), (0, 0, None))(*map(jnp.asarray, (X, K, W))),
    )


@pytest.mark.parametrize("wrap", [jax.jit, jax.checkpoint])
def test_a_method_that_is_named_is_what_is_done(rows: Any, wrap: Any) -> None:
    f = wrap(jax.vmap(f_of(rows, vmap_method="sequential"), (0, 0, None)))
    assert rows.calls(lambda: f(X, K, W)) == [("apply", 5)] * 4
    f = wrap(jax.vmap(f_of(rows), (0, 0, None)))
    assert rows.calls(lambda: f(X, K, W)) == [("apply", 20)]


def test_arrays_with_other_numbers_of_rows_are_not_put_together(rows: Any) -> None:
    """The module has one value of k for all rows, though it said otherwise."""
    f = jax.vmap(f_of(rows), (0, 0, None))
    found: list[Any] = []
    k = K[:, :1]
    assert rows.calls(lambda: found.append(f(X, k, W)) or found) == [("apply", 5)] * 4
    jax_support.same(found[0], jax.vmap(theirs, (0, 0, None))(*map(jnp.asarray, (X, k, W))))


NESTED = """
    class Inner(BaseModel):
        x: Differentiable[Array[(None, 2), Float64]]
        a: Differentiable[Float64]
    class InputSchema(BaseModel):
        data: dict[str, Differentiable[Array[(None,), Float64]]]
        inner: list[Inner]
    class OutputSchema(BaseModel):
        ys: list[Differentiable[Array[(None,), Float64]]]
    def apply(inputs):
        calls.append(("apply", len(inputs.inner[0].x)))
        total = sum(part.a * part.x.sum(1) for part in inputs.inner)
        return {"ys": [value * total for value in inputs.data.values()]}
    def abstract_eval(abstract_inputs):
        return {"ys": [value for value in abstract_inputs.data.values()]}
"""


def test_leaves_in_containers(opened: Any) -> None:
    nested = opened(NESTED, batched=["data.{}", "inner.[].x", "ys.[]"])

    def f(data: Any, x: Any, a: Any) -> Any:
        return nested({"data": data, "inner": [{"x": x, "a": a}, {"x": 2 * x, "a": 1.0}]})["ys"]

    data = {"one.two": random(4, 3), "{b}": random(4, 3) + 1}
    x, a = random(4, 3, 2), 1.5
    found: list[Any] = []
    made = nested.calls(
        lambda: (
            found.append(
                jax.vmap(f, ({"one.two": 0, "{b}": None}, 0, None))(
                    {**data, "{b}": data["{b}"][0]}, x, a
                )
            )
            or found
        )
    )
    assert made == [("apply", 12)]
    total = (a + 2) * x.sum(2)
    expected = [data["one.two"] * total, data["{b}"][0] * total]
    jax_support.same(found[0], list(map(jnp.asarray, expected)))
    made = nested.calls(lambda: jax.vmap(f, (None, None, 0))(data_of(data), x[0], jnp.ones(2)))
    assert made == [("apply", 3)] * 2


def data_of(data: Any) -> Any:
    """Of the first element."""
    return {key: value[0] for key, value in data.items()}


def test_stateful_components(opened: Any) -> None:
    """What is written once is called once."""
    rows = opened("rows", batched=BATCHED, stateful=True)
    f = jax.jit(jax.vmap(f_of(rows), (0, 0, None)))
    assert rows.calls(lambda: f(X, K, W)) == [("apply", 20)]


def test_shards(rows: Any) -> None:
    mesh = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    part = jax.sharding.PartitionSpec("i")
    whole = jax.sharding.PartitionSpec()
    f = y_of(jax.vmap(f_of(rows), (0, 0, None)))
    shards = jax.shard_map(f, mesh=mesh, in_specs=(part, part, whole), out_specs=part)
    assert rows.calls(lambda: jax.jit(shards)(X, K, W)) == [("apply", 10)] * 2
    gradient = jax.grad(lambda w: shards(X, K, w).sum())
    expected = jax.grad(lambda w: jax.vmap(theirs, (0, 0, None))(X, K, w)["y"].sum())
    jax_support.same(gradient(jnp.asarray(W)), expected(jnp.asarray(W)))


@pytest.mark.parametrize("part", ["i", None])
def test_axes_that_are_divided_explicitly_are_called_one_by_one(rows: Any, part: Any) -> None:
    explicit = jax.sharding.AxisType.Explicit
    mesh = jax.make_mesh((2,), ("i",), axis_types=(explicit,), devices=jax.devices()[:2])
    with jax.set_mesh(mesh):
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(part))
        x, k = jax.device_put(X, sharding), jax.device_put(K, sharding)
        found: list[Any] = []
        f = jax.vmap(f_of(rows), (0, 0, None))
        made = rows.calls(lambda: found.append(jax.jit(f)(x, k, jnp.asarray(W))) or found)
    np.testing.assert_allclose(found[0]["y"], K * (X * X @ W))
    assert {rows_ for _endpoint, rows_ in made} == {5 if part else 20}


@pytest.mark.parametrize(
    ("batched", "error", "match"),
    [
        ("x", TypeError, "batched is a text, 'x'"),
        (
            ["z"],
            ValueError,
            r"no input or output 'z' that is an array; it has x, ks.\[\], w, fixed",
        ),
        (["scale"], ValueError, "no input or output 'scale'"),
        (["norm"], ValueError, "'norm' has rank 0"),
        (["fixed"], ValueError, "'fixed' has a first axis of 2"),
        ([5], ValueError, "no input or output 5"),
    ],
)
def test_what_can_not_be_is_refused(opened: Any, batched: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        opened("rows", batched=batched)


# ---- Native components --------------------------------------------------------------------------


@pytest.fixture(params=[None, "carrier"])
def native(request: pytest.FixtureRequest) -> Any:
    tesseract = Tesseract.from_library(jax_support.plugin("rows"))
    register(tesseract, lane=request.param)
    return tesseract


def native_f(tesseract: Any, **options: Any) -> Any:
    return lambda x, k, w: apply_tesseract(tesseract, {"x": x, "k": k, "w": w}, **options)


def counted(tesseract: Any, function: Callable[[], Any]) -> int:
    """How many calls reach a component, after those that tracing makes."""
    jax.block_until_ready(function())
    host = tesseract._client.host()
    before = host.statistics()["calls"]
    jax.block_until_ready(function())
    return int(host.statistics()["calls"] - before)


@pytest.mark.parametrize("name", [*FOLDED, *LOOPED])
def test_native_components_say_so_themselves(native: Any, name: str) -> None:
    assert native._client.description["batch"] == "n"
    transform, arguments, calls = (FOLDED | LOOPED)[name]
    arguments = tuple(map(jnp.asarray, arguments))
    function = transform(native_f(native))
    jax_support.same(function(*arguments), transform(theirs)(*arguments))
    assert counted(native, lambda: function(*arguments)) == len(calls)


def test_what_is_registered_comes_before_what_is_described() -> None:
    native = Tesseract.from_library(jax_support.plugin("rows"))
    function = jax.vmap(native_f(native), (0, 0, None))
    assert counted(native, lambda: function(X, K, W)) == 1
    register(native, batched=())
    assert counted(native, lambda: function(X, K, W)) == 4
    register(native, batched=("x", "k", "y"))
    assert counted(native, lambda: function(X, K, W)) == 1
    register(native)
    assert counted(native, lambda: function(X, K, W)) == 1


def test_rows_and_elements_may_have_symbolic_numbers() -> None:
    native = Tesseract.from_library(jax_support.plugin("rows"))
    f = jax.jit(jax.vmap(native_f(native), (0, 0, None)))
    b, n = jax.export.symbolic_shape("b, n")
    shapes = ((b, n, 3), (b, n), (3,))
    checks = [jax.export.DisabledSafetyCheck.custom_call("tesseract_host_call")]
    exported = jax.export.export(f, disabled_checks=checks)(
        *(jax.ShapeDtypeStruct(shape, "float64") for shape in shapes)
    )
    found: list[Any] = []
    arguments = tuple(map(jnp.asarray, (X, K, W)))
    assert counted(native, lambda: found.append(exported.call(*arguments)) or found) == 1
    jax_support.same(found[0], jax.vmap(theirs, (0, 0, None))(*arguments))


def test_rows_are_not_copied() -> None:
    """Rows lie one after the other as they come: the component reads the caller's memory."""
    native = Tesseract.from_library(jax_support.plugin("rows"))
    f = jax.jit(jax.vmap(native_f(native), (0, 0, None)))
    text = f.lower(X, K, W).compile().as_text()
    assert "bitcast" in text
    assert "copy(" not in text
    assert "transpose" not in text
