"""Outputs: what is no array, what isn't known before the call, what is another than was said."""

from __future__ import annotations

import warnings
from typing import Any

import jax_support
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp

STATIC = """
class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]
    drift: bool = False
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]
    steps: int
    names: list[str]
    none: Optional[str] = None
def apply(inputs):
    calls.append("apply")
    return {"y": inputs.x * 2, "steps": 4 if inputs.drift else 3, "names": ["a", "b"]}
def abstract_eval(abstract_inputs):
    return {"y": abstract_inputs.x, "steps": 3, "names": ["a", "b"]}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return {"x": 2 * cotangent_vector["y"]}
"""


def test_outputs_that_are_no_arrays(opened: Any) -> None:
    component = opened(STATIC)
    seen: list[Any] = []

    def f(x: Any) -> Any:
        out = component({"x": x})
        seen.append({key: out[key] for key in ("steps", "names", "none")})
        return out["y"].sum()

    x = jnp.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jax.block_until_ready([f(x), jax.jit(f)(x), jax.grad(f)(x), jax.jit(jax.grad(f))(x)])
        jax.block_until_ready(jax.vmap(f)(jnp.ones((3, 2))))
    assert seen == [{"steps": 3, "names": ["a", "b"], "none": None}] * 5


@pytest.mark.parametrize("compiled", [False, True])
def test_another_value_in_the_call_is_warned_of(opened: Any, compiled: bool) -> None:
    component = opened(STATIC)

    def f(x: Any) -> Any:
        return component({"x": x, "drift": True})["y"]

    with pytest.warns(UserWarning, match="steps"):
        jax.block_until_ready((jax.jit(f) if compiled else f)(jnp.ones(2)))


def test_the_value_from_abstract_eval_is_what_callers_see(opened: Any) -> None:
    component = opened(STATIC)
    out: dict[str, Any] = {}

    def run() -> None:
        out.update(component({"x": jnp.ones(2), "drift": True}))
        jax.block_until_ready(out["y"])

    with pytest.warns(UserWarning, match="steps"):
        run()
    assert out["steps"] == 3


