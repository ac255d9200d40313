"""Memory: whose it is that components see, and that nothing of it changes or is changed."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import jax_support
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp
from tesseract_host import Tesseract
from tesseract_host.jax import apply_tesseract

PLUGINS = Path(os.environ.get("TESSERACT_HOST_TEST_PLUGINS", ""))

LANES = ["python", "carrier", "native"]


@pytest.fixture(autouse=True)
def _adapter_is_there() -> None:
    jax_support.needs_adapter()


@pytest.fixture
def addresses() -> Any:
    """The native component that tells the addresses it sees, as a function of x and factor."""
    file = PLUGINS / "libaddresses.so"
    if not file.exists():
        pytest.skip(f"{file} is not built")
    tesseract = Tesseract.from_library(file)
    return lambda x, factor: apply_tesseract(tesseract, {"x": x, "factor": factor})


def beside(x: Any) -> Any:
    """Zero, by enough work to have the program run on a thread of the pool."""
    m = jnp.ones((100, 100), x.dtype) * jnp.sum(x)
    return 0 * (m @ m)[0, 0]


# Whether programs are run by their caller or by a thread of the pool.
WHERE = {"caller": lambda x: 0.0, "pool": beside}


@pytest.fixture(params=WHERE)
def extra(request: pytest.FixtureRequest) -> Any:
    return WHERE[request.param]


# ---- Native components --------------------------------------------------------------------------


def test_native_components_see_the_memory_of_xla(addresses: Any, extra: Any) -> None:
    x, factor = jnp.arange(1000, dtype=jnp.float32), jnp.float32(3)
    out, _ = jax.jit(lambda x, f: (addresses(x, f), extra(x)))(x, factor)
    arrays = (x, factor, out["y"], out["twice"], out["seen"])
    assert out["seen"].tolist() == [array.unsafe_buffer_pointer() for array in arrays]
    jax_support.same([out["y"], out["twice"]], [x * 3, factor * 2])


def test_elements_of_a_batch_are_seen_in_place(addresses: Any) -> None:
    x, factor = jnp.ones((4, 256), jnp.float32), jnp.float32(2)
    out = jax.jit(jax.vmap(addresses, (0, None)))(x, factor)
    rows = [(x, 1024), (factor, 0), (out["y"], 1024), (out["twice"], 4), (out["seen"], 40)]
    for row, seen in enumerate(out["seen"].tolist()):
        assert seen == [array.unsafe_buffer_pointer() + step * row for array, step in rows]


def test_a_donated_array_is_where_a_result_goes(addresses: Any) -> None:
    function = jax.jit(lambda x, f: addresses(x, f)["y"], donate_argnums=0)
    for n in (3, 100_000):
        x = jnp.arange(n, dtype=jnp.float32)
        before = x.unsafe_buffer_pointer()
        y = function(x, jnp.float32(2))
        jax_support.same(y, 2 * jnp.arange(n, dtype=jnp.float32))
        assert x.is_deleted() and y.unsafe_buffer_pointer() == before


def test_native_components_take_what_xla_lays_out_otherwise(addresses: Any, extra: Any) -> None:
    x = jnp.arange(12, dtype=jnp.float32).reshape(3, 4)
    function = jax.jit(jax.vmap(lambda x, f: addresses(x, f)["y"] + extra(x), (1, None), 1))
    jax_support.same(function(x, jnp.float32(2)), 2 * x)


# ---- Python modules -----------------------------------------------------------------------------

SEES = """
class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]
    s: Float64 = 1.0
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]
kept = []
def apply(inputs):
    s = np.asarray(inputs.s)
    calls.append(("apply", inputs.x.__array_interface__["data"], inputs.x.shape, s.shape))
    return {"y": inputs.x * inputs.s}
def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    seed = cotangent_vector["y"]
    calls.append(("vjp", inputs.x.__array_interface__["data"], seed.flags.writeable))
    return {"x": seed * inputs.s}
