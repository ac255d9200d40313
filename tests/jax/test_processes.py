"""Programs that outlive a process, or what they call."""

from __future__ import annotations

import gc
import os
import shutil
from pathlib import Path
from typing import Any

import jax_processes
import jax_support
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp
from jax import export
from tesseract_host import Tesseract
from tesseract_host.jax import _adapter, _compat, apply_tesseract, register

PLUGINS = Path(os.environ.get("TESSERACT_HOST_TEST_PLUGINS", ""))
CHECKS = [export.DisabledSafetyCheck.custom_call(_adapter.TARGET)]


@pytest.fixture(autouse=True)
def _adapter_is_there() -> None:
    jax_support.needs_adapter()


@pytest.fixture
def _exports() -> None:
    pytest.importorskip("flatbuffers", reason="jax.export needs flatbuffers")


# ---- The cache of compiled programs -------------------------------------------------------------


@pytest.mark.parametrize("kind", ["native", "python", "straight", "carrier"])
def test_compiled_programs_are_found_by_other_processes(kind: str, tmp_path: Path) -> None:
    """Whatever else was opened before, in whatever order; programs have one text."""
    first = jax_processes.run("caches.py", kind, tmp_path, "late").split()
    second = jax_processes.run("caches.py", kind, tmp_path, "nested", "late").split()

    assert first[0] == second[0] and first[2] == second[2]
    # Up to JAX 0.10, no program with a callback of Python's is cached.
    keeps = kind in ("native", "straight") or _compat.VERSION >= (0, 11)
    assert (first[1], second[1]) == ("False", str(keeps))


def test_a_program_from_the_cache_calls_the_component_of_its_process(tmp_path: Path) -> None:
    """Programs of the carrier lane don't name it, so that those of other components are found."""
    first = jax_processes.run("caches.py", "carrier", tmp_path).split()
    other = jax_processes.run("caches.py", "other", tmp_path).split()
    assert float(first[2]) == 3 * 4950 + 3 * 100
    assert float(other[2]) == 3 * 4950 + 100


# ---- Exported programs --------------------------------------------------------------------------


def _source(kind: str) -> Path:
    if kind == "python":
        return jax_support.MODULES / "two.py"
    file = PLUGINS / "libsquare.so"
    if not file.exists():
        pytest.skip(f"{file} is not built")
    return file


@pytest.mark.usefixtures("_exports")
@pytest.mark.parametrize("kind", ["native", "python"])
def test_exported_programs_run_in_another_process(kind: str, tmp_path: Path) -> None:
    """Of any size, batched, and with their gradient."""
    source = _source(kind)
    jax_processes.run("exports.py", "export", tmp_path, source)
    assert jax_processes.run("exports.py", "run", tmp_path, source) == "right\n"

    out = jax_processes.run("exports.py", "run without", tmp_path, source)
    name = "two" if kind == "python" else "square"
    for error in out.splitlines()[:2]:
        assert error.startswith("FAILED_PRECONDITION") and f"'{name}'" in error
        assert "not open in this process" in error and "register" in error
    assert out.endswith("right\n")


MODULE = """
class InputSchema(BaseModel):
    x: Array[(None,), Float64]
class OutputSchema(BaseModel):
    y: Array[(None,), Float64]
def apply(inputs):
    return {"y": inputs.x + 1}
def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
"""
# The same file, later: other values, or another schema.
LATER = {
    "other values": MODULE.replace("x + 1", "x + 2"),
    "another dtype": MODULE.replace("Float64", "Float32").replace("float64", "float32"),
    "another rank": MODULE.replace("(None,)", "(None, None)"),
    "another name": MODULE.replace("x: Array", "z: Array").replace("inputs.x", "inputs.z"),
}


def compiled(component: Any) -> Any:
    return jax.jit(lambda x: component({"x": x})["y"])


@pytest.fixture
def edited(tmp_path: Path, lane: str) -> Any:
    """Opens a source that stands in one and the same file."""

    def open_(source: str) -> Any:
        shutil.rmtree(tmp_path / "a", ignore_errors=True)
        return jax_support.open_(source, tmp_path / "a", lane=lane)

    return open_


@pytest.mark.parametrize("later", LATER)
def test_a_compiled_function_keeps_the_component_it_was_compiled_with(
    edited: Any, later: str
) -> None:
    function = compiled(edited(MODULE))
    x = jnp.arange(3.0)
    jax_support.same(function(x), x + 1)
    gc.collect()
    edited(LATER[later])
    jax_support.same(function(x), x + 1)


@pytest.mark.usefixtures("_exports")
@pytest.mark.parametrize("lane", ["python"])
@pytest.mark.parametrize("later", LATER)
def test_an_exported_program_does_not_call_another_component(edited: Any, later: str) -> None:
    source = f"{MODULE}# exported before {later}\n"  # of which no other test has left an instance
    component = edited(source)
    identity = component.tesseract._client.identity
    program = export.deserialize(
        export.export(compiled(component), disabled_checks=CHECKS)(jnp.ones(3)).serialize()
    )
    jax_support.same(program.call(jnp.ones(3)), jnp.full(3, 2.0))
    del component
    jax.clear_caches()
    gc.collect()
    other = edited(LATER[later])
    register(other.tesseract)
    assert other.tesseract._client.identity != identity

    with pytest.raises(Exception, match=r"FAILED_PRECONDITION.*'a'.*not open in this process"):
        jax.block_until_ready(program.call(jnp.ones(3)))
    again = edited(source)
    assert again.tesseract._client.identity == identity
    jax_support.same(program.call(jnp.ones(3)), jnp.full(3, 2.0))


@pytest.mark.usefixtures("_exports")
def test_options_are_a_part_of_what_a_program_names() -> None:
    file = PLUGINS / "libstateful.so"
    if not file.exists():
        pytest.skip(f"{file} is not built")
    opened = [Tesseract.from_library(file, options={"gain": gain}) for gain in (2.0, 3.0)]
    programs = []
    for tesseract in opened:
        call = jax.jit(lambda x, t=tesseract: apply_tesseract(t, {"x": x})["y"])
        data = export.export(call, disabled_checks=CHECKS)(jnp.ones(2)).serialize()
        programs.append(export.deserialize(data))
    for gain, program in zip((2.0, 3.0), programs, strict=True):
        np.testing.assert_array_equal(program.call(jnp.ones(2)), np.full(2, gain))
