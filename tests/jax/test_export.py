"""Exported programs of modules that JAX's callback serves otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax_support
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp
from jax import export
from tesseract_host.jax import _adapter, _lowering

USES_JAX = """
import jax
import jax.numpy as jnp
class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]
    mode: Any = None
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]
@jax.jit
def value(x):
    return jnp.sin(x) * 2
def apply(inputs):
    calls.append("apply")
    return {"y": np.asarray(value(inputs.x))}
def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    calls.append("vjp")
    return {"x": np.asarray(jax.vjp(value, inputs.x)[1](cotangent_vector["y"])[0])}
"""

X = np.arange(3.0) + 0.5


def exported(function: Any) -> Any:
    checks = [export.DisabledSafetyCheck.custom_call(_adapter.TARGET)]
    return export.export(jax.jit(function), disabled_checks=checks)(jnp.asarray(X))


def test_modules_that_use_jax_are_exported_and_called(tmp_path: Path) -> None:
    pytest.importorskip("flatbuffers", reason="jax.export needs flatbuffers")
    jax_support.needs_adapter()
    component = jax_support.open_(USES_JAX, tmp_path)
    call = lambda x: component({"x": x})["y"]  # noqa: E731
    program = exported(call)
    [spec] = component.tesseract._client._jax_handle.specs.values()
    assert _lowering.lane_of(spec) == "carrier"
    assert _adapter.TARGET in program.mlir_module()
    assert "callback" not in program.mlir_module().replace("tesseract", "")
    blob = program.serialize(vjp_order=1)
    read = export.deserialize(blob)
    np.testing.assert_allclose(read.call(jnp.asarray(X)), 2 * np.sin(X), rtol=1e-12)
    gradient = jax.grad(lambda x: read.call(x).sum())(jnp.asarray(X))
    np.testing.assert_allclose(gradient, 2 * np.cos(X), rtol=1e-12)


def test_what_goes_by_the_client_can_not_be_exported(tmp_path: Path) -> None:
    jax_support.needs_adapter()
    component = jax_support.open_(USES_JAX, tmp_path)
    call = lambda x: component({"x": x, "mode": b"1"})["y"]  # noqa: E731
    np.testing.assert_allclose(call(jnp.asarray(X)), 2 * np.sin(X), rtol=1e-12)
    with pytest.raises(NotImplementedError, match=r"can't be exported: .* JSON doesn't hold"):
        exported(call)