"""


@pytest.mark.parametrize("lane", LANES)
def test_python_modules_see_the_memory_of_xla(lane: str, extra: Any, tmp_path: Path) -> None:
    component = jax_support.open_(SEES, tmp_path, lane=lane)
    x, s = jnp.arange(1000.0), jnp.float64(2.0)
    function = jax.jit(lambda x, s: component({"x": x, "s": s})["y"] + extra(x))
    jax.block_until_ready(function(x, s))  # the first call of an endpoint is made on copies
    made = component.calls(lambda: function(x, s))
    assert made == [("apply", (x.unsafe_buffer_pointer(), True), (1000,), ())]

    gradient = jax.jit(jax.grad(lambda x: component({"x": x, "s": s})["y"].sum() + extra(x)))
    jax.block_until_ready(gradient(x))
    made = component.calls(lambda: gradient(x))
    assert made == [("vjp", (x.unsafe_buffer_pointer(), True), False)]


@pytest.mark.parametrize("lane", LANES)
def test_elements_of_a_batch_are_seen_in_place_by_python(lane: str, tmp_path: Path) -> None:
    component = jax_support.open_(SEES, tmp_path, lane=lane)
    x = jnp.ones((3, 100))
    function = jax.jit(jax.vmap(lambda x: component({"x": x})["y"]))
    jax.block_until_ready(function(x))
    made = component.calls(lambda: function(x))
    start = x.unsafe_buffer_pointer()
    assert [call[1] for call in made] == [(start + 800 * row, True) for row in range(3)]


WRITES = """
class InputSchema(BaseModel):
    x: Array[(None,), Float64]
    how: str
class OutputSchema(BaseModel):
    y: Array[(None,), Float64]
def apply(inputs):
    x = inputs.x
    try:
        if inputs.how == "element":
            x[0] = 5.0
        elif inputs.how == "in place":
            x += 1
        elif inputs.how == "out":
            np.add(x, 1, out=x)
        elif inputs.how == "flag":
            x.flags.writeable = True
            x[:] = 5.0
        elif inputs.how == "base":
            base = x
            while isinstance(base.base, np.ndarray):
                base = base.base
            base.flags.writeable = True
            base[...] = 5.0
        elif inputs.how == "view":
            view = x.view(np.int64)[::2].reshape(-1)
            view[:] = 5
        return {"y": np.full(x.shape, -9.0)}
    except ValueError as error:
        calls.append(str(error))
        return {"y": x}
def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
"""


@pytest.mark.parametrize("how", ["element", "in place", "out", "flag", "base", "view"])
@pytest.mark.parametrize("lane", LANES)
def test_inputs_are_read_only_and_unchanged(
    lane: str, how: str, extra: Any, tmp_path: Path
) -> None:
    component = jax_support.open_(WRITES, tmp_path, lane=lane)
    x = jnp.arange(1.0, 100.0)
    function = jax.jit(lambda x: component({"x": x, "how": how})["y"] + extra(x))
    for _ in range(3):  # by both ways of the loader
        y = function(x)
        jax_support.same(x, jnp.arange(1.0, 100.0))
    refused = [call for call in component.module.calls if call != "abstract_eval"]
    assert len(refused) == 3 and not (np.asarray(y) == -9.0).any()


KEEPS = """
class InputSchema(BaseModel):
    x: Array[(None,), Float64]
class OutputSchema(BaseModel):
    y: Array[(None,), Float64]
kept = []
state = None
def apply(inputs):
    global state
    kept.append(inputs.x if len(kept) % 2 else inputs.x[1:])
    if state is None:
        state = np.zeros(inputs.x.shape)
    state += 1
    return {"y": state}
def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
"""


@pytest.mark.parametrize("donate", [False, True])
@pytest.mark.parametrize("lane", LANES)
def test_what_a_module_keeps_is_its_own(
    lane: str, donate: bool, extra: Any, tmp_path: Path
) -> None:
    """Inputs that it keeps, and an output that it goes on to change."""
    component = jax_support.open_(KEEPS, tmp_path, lane=lane)
    function = jax.jit(
        lambda x: component({"x": x})["y"] + extra(x), donate_argnums=(0,) if donate else ()
    )
    results = []
    for n in range(6):
        x = jnp.full(50_000, float(n))
        results.append(jax.block_until_ready(function(x)))
        del x
    gc.collect()
    other = [jax.block_until_ready(jnp.full(50_000, 77.0)) for _ in range(8)]
    for n, array in enumerate(component.module.kept):
        np.testing.assert_array_equal(array, np.full(50_000 - (1 - n % 2), float(n)))
    for n, result in enumerate(results):
        np.testing.assert_array_equal(result, np.full(50_000, n + 1.0))
    del other


# ---- Values -------------------------------------------------------------------------------------

PASSES = """
class InputSchema(BaseModel):
    x: Array[(None,), Float32]
    s: Float32
class OutputSchema(BaseModel):
    y: Array[(None,), Float32]
    t: Float32
    n: Int64
def apply(inputs):
    return {"y": inputs.x * np.float32(inputs.s), "t": inputs.s, "n": inputs.x.size}
def abstract_eval(abstract_inputs):
    return {
        "y": {"shape": abstract_inputs.x.shape, "dtype": "float32"},
        "t": {"shape": (), "dtype": "float32"},
        "n": {"shape": (), "dtype": "int64"},
    }
