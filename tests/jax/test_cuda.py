"""Programs for CUDA, which are made and looked at here, and run where there is a GPU."""

from __future__ import annotations

import json
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
from tesseract_host.jax import _adapter, _host_carrier, _lowering, apply_tesseract, register

CHECKS = [
    export.DisabledSafetyCheck.custom_call(name) for name in (_adapter.TARGET, _adapter.CAPTURED)
]
X = np.arange(3.0)


def native(name: str, **options: Any) -> Any:
    tesseract = Tesseract.from_library(jax_support.plugin(name))
    register(tesseract, **options)
    return lambda x, **more: apply_tesseract(tesseract, {"x": x}, **more)["y"]


def program(function: Any, *arguments: Any, platform: str = "cuda") -> str:
    """The text of a function's program for a platform; nothing of that platform is needed."""
    text: str = jax.jit(function).trace(*arguments).lower(lowering_platforms=(platform,)).as_text()
    return text


def targets(text: str) -> list[str]:
    """The names of the foreign calls in a program."""
    return [part.split("(")[0] for part in text.split("custom_call @")[1:]]


def test_components_are_called_by_the_handler() -> None:
    f = native("square")
    for platform in ("cpu", "cuda"):
        assert targets(program(f, X, platform=platform)) == [_adapter.TARGET]
        gradient = jax.value_and_grad(lambda x: f(x).sum())
        assert targets(program(gradient, X, platform=platform)) == [_adapter.TARGET] * 2
        mapped = jax.vmap(f)
        assert targets(program(mapped, np.ones((2, 3)), platform=platform)) == [_adapter.TARGET]


def test_calls_that_may_be_captured_have_a_handler_that_says_so() -> None:
    f = native("capture_safe")
    functions = [f, jax.vmap(f), jax.grad(lambda x: f(x).sum())]
    for function, x in zip(functions, (X, np.ones((2, 3)), X), strict=True):
        assert targets(program(function, x)) == [_adapter.CAPTURED]
        assert targets(program(function, x, platform="cpu")) == [_adapter.TARGET]


def test_stateful_components_are_not_captured() -> None:
    """A graph that is replayed would not call them."""
    assert targets(program(native("capture_safe", stateful=True), X)) == [_adapter.TARGET]


@pytest.mark.parametrize("lane", ["python", "native"])
def test_modules_are_called_by_the_handler_that_is_not_captured(tmp_path: Path, lane: str) -> None:
    jax_support.needs_adapter()
    noop = jax_support.open_("noop", tmp_path, lane=lane)
    assert targets(program(lambda x: noop({"x": x}), X)) == [_adapter.TARGET]


@pytest.mark.parametrize("stream_ordered", [False, True])
def test_modules_opened_for_devices_too(stream_ordered: bool) -> None:
    """Never captured: a replayed graph would not call them."""
    jax_support.needs_adapter()
    tesseract = Tesseract.from_tesseract_api(
        jax_support.MODULES / "noop.py", gpu_transport="cuda_ipc", stream_ordered=stream_ordered
    )
    f = jax.jit(lambda x: apply_tesseract(tesseract, {"x": x})["y"])
    for function in (f, jax.jit(jax.grad(lambda x: f(x).sum()))):
        exported = export.export(function, platforms=["cuda"], disabled_checks=CHECKS)(X)
        assert targets(exported.mlir_module()) == [_adapter.TARGET]


def test_views_that_stage_have_calls_of_their_own() -> None:
    tesseract = Tesseract.from_library(jax_support.plugin("capture_safe"))
    staged = tesseract.with_encoding(gpu_transport="none")
    texts = [
        program(lambda x, each=each: apply_tesseract(each, {"x": x})["y"], X)
        for each in (tesseract, staged, tesseract)
    ]
    assert [targets(text) for text in texts] == [
        [_adapter.CAPTURED],
        [_adapter.TARGET],  # what waits is never captured
        [_adapter.CAPTURED],
    ]
    assert ["staged" in text for text in texts] == [False, True, False]
    again = staged.with_encoding(gpu_transport="cuda_ipc")
    assert program(lambda x: apply_tesseract(again, {"x": x})["y"], X) == texts[0]


@pytest.mark.parametrize("way", [{"stream": 1}, {"allow_copy": False}])
def test_views_by_with_calls_are_refused(way: dict[str, Any]) -> None:
    tesseract = Tesseract.from_library(jax_support.plugin("capture_safe"))
    with pytest.raises(ValueError, match="with_calls"):
        apply_tesseract(tesseract.with_calls(**way), {"x": X})
    apply_tesseract(tesseract.with_calls(stream=0, allow_copy=True), {"x": X})


