"""Failures inside of compiled programs: what they say, and that nothing is broken afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from typing import Any

import jax_support
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp

RAISES = """
class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]
    how: str = "value"
    @model_validator(mode="after")
    def _positive(self):
        if self.how == "validator" and np.any(np.asarray(self.x) == 7):
            raise ValueError("seven is not allowed")
        return self
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]
def deep(how):
    if how == "value":
        raise ValueError("the matrix is singular")
    if how == "not implemented":
        raise NotImplementedError("only in two dimensions")
    if how == "memory":
        raise MemoryError("no room")
    if how == "exit":
        raise SystemExit(3)
    if how == "interrupt":
        raise KeyboardInterrupt
def apply(inputs):
    deep(inputs.how)
    if inputs.how == "shape":
        return {"y": inputs.x[:1]}
    if inputs.how == "missing":
        return {}
    if inputs.how == "nothing":
        return None
    return {"y": inputs.x * 2}
def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    if inputs.how == "vjp shape":
        return {"x": cotangent_vector["y"][:1]}
    if inputs.how == "vjp missing":
        return {}
    if inputs.how == "vjp value":
        raise ValueError("no gradient here")
    return {"x": 2 * cotangent_vector["y"]}
"""


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("value", "the matrix is singular"),
        ("not implemented", "only in two dimensions"),
        ("memory", "no room"),
        ("exit", "SystemExit"),
        ("shape", "y"),
        ("missing", "y"),
        ("nothing", "apply"),
    ],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_failures_of_apply(opened: Any, how: str, text: str, compiled: bool) -> None:
    component = opened(RAISES)
    name = component.tesseract._client.component.name

    def f(x: Any, how: str) -> Any:
        return component({"x": x, "how": how})["y"]

    function = jax.jit(f, static_argnums=1) if compiled else f
    x = jnp.ones(2)
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        jax.block_until_ready(function(x, how))
    assert text in str(caught.value) and "apply" in str(caught.value) and name in str(caught.value)
    if how == "value":
        assert 'raise ValueError("the matrix is singular")' in str(caught.value)
    jax_support.same(function(x, "fine"), x * 2)


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where this process has inherited that it be ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize("compiled", [False, True])
def test_an_interrupt_reaches_the_caller(opened: Any, compiled: bool) -> None:
    component = opened(RAISES)
    f = lambda x: component({"x": x, "how": "interrupt"})["y"]  # noqa: E731

    def run() -> None:
        try:
            jax.block_until_ready((jax.jit(f) if compiled else f)(jnp.ones(2)))
        except jax.errors.JaxRuntimeError as error:
            assert "KeyboardInterrupt" in str(error)
            time.sleep(1)

    with pytest.raises(KeyboardInterrupt):
        run()
    jax_support.same(component({"x": jnp.ones(2), "how": "fine"})["y"], jnp.full(2, 2.0))


@pytest.mark.parametrize(
    ("how", "text"),
    [("vjp shape", "x"), ("vjp missing", "x"), ("vjp value", "no gradient here")],
)
def test_failures_of_derivatives(opened: Any, how: str, text: str) -> None:
    component = opened(RAISES)
    f = lambda x, how: component({"x": x, "how": how})["y"].sum()  # noqa: E731
    gradient = jax.jit(jax.grad(f), static_argnums=1)
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        jax.block_until_ready(gradient(jnp.ones(2), how))
    assert text in str(caught.value)
    jax_support.same(gradient(jnp.ones(2), "fine"), jnp.full(2, 2.0))


def test_values_that_the_schema_refuses(opened: Any) -> None:
    component = opened(RAISES)
    f = jax.jit(lambda x: component({"x": x, "how": "validator"})["y"])
    jax_support.same(f(jnp.ones(2)), jnp.full(2, 2.0))
    with pytest.raises(jax.errors.JaxRuntimeError, match="seven is not allowed"):
        jax.block_until_ready(f(jnp.full(2, 7.0)))


def test_an_error_in_one_element_of_many(opened: Any) -> None:
    component = opened(RAISES)
    f = jax.jit(jax.vmap(lambda x: component({"x": x, "how": "validator"})["y"]))
    with pytest.raises(jax.errors.JaxRuntimeError, match="seven is not allowed"):
        jax.block_until_ready(f(jnp.arange(10.0).reshape(5, 2)))
    jax_support.same(f(jnp.ones((5, 2))), jnp.full((5, 2), 2.0))


def test_an_error_inside_of_a_loop(opened: Any) -> None:
    component = opened(RAISES)

    def step(c: Any, _: Any) -> Any:
        return component({"x": c, "how": "validator"})["y"] / 2 + 1, None

    f = jax.jit(lambda x: jax.lax.scan(step, x, None, length=10)[0])
    with pytest.raises(jax.errors.JaxRuntimeError, match="seven is not allowed"):
        jax.block_until_ready(f(jnp.ones(2)))
    jax_support.same(f(jnp.full(2, 10.0)), jnp.full(2, 20.0))


def test_a_schema_error_of_a_static_value_comes_when_tracing(opened: Any) -> None:
    from pydantic import ValidationError

    component = opened(RAISES)
    with pytest.raises(ValidationError, match="how"):
        jax.jit(lambda x: component({"x": x, "how": 3}))(jnp.ones(2))


def test_nan_and_infinity_pass(opened: Any) -> None:
    noop = opened("noop")
    x = jnp.asarray([np.nan, np.inf, -np.inf, -0.0])
    np.testing.assert_array_equal(jax.jit(lambda x: noop({"x": x})["y"])(x), x)


DENORMAL = """
class InputSchema(BaseModel):
    x: Array[(None,), Float32]
