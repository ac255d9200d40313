"""The lanes: buffers that pass straight through, names in programs, state, threads, life."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import jax_support
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp
from jax import export
from tesseract_host import Tesseract
from tesseract_host.jax import _adapter, _lowering, apply_tesseract, register


@pytest.fixture(autouse=True)
def _adapter_is_there() -> None:
    jax_support.needs_adapter()


def open_(module: str, folder: Path, **options: Any) -> jax_support.Opened:
    return jax_support.open_(module, folder, **options)


ADDRESS = """
class InputSchema(BaseModel):
    x: Array[(None,), Float64]
class OutputSchema(BaseModel):
    y: Array[(None,), Float64]
def apply(inputs):
    calls.append((inputs.x.ctypes.data, inputs.x.flags.writeable))
    return {"y": inputs.x}
def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
"""


@pytest.mark.parametrize("lane", ["python", "carrier", "native"])
def test_the_module_sees_the_memory_of_the_array(lane: str, tmp_path: Path) -> None:
    component = open_(ADDRESS, tmp_path, lane=lane)
    x = jnp.arange(100.0)
    function = jax.jit(lambda x: component({"x": x})["y"])
    jax.block_until_ready(function(x))
    found = component.calls(lambda: function(x))
    assert found == [(x.unsafe_buffer_pointer(), False)]


def test_the_lane_is_chosen_by_what_the_module_is(tmp_path: Path) -> None:
    plain = open_("noop", tmp_path)
    uses = open_("import jax\n" + jax_support.HEAD + ADDRESS, tmp_path / "uses")
    for component, lane in ((plain, "python"), (uses, "carrier")):
        component({"x": jnp.ones(3)})
        [spec] = component.tesseract._client._jax_handle.specs.values()
        assert _lowering.lane_of(spec) == lane
    with pytest.raises(ValueError, match="lane is 'fast'"):
        register(plain.tesseract, lane="fast")  # type: ignore[arg-type]


def text_of(component: Any, name: str = "x") -> str:
    return jax.jit(lambda x: component({name: x})["y"]).lower(jnp.ones(3)).as_text()


def test_programs_name_components_and_nothing_of_the_process(tmp_path: Path) -> None:
    component = open_("noop", tmp_path, lane="python")
    text = text_of(component)
    assert _adapter.TARGET in text and component.tesseract._client.identity in text
    assert "0x" not in text.replace("0x00", "")


PROGRAM = """
import sys, pathlib
sys.path.insert(0, {tests!r})
import jax, jax.numpy as jnp, jax_support, hashlib
from tesseract_host.jax import register
jax.config.update("jax_enable_x64", True)
names = {names!r}
opened = {{name: jax_support.open_(name, pathlib.Path("."), lane="python") for name in names}}
for name in sorted(names):
    component = opened[name]
    inputs = {{"x": jnp.ones(3)}} | ({{"a": jnp.ones(())}} if name == "two" else {{}})
    text = jax.jit(lambda i: component(i)["y"]).lower(inputs).as_text()
    print(name, hashlib.sha256(text.encode()).hexdigest())
"""


def run(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_programs_are_the_same_in_every_process() -> None:
    tests = str(Path(__file__).parent)
    first = run(PROGRAM.format(tests=tests, names=["noop", "two"]))
    second = run(PROGRAM.format(tests=tests, names=["two", "noop"]))
    assert first == second and first.count("\n") == 2


def test_equal_instances_are_told_apart(tmp_path: Path) -> None:
    first, second = (open_("noop", tmp_path, lane="python") for _ in range(2))
    assert text_of(first) != text_of(second)


# ---- State --------------------------------------------------------------------------------------

COUNTER = """
class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]
def apply(inputs):
    calls.append("apply")
    return {"y": inputs.x + len(calls)}
def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    calls.append("vjp")
    return {"x": cotangent_vector["y"]}