def test_modules_that_use_jax_are_called_by_its_callback(tmp_path: Path) -> None:
    jax_support.needs_adapter()
    noop = jax_support.open_("noop", tmp_path, lane="carrier")
    assert targets(program(lambda x: noop({"x": x}), X)) == ["xla_buffer_python_gpu_callback"]


def test_what_goes_by_the_client_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_adapter, "missing", lambda: "switched off by a test")
    noop = jax_support.open_("noop", tmp_path)
    with pytest.raises(NotImplementedError, match=r"noop can't be .* for a GPU.*switched off"):
        program(lambda x: noop({"x": x}), X)


@pytest.mark.parametrize(("given", "stream"), [(0, 1), (2, 2), (0x7F00, 0x7F00)])
def test_the_callback_hands_on_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: int, stream: int
) -> None:
    jax_support.needs_adapter()
    carriers: list[Any] = []
    seen: list[Any] = []
    made = _host_carrier.host_carrier

    def recorded(*arguments: Any) -> Any:
        carriers.append(made(*arguments))
        return carriers[-1]

    monkeypatch.setattr(_lowering, "host_carrier", recorded)
    monkeypatch.setattr(_host_carrier, "_run_buffers", lambda: lambda *given: seen.append(given))
    noop = jax_support.open_("noop", tmp_path, lane="carrier")
    program(lambda x: noop({"x": x}), X)

    class Context:
        pass

    Context.stream = given  # type: ignore[attr-defined]
    [carrier] = carriers
    carrier(Context(), ("result",), "operand")
    [(_, _, *handed)] = seen
    assert handed == [("result",), ("operand",), stream, False]


def test_programs_for_cuda_are_exported(tmp_path: Path) -> None:
    pytest.importorskip("flatbuffers", reason="jax.export needs flatbuffers")
    for name, target in {"square": _adapter.TARGET, "capture_safe": _adapter.CAPTURED}.items():
        f = jax.jit(native(name))
        exported = export.export(f, platforms=["cuda"], disabled_checks=CHECKS)(X)
        assert targets(exported.mlir_module()) == [target]
        assert exported.platforms == ("cuda",)
        assert export.deserialize(exported.serialize()).platforms == ("cuda",)


def test_programs_for_both_are_exported_and_run_here() -> None:
    f = native("capture_safe")
    gradient = jax.jit(jax.grad(lambda x: (f(x) ** 2).sum()))
    for function, expected in ((jax.jit(f), X), (gradient, 2 * X)):
        both = export.export(function, platforms=["cpu", "cuda"], disabled_checks=CHECKS)(X)
        assert set(targets(both.mlir_module())) == {_adapter.TARGET, _adapter.CAPTURED}
        np.testing.assert_array_equal(both.call(jnp.asarray(X)), expected)


DRIVER = jax_support.PLUGINS.parent / "fake_cuda" / "libcuda.so.1"


def test_modules_get_copies_of_arrays_on_a_device() -> None:
    seen = json.loads(
        run_on_driver("on_device.py", jax_support.MODULES / "two.py", with_driver=True)
    )
    x = np.array([0.0, 0.5, 1.0])
    np.testing.assert_allclose(seen["y"], 2 * np.sin(x))
    np.testing.assert_allclose(seen["z"], [np.sum(x * x) + 0.5])
    assert seen["calls"].count("apply") == 1
    assert (seen["copies"], seen["faults"]) == (4, [])


def test_modules_opened_for_devices_get_xla_s_pointers() -> None:
    """And those that weren't, and views that stage, arrays on the host."""
    module = jax_support.MODULES.parents[1] / "gpu/modules/address/tesseract_api.py"
    lines = run_on_driver("pointers.py", module, with_driver=True).splitlines()
    rows = {row.pop("name"): row for row in map(json.loads, lines)}
    assert len(rows) == 5
    for name, row in rows.items():
        on_host = name in ("usual", "staged")
        assert row["target"] == _adapter.TARGET
        assert row["is_xla_s"] is not on_host and row["on_host"] == [int(on_host)], name
        # The results, two numbers of the module's on the host, are copied in each of three calls.
        assert row["copies"] == 3 * (2 + on_host), name
        assert row["faults"] == []


def test_programs_for_the_cpu_never_ask_for_a_driver() -> None:
    plugin = jax_support.plugin("capture_safe")
    assert run_on_driver("on_cpu.py", plugin, jax_support.MODULES / "noop.py") == "[]\n"


def run_on_driver(program: str, *arguments: Any, with_driver: bool = False) -> str:
    """What a program writes that could have the model of a driver."""
    jax_support.needs_adapter()
    if not DRIVER.exists():
        pytest.skip(f"{DRIVER} is not built")
    given = (DRIVER, *arguments) if with_driver else arguments
    return jax_processes.run(
        program, *given, TESSERACT_HOST_CUDA_DRIVER=str(DRIVER), JAX_PLATFORMS="cpu"
    )