class OutputSchema(BaseModel):
    y: Array[(None,), Float32]
def apply(inputs):
    return {"y": inputs.x * np.float32(0.5)}
def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float32"}}
"""


def test_denormal_numbers_are_not_flushed_inside(
    opened: Any, request: pytest.FixtureRequest
) -> None:
    if request.node.callspec.params["lane"] == "client":
        pytest.skip("the floating-point mode is set by the adapter")
    component = opened(DENORMAL)
    x = np.full(3, 1e-40, np.float32)
    found = jax.jit(lambda x: component({"x": x})["y"])(x)
    np.testing.assert_array_equal(np.asarray(found), x * np.float32(0.5))
    assert float(np.asarray(found)[0]) > 0


def test_inputs_can_not_be_written_to(opened: Any) -> None:
    component = opened(
        """
        class InputSchema(BaseModel):
            x: Array[(None,), Float64]
        class OutputSchema(BaseModel):
            y: Array[(None,), Float64]
        def apply(inputs):
            inputs.x[0] = 5.0
            return {"y": inputs.x}
        def abstract_eval(abstract_inputs):
            return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
        """
    )
    x = jnp.ones(3)
    with pytest.raises(jax.errors.JaxRuntimeError, match="read-only"):
        jax.block_until_ready(jax.jit(lambda x: component({"x": x})["y"])(x))
    jax_support.same(x, jnp.ones(3))


def test_a_call_that_hangs_can_be_interrupted(lane: str, tmp_path: Any) -> None:
    """Ctrl-C ends it, by whatever exception, and the process lives on."""
    program = textwrap.dedent(
        f"""
        import _thread, signal, sys, threading, time
        sys.path.insert(0, {str(jax_support.MODULES.parent)!r})
        import jax, jax.numpy as jnp, jax_support, pathlib, os
        signal.signal(signal.SIGINT, signal.default_int_handler)  # may be inherited as ignored
        jax.config.update("jax_enable_x64", True)
        component = jax_support.open_('''
        import time
        class InputSchema(BaseModel):
            x: Array[(None,), Float64]
            slow: bool
        class OutputSchema(BaseModel):
            y: Array[(None,), Float64]
        def apply(inputs):
            end = time.monotonic() + 60
            while inputs.slow and time.monotonic() < end:
                time.sleep(0.01)
            return {{"y": inputs.x}}
        def abstract_eval(abstract_inputs):
            return {{"y": {{"shape": abstract_inputs.x.shape, "dtype": "float64"}}}}
        ''', pathlib.Path({str(tmp_path)!r}), lane={lane!r})
        x = jnp.ones(3)
        f = jax.jit(lambda x, slow: component({{"x": x, "slow": slow}})["y"], static_argnums=1)
        f(x, False)
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        begun = time.monotonic()
        try:
            jax.block_until_ready(f(x, True))
        except (KeyboardInterrupt, jax.errors.JaxRuntimeError) as error:
            assert "KeyboardInterrupt" in repr(error) or "nterrupt" in str(error), error
            try:  # JAX's callbacks keep interrupts, so that it comes a little later
                time.sleep(0.5)
            except KeyboardInterrupt:
                pass
        assert time.monotonic() - begun < 30
        assert f(x, False).sum() == 3
        print("alive")
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0 and "alive" in done.stdout, done.stdout + done.stderr