"""


@pytest.mark.parametrize("lane", ["python", "carrier", "native"])
def test_calls_of_a_stateful_component_are_neither_merged_nor_dropped(
    lane: str, tmp_path: Path
) -> None:
    component = open_(COUNTER, tmp_path, lane=lane, stateful=True)
    call = lambda x: component({"x": x})["y"]  # noqa: E731
    x = jnp.zeros(2)
    assert component.calls(lambda: jax.jit(lambda x: call(x) + call(x))(x)) == ["apply"] * 2
    for unused in (lambda x: (call(x), x)[1], lambda x: (jax.jit(call)(x), x)[1]):
        component.module.calls.clear()
        jax.block_until_ready(jax.jit(unused)(x))
        for _ in range(500):  # nothing that was returned waits for it
            if component.module.calls:
                break
            time.sleep(0.01)
        assert component.module.calls == ["apply"]
    gradient = jax.jit(jax.grad(lambda x: call(x).sum()))
    assert component.calls(lambda: gradient(x)) == ["apply", "vjp"]
    scan = jax.jit(lambda x: jax.lax.scan(lambda c, _: (c, call(x)[0]), x, None, length=4)[1])
    found: list[Any] = []
    assert component.calls(lambda: found.append(scan(x)) or found) == ["apply"] * 4
    np.testing.assert_array_equal(found[0], [1, 2, 3, 4])


def test_calls_of_others_are_merged_and_dropped(tmp_path: Path) -> None:
    component = open_(COUNTER, tmp_path)
    call = lambda x: component({"x": x})["y"]  # noqa: E731
    x = jnp.zeros(2)
    assert component.calls(lambda: jax.jit(lambda x: call(x) + call(x))(x)) == ["apply"]
    assert component.calls(lambda: jax.jit(lambda x: (call(x), x)[1])(x)) == []


# ---- Life ---------------------------------------------------------------------------------------


def test_compiled_functions_keep_a_component_alive(tmp_path: Path) -> None:
    component = open_("noop", tmp_path)
    tesseract = component.tesseract
    function = jax.jit(lambda x, t=tesseract: apply_tesseract(t, {"x": x})["y"])
    function(jnp.ones(2))
    client = weakref.ref(tesseract._client)
    del component, tesseract
    gc.collect()
    assert client() is not None
    jax_support.same(function(jnp.ones(2)), jnp.ones(2))


@pytest.fixture
def _exports() -> None:
    pytest.importorskip("flatbuffers", reason="jax.export needs flatbuffers")


def exported(component: Any, *shapes: Any, **options: Any) -> Any:
    call = jax.jit(lambda x: component({"x": x})["y"])
    checks = [export.DisabledSafetyCheck.custom_call(_adapter.TARGET)]
    return export.export(call, disabled_checks=checks, **options)(*shapes)


@pytest.mark.usefixtures("_exports")
@pytest.mark.parametrize("lane", ["python", "carrier", "native"])
def test_programs_can_be_exported(lane: str, tmp_path: Path) -> None:
    component = open_("two", tmp_path, lane=lane)
    call = jax.jit(lambda x, a: component({"x": x, "a": a})["y"])
    checks = [export.DisabledSafetyCheck.custom_call(_adapter.TARGET)]
    x, a = jnp.arange(3.0), jnp.float64(2.0)
    data = export.export(call, disabled_checks=checks)(x, a).serialize(vjp_order=1)
    again = export.deserialize(data)
    jax_support.same(again.call(x, a), 2 * jnp.sin(x))
    jax_support.same(jax.grad(lambda x: again.call(x, a).sum())(x), 2 * jnp.cos(x))


@pytest.mark.usefixtures("_exports")
def test_programs_of_symbolic_size_can_be_exported(tmp_path: Path) -> None:
    component = open_("two", tmp_path, lane="python")
    checks = [export.DisabledSafetyCheck.custom_call(_adapter.TARGET)]
    a = jnp.float64(2.0)
    [length] = export.symbolic_shape("n")
    type_ = jax.ShapeDtypeStruct((length,), jnp.float64)
    plain = jax.jit(lambda x: component({"x": x, "a": a})["y"])
    loaded = export.deserialize(export.export(plain, disabled_checks=checks)(type_).serialize())
    for size in (2, 5):
        x = jnp.arange(float(size))
        jax_support.same(loaded.call(x), 2 * jnp.sin(x))
    type_ = jax.ShapeDtypeStruct((length, 3), jnp.float64)
    loaded = export.export(jax.jit(jax.vmap(plain)), disabled_checks=checks)(type_)
    for size in (1, 4):
        x = jnp.arange(3.0 * size).reshape(size, 3)
        jax_support.same(loaded.call(x), 2 * jnp.sin(x))


def test_shapes_that_depend_on_symbols_otherwise_are_refused(tmp_path: Path) -> None:
    component = open_(
        """
        class InputSchema(BaseModel):
            x: Array[(None,), Float64]
        class OutputSchema(BaseModel):
            y: Array[(None,), Float64]
        def apply(inputs):
            return {"y": np.tile(inputs.x, 2)}
        def abstract_eval(abstract_inputs):
            return {"y": {"shape": (2 * abstract_inputs.x.shape[0],), "dtype": "float64"}}
        """,
        tmp_path,
    )
    type_ = jax.ShapeDtypeStruct(export.symbolic_shape("n"), jnp.float64)
    with pytest.raises(ValueError, match="'y' has an axis whose length depends on symbolic"):
        exported(component, type_)


EXPORTING = """
import sys, pathlib
sys.path.insert(0, {tests!r})
import jax, jax.numpy as jnp, jax_support
from jax import export
from tesseract_host.jax import _adapter
jax.config.update("jax_enable_x64", True)
component = jax_support.open_("noop", None, lane="python")
checks = [export.DisabledSafetyCheck.custom_call(_adapter.TARGET)]
call = jax.jit(lambda x: component({{"x": x}})["y"])
program = export.export(call, disabled_checks=checks)(jnp.ones(3))
pathlib.Path({path!r}).write_bytes(program.serialize())
"""

IMPORTING = """
import sys, pathlib
sys.path.insert(0, {tests!r})
import jax, jax.numpy as jnp, jax_support
import tesseract_host.jax
from jax import export
jax.config.update("jax_enable_x64", True)
program = export.deserialize(pathlib.Path({path!r}).read_bytes())
try:
    jax.block_until_ready(program.call(jnp.ones(3)))
