"""Results that are written over inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax_support
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp
from tesseract_host import Tesseract
from tesseract_host.jax import apply_tesseract, register

N = 1000


def opened(**options: Any) -> Any:
    tesseract = Tesseract.from_library(jax_support.plugin("in_place"))
    register(tesseract, **options)
    return lambda x, a: apply_tesseract(tesseract, {"x": x, "a": a})


@pytest.fixture(params=[None, "python", "carrier"])
def f(request: pytest.FixtureRequest) -> Any:
    """Y = x + a[::-1] with y in place of x, and whether it was, in each lane."""
    return opened(lane=request.param, in_place={"y": "x"})


def arrays() -> tuple[Any, Any]:
    return jnp.arange(N, dtype=float), jnp.arange(N, dtype=float) ** 2


X = np.arange(float(N))
Y = X + (X**2)[::-1]


def test_a_donated_input_is_where_the_result_is(f: Any) -> None:
    call = jax.jit(f, donate_argnums=0)
    for _ in range(2):
        x, a = arrays()
        before = x.unsafe_buffer_pointer()
        found = call(x, a)
        np.testing.assert_array_equal(found["y"], Y)
        assert x.is_deleted()
        assert found["same"] == 1
        assert found["y"].unsafe_buffer_pointer() == before


def test_an_input_that_is_not_donated_stays_what_it_is(f: Any) -> None:
    for call in (f, jax.jit(f)):
        x, a = arrays()
        found = call(x, a)
        np.testing.assert_array_equal(found["y"], Y)
        np.testing.assert_array_equal(x, X)
        assert found["same"] == 1, "the copy is what the component wrote over"
        assert found["y"].unsafe_buffer_pointer() != x.unsafe_buffer_pointer()


def test_an_input_that_is_needed_later_or_given_twice_is_copied(f: Any) -> None:
    def later(x: Any, a: Any) -> Any:
        y = f(x, a)["y"]
        return y, x * 2, f(x, a * 2)["y"]

    x, a = arrays()
    y, double, other = jax.jit(later, donate_argnums=0)(x, a)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(double, 2 * X)
    np.testing.assert_array_equal(other, Y + (X**2)[::-1])

    twice = jax.jit(lambda x: f(x, x)["y"], donate_argnums=0)
    np.testing.assert_array_equal(twice(arrays()[0]), X + X[::-1])


def test_a_loop_needs_no_other_buffer(f: Any) -> None:
    def loop(x: Any, a: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            out = f(c, a)
            return out["y"], out["same"]

        return jax.lax.scan(step, x, None, length=5)

    x, a = arrays()
    before = x.unsafe_buffer_pointer()
    y, same = jax.jit(loop, donate_argnums=0)(x, a)
    np.testing.assert_array_equal(y, X + 5 * (X**2)[::-1])
    assert same.tolist() == [1] * 5
    assert y.unsafe_buffer_pointer() == before


def test_other_types_and_mapped_calls_are_not_in_place(f: Any) -> None:
    x, a = arrays()
    found = jax.jit(f, donate_argnums=0)(x.astype(jnp.float32), a)
    np.testing.assert_array_equal(found["y"], Y)
    assert found["same"] == 0
    rows = jnp.stack([x, 2 * x])
    found = jax.jit(jax.vmap(f, (0, None)), donate_argnums=0)(rows, a)
    np.testing.assert_array_equal(found["y"], np.stack([Y, Y + X]))
    assert found["same"].tolist() == [0, 0]


def test_derivatives_and_shards(f: Any) -> None:
    x, a = arrays()
    y, pull = jax.vjp(lambda x: f(x, a)["y"], x)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(pull(a)[0], X**2)
    mesh = jax.make_mesh((2,), ("i",))
    part = jax.sharding.PartitionSpec("i")
    where = jax.sharding.NamedSharding(mesh, part)
    shards = jax.shard_map(lambda x, a: f(x, a)["y"], mesh=mesh, in_specs=part, out_specs=part)
    found = jax.jit(shards, donate_argnums=0)(jax.device_put(x, where), jax.device_put(a, where))
    np.testing.assert_array_equal(found, X + (X**2).reshape(2, -1)[:, ::-1].reshape(-1))


def test_without_it_a_donated_input_is_not_shared() -> None:
    found = jax.jit(opened(), donate_argnums=0)(*arrays())
    np.testing.assert_array_equal(found["y"], Y)
    assert found["same"] == 0


@pytest.mark.parametrize(
    ("in_place", "match"),
    [
        ({"z": "x"}, "no output 'z' that is an array; it has y, same"),
        ({"y": "x.[0]"}, r"no input 'x\.\[0\]' that is an array; it has x, a, k"),
        ({"y": 5}, "no input 5"),
        ({"y": "k"}, "'y' is float64 and input 'k' is float32"),
        ({"same": "x"}, "'same' is int64"),
        ({"same": "x", "y": "x"}, "two outputs can't have the memory of one input"),
    ],
)
def test_what_can_not_be_is_refused(in_place: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        opened(in_place=in_place)


def test_components_that_do_not_allow_it_are_refused(tmp_path: Path) -> None:
    square = Tesseract.from_library(jax_support.plugin("square"))
    with pytest.raises(ValueError, match=r"square can't .* doesn't say \"overlap\": true"):
        register(square, in_place={"y": "x"})
    with pytest.raises(ValueError, match="overlap"):
        jax_support.open_("noop", tmp_path, in_place={"y": "x"})