@pytest.mark.parametrize("way", ["argument", "environment"])
def test_the_comparison_can_be_switched_off(
    opened: Any, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    component = opened(STATIC)
    options = {"check_static_outputs": False} if way == "argument" else {}
    if way == "environment":
        monkeypatch.setenv("TESSERACT_JAX_CHECK_STATIC_OUTPUTS", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = component({"x": jnp.ones(2), "drift": True}, **options)
        jax.block_until_ready(out["y"])


WITHOUT = """
class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]
    n: int = 2
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]
    steps: int = 7
def apply(inputs):
    calls.append("apply")
    return {"y": np.tile(inputs.x, inputs.n)}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    calls.append("vjp")
    return {"x": cotangent_vector["y"].reshape(inputs.n, -1).sum(0)}
"""


def test_components_without_abstract_eval_in_eager_calls(opened: Any) -> None:
    component = opened(WITHOUT)
    x = jnp.arange(3.0)
    found: list[Any] = []
    made = component.calls(lambda: found.append(component({"x": x})["y"]) or found)
    assert made == ["apply"]
    jax_support.same(found[0], jnp.tile(x, 2))
    assert component({"x": x})["steps"] == 7


def test_shapes_without_abstract_eval_are_known_after_a_call(opened: Any) -> None:
    component = opened(WITHOUT)
    x = jnp.arange(3.0)
    f = lambda x: component({"x": x})["y"].sum()  # noqa: E731
    with pytest.raises(ValueError, match=r"does not support abstract_eval.*one call outside"):
        jax.jit(f)(x)
    with pytest.raises(ValueError, match="abstract_eval"):
        jax.grad(f)(x)
    f(x)
    jax_support.same(jax.jit(jax.grad(f))(x), jnp.full(3, 2.0))
    assert float(jax.jit(f)(x)) == 6.0


def test_shapes_that_depend_on_values_in_eager_calls(opened: Any) -> None:
    component = opened(
        """
        class InputSchema(BaseModel):
            x: Array[(None,), Float64]
        class OutputSchema(BaseModel):
            y: Array[(None,), Float64]
        def apply(inputs):
            return {"y": inputs.x[inputs.x > 0]}
        """
    )
    assert component({"x": jnp.asarray([1.0, -1.0])})["y"].shape == (1,)
    assert component({"x": jnp.asarray([1.0, 1.0])})["y"].shape == (2,)
    f = jax.jit(lambda x: component({"x": x})["y"])
    with pytest.raises(jax.errors.JaxRuntimeError, match="y"):
        jax.block_until_ready(f(jnp.asarray([-1.0, -1.0])))


def test_fixed_shapes_need_no_abstract_eval(opened: Any) -> None:
    component = opened(
        """
        class InputSchema(BaseModel):
            x: Differentiable[Array[(3,), Float64]]
        class OutputSchema(BaseModel):
            y: Differentiable[Float64]
        def apply(inputs):
            return {"y": inputs.x.sum()}
        def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
            return {"x": cotangent_vector["y"] * np.ones(3)}
        """
    )
    f = lambda x: component({"x": x})["y"]  # noqa: E731
    jax_support.same(jax.jit(jax.grad(f))(jnp.ones(3)), jnp.ones(3))


@pytest.mark.narrow
def test_wide_results_of_eager_calls(opened: Any) -> None:
    component = opened(WITHOUT)
    with pytest.raises(ValueError, match="jax_enable_x64"):
        component({"x": jnp.ones(2)})


LIES = """
class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]
    said: Literal["shape", "rank", "more"]
class OutputSchema(BaseModel):
    y: Differentiable[Array[..., Float64]]
    z: Optional[Array[(None,), Float64]] = None
def apply(inputs):
    return {"y": inputs.x * 2, "z": None}
def abstract_eval(abstract_inputs):
    n, = abstract_inputs.x.shape
    shape = {"shape": (n + 1,), "rank": (n, 1), "more": (n,)}[abstract_inputs.said]
    z = {"shape": (n,), "dtype": "float64"} if abstract_inputs.said == "more" else None
    return {"y": {"shape": shape, "dtype": "float64"}, "z": z}
"""


@pytest.mark.parametrize("said", ["shape", "rank", "more"])
def test_an_abstract_eval_that_lies(opened: Any, said: str) -> None:
    component = opened(LIES)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"[yz]"):
        jax.block_until_ready(component({"x": jnp.ones(3), "said": said}))


def test_errors_of_abstract_eval_come_as_they_are(opened: Any) -> None:
    component = opened(
        """
        class InputSchema(BaseModel):
            x: Array[(None,), Float64]
        class OutputSchema(BaseModel):
            y: Array[(None,), Float64]
        def apply(inputs):
            return {"y": inputs.x}
        def abstract_eval(abstract_inputs):
            raise ValueError("no shape today")
        """
    )
    from tesseract_host.exceptions import EndpointError

    for function in (component, jax.jit(component)):
        with pytest.raises(EndpointError, match="no shape today"):
            function({"x": jnp.ones(2)})


@pytest.mark.parametrize(
    "dtype",
    [
        "float16",
        "float32",
        "float64",
        "int8",
        "int64",
        "uint8",
        "uint64",
        "bool",
        "complex64",
        "complex128",
    ],
)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
def test_every_dtype_and_rank(opened: Any, dtype: str, shape: Any) -> None:
    component = opened(
        f"""
        class InputSchema(BaseModel):
            x: Array[..., "{dtype}"]
        class OutputSchema(BaseModel):
            y: Array[..., "{dtype}"]
        def apply(inputs):
            return {{"y": inputs.x}}
        def abstract_eval(abstract_inputs):
            return {{"y": abstract_inputs.x}}
        """
    )
    x = jnp.asarray(np.ones(shape), dtype)
    jax_support.same(component({"x": x})["y"], x)
    jax_support.same(jax.jit(lambda x: component({"x": x})["y"])(x), x)