except jax.errors.JaxRuntimeError as error:
    print(error)
component = jax_support.open_("noop", None)
print(program.call(jnp.arange(3.0)))
"""


@pytest.mark.usefixtures("_exports")
def test_a_program_whose_component_is_not_open_says_which(tmp_path: Path) -> None:
    places = {"tests": str(Path(__file__).parent), "path": str(tmp_path / "program")}
    run(EXPORTING.format(**places))
    out = run(IMPORTING.format(**places))
    assert "FAILED_PRECONDITION" in out and "noop" in out and "register" in out
    assert "[0. 1. 2.]" in out


CHANGED = """
import sys, pathlib
import jax, jax.numpy as jnp
from jax import export
from tesseract_host import Tesseract
from tesseract_host.jax import _adapter, apply_tesseract, register
jax.config.update("jax_enable_x64", True)
tesseract = register(Tesseract.from_tesseract_api({module!r}), lane="python")
path = pathlib.Path({path!r})
if path.exists():
    program = export.deserialize(path.read_bytes())
    try:
        print(jax.block_until_ready(program.call(jnp.ones(3))))
    except jax.errors.JaxRuntimeError as error:
        print(error)
else:
    checks = [export.DisabledSafetyCheck.custom_call(_adapter.TARGET)]
    call = jax.jit(lambda x: apply_tesseract(tesseract, {{"x": x}})["y"])
    path.write_bytes(export.export(call, disabled_checks=checks)(jnp.ones(3)).serialize())
"""


@pytest.mark.usefixtures("_exports")
def test_a_program_does_not_call_another_version_of_its_component(tmp_path: Path) -> None:
    module = jax_support.source_of(ADDRESS, tmp_path)
    program = CHANGED.format(module=str(module), path=str(tmp_path / "program"))
    run(program)
    assert "[1. 1. 1.]" in run(program)
    module.write_text(module.read_text().replace("Float64", "Float32"))
    assert "FAILED_PRECONDITION" in run(program)


# ---- Threads ------------------------------------------------------------------------------------

BUSY = """
class InputSchema(BaseModel):
    x: Array[(None,), Float64]