"""


@pytest.fixture(params=[*LANES, "plugin"])
def times(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """x * s in single precision, by a component in each lane."""
    if request.param == "plugin":
        call = request.getfixturevalue("addresses")
        return lambda x, s: call(x, s)["y"]
    component = jax_support.open_(PASSES, tmp_path, lane=request.param)
    return lambda x, s: component({"x": x, "s": s})["y"]


def test_denormal_numbers_are_numbers_in_a_component(times: Any, extra: Any) -> None:
    x = np.array([1e-40, -1e-40, 1e-45, 1.5], np.float32)
    function = jax.jit(lambda x, s: (times(x, s), x * s, extra(x)))
    for _ in range(3):
        ours, theirs, _ = function(x, np.float32(1))
        np.testing.assert_array_equal(np.asarray(ours).view(np.int32), x.view(np.int32))
    # What XLA computes beside it is as it would be without: it flushes them.
    alone = jax.jit(lambda x, s: x * s)(x, np.float32(1))
    np.testing.assert_array_equal(np.asarray(theirs), np.asarray(alone))


def test_denormal_numbers_in_a_loop_and_a_batch(times: Any) -> None:
    x = np.full((3, 4), 1e-40, np.float32)
    one = np.float32(1)
    rows = jax.jit(jax.vmap(lambda x: times(x, one)))(x)
    np.testing.assert_array_equal(np.asarray(rows).view(np.int32), x.view(np.int32))
    step = lambda c, _: (times(c, one), None)  # noqa: E731
    last = jax.jit(lambda x: jax.lax.scan(step, x, None, length=4)[0])(x[0])
    np.testing.assert_array_equal(np.asarray(last).view(np.int32), x[0].view(np.int32))


def test_what_is_not_finite_passes(times: Any, extra: Any) -> None:
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 3.0], np.float32)
    found = np.asarray(jax.jit(lambda x, s: times(x, s) + extra(0 * s))(x, np.float32(1)))
    np.testing.assert_array_equal(found, x)
    found = np.asarray(jax.jit(times)(x, np.float32(1)))
    np.testing.assert_array_equal(np.signbit(found[1:]), np.signbit(x[1:]))


def test_arrays_without_elements(times: Any, extra: Any) -> None:
    x = jnp.zeros(0, jnp.float32)
    for _ in range(3):
        y = jax.jit(lambda x, s: times(x, s) + extra(x))(x, jnp.float32(2))
        assert y.shape == (0,) and y.dtype == jnp.float32
    assert jax.jit(jax.vmap(times, (0, None)))(jnp.zeros((0, 3), jnp.float32), 2).shape == (0, 3)
    assert jax.jit(jax.vmap(times, (0, None)))(jnp.zeros((3, 0), jnp.float32), 2).shape == (3, 0)


@pytest.mark.parametrize("lane", LANES)
def test_empty_arrays_beside_full_ones(lane: str, tmp_path: Path) -> None:
    component = jax_support.open_(PASSES, tmp_path, lane=lane)
    function = jax.jit(lambda x, s: component({"x": x, "s": s}))
    for n in (0, 2, 0):
        out = function(jnp.ones(n, jnp.float32), jnp.float32(2.5))
        assert out["t"].shape == () and out["t"] == 2.5 and out["n"] == n
        assert out["y"].tolist() == [2.5] * n


def test_empty_arrays_beside_full_ones_in_native_components(addresses: Any) -> None:
    out = jax.jit(addresses)(jnp.zeros(0, jnp.float32), jnp.float32(2.5))
    assert out["y"].shape == (0,) and out["twice"] == 5.0
    assert out["seen"][4] == out["seen"].unsafe_buffer_pointer()


def test_donated_arrays_give_right_values(times: Any, extra: Any) -> None:
    def steps(x: Any, s: Any) -> Any:
        first = times(x, s)
        return times(first, s) + extra(x), first

    function = jax.jit(steps, donate_argnums=0)
    for n in (5, 100_000):
        x = np.arange(n, dtype=np.float32)
        second, first = function(jnp.array(x), jnp.float32(3))
        np.testing.assert_array_equal(second, 9 * x)
        np.testing.assert_array_equal(first, 3 * x)


def test_numpy_arrays_at_any_address(times: Any) -> None:
    memory = np.zeros(512, np.uint8)
    start = -memory.ctypes.data % 64
    function = jax.jit(times)
    for offset in (0, 4, 8, 32, 60):
        x = memory[start + offset : start + offset + 256].view(np.float32)
        x[:] = np.arange(64)
        np.testing.assert_array_equal(function(x, np.float32(2)), 2 * np.arange(64))
        np.testing.assert_array_equal(function(x[::2], np.float32(2)), 4 * np.arange(32))