class OutputSchema(BaseModel):
    y: Array[(None,), Float64]
inside = [0, 0]
def apply(inputs):
    inside[0] += 1
    inside[1] = max(inside)
    y = sum(inputs.x * k for k in range(200)) / 19900
    inside[0] -= 1
    return {"y": y}
def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
"""


@pytest.mark.parametrize("lane", ["python", "carrier", "native"])
def test_many_calls_in_one_program_and_many_threads(lane: str, tmp_path: Path) -> None:
    component = open_(BUSY, tmp_path, lane=lane)

    @jax.jit
    def function(x: Any) -> Any:
        m = jnp.ones((200, 200)) * x[0]
        rows = [component({"x": x * k + (m @ m)[k, k] * 0})["y"] for k in range(12)]
        return sum(rows)

    x = jnp.arange(1000.0)
    failures: list[Any] = []

    def loop() -> None:
        try:
            for _ in range(5):
                np.testing.assert_allclose(function(x), x * 66, rtol=1e-12)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=loop) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert failures == [] and component.module.inside == [0, 1]


NESTED = """
import jax, jax.numpy as jnp
inner = jax.jit(lambda x: jnp.sin(x) @ jnp.ones((x.shape[0], x.shape[0])))
class InputSchema(BaseModel):
    x: Array[(None,), Float64]
class OutputSchema(BaseModel):
    y: Array[(None,), Float64]
def apply(inputs):
    return {"y": np.asarray(inner(inputs.x))}
def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
"""


@pytest.mark.parametrize("pool", ["1", "2"])
def test_modules_that_use_jax(pool: str, tmp_path: Path) -> None:
    """In programs with work beside them, loops, and from two threads."""
    source = jax_support.source_of(NESTED, tmp_path)
    out = run(
        f"""
        import jax, jax.numpy as jnp, threading
        jax.config.update("jax_enable_x64", True)
        from tesseract_host import Tesseract
        from tesseract_host.jax import apply_tesseract
        t = Tesseract.from_tesseract_api({str(source)!r})
        call = lambda x: apply_tesseract(t, {{"x": x}})["y"]
        x = jnp.ones(8)
        def work():
            m = jnp.ones((300, 300))
            f = jax.jit(lambda x: sum(call(x + k) for k in range(12)).sum() + (m @ m).sum())
            g = jax.jit(lambda x: jax.lax.scan(lambda c, _: (call(c), None), x, None, length=20)[0])
            for _ in range(3):
                jax.block_until_ready((f(x), g(x)))
        threads = [threading.Thread(target=work) for _ in range(2)]
        [thread.start() for thread in threads]
        work()
        [thread.join() for thread in threads]
        print("done")
        """,
        NPROC=pool,
    )
    assert "done" in out


def test_collection_during_a_call(tmp_path: Path) -> None:
    component = open_(
        """
        import gc
        class InputSchema(BaseModel):
            x: Array[(None,), Float64]
        class OutputSchema(BaseModel):
            y: Array[(None,), Float64]
        def apply(inputs):
            gc.collect()
            return {"y": inputs.x}
        def abstract_eval(abstract_inputs):
            return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
        """,
        tmp_path,
    )
    for n in range(5):
        other = open_("noop", tmp_path / str(n))
        other({"x": jnp.ones(2)})
        del other
        jax_support.same(jax.jit(lambda x: component({"x": x})["y"])(jnp.ones(3)), jnp.ones(3))


def test_a_process_ends_with_calls_still_running(tmp_path: Path) -> None:
    source = jax_support.source_of(BUSY, tmp_path)
    run(
        f"""
        import jax, jax.numpy as jnp
        jax.config.update("jax_enable_x64", True)
        from tesseract_host import Tesseract
        from tesseract_host.jax import apply_tesseract
        t = Tesseract.from_tesseract_api({str(source)!r})
        f = jax.jit(lambda x: apply_tesseract(t, {{"x": x}})["y"])
        x = jnp.ones(100000)
        for _ in range(20):
            x = f(x)
        """
    )


def test_tesseracts_of_one_class_only() -> None:
    assert jax.tree.structure(object.__new__(Tesseract)).num_leaves == 0
