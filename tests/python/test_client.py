"""`Tesseract`: what holds for tesseract-core's class holds for ours."""

from __future__ import annotations

import contextlib
import copy
import gc
import importlib
import importlib.util
import pickle
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import support
from pydantic import ValidationError

MODULE = """
from tesseract_core.runtime.config import get_config
class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), "float64"]]
    c: float = 2.0
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), "float64"]]
    note: str = ""
calls = []
def apply(inputs):
    calls.append(inputs)
    if inputs.c == 13:
        raise KeyError("unlucky")
    if inputs.c == 14:
        raise SystemExit(3)
    if inputs.c == 15:
        return {"y": "no array"}
    print("printed", inputs.c)
    return OutputSchema(y=inputs.c * inputs.x)
def jacobian(inputs, jac_inputs, jac_outputs):
    n = len(inputs.x)
    return {o: {i: inputs.c * np.eye(n) for i in jac_inputs} for o in jac_outputs}
def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    return {o: inputs.c * tangent_vector["x"] for o in jvp_outputs}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return {i: inputs.c * cotangent_vector["y"] for i in vjp_inputs}
def abstract_eval(abstract_inputs):
    return {"y": abstract_inputs.x}
"""

ONLY_APPLY = support.schema_source("x: int = 0", "c: Any = None", "return {'c': get_config()}")
ONLY_APPLY = "from tesseract_core.runtime.config import get_config\n" + ONLY_APPLY

POINT = {"x": [1.0, 2.0]}


def configuration(opened: Any) -> SimpleNamespace:
    """What the module ONLY_APPLY sees by `get_config`."""
    return SimpleNamespace(**opened.apply({})["c"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return support.write(tmp_path / "component", MODULE)


@pytest.fixture
def opened(both: Any, path: Path) -> Any:
    return both.from_tesseract_api(path)


# ---- Endpoints ---------------------------------------------------------------------------------


def test_apply(opened: Any) -> None:
    x = np.array([1.0, 2.0])
    result = opened.apply({"x": x, "c": 3})
    assert support.same(result, {"y": np.array([3.0, 6.0]), "note": ""})
    assert support.same(opened.apply(inputs={"x": x}, run_id="r"), opened.apply({"x": x}, "q"))
    assert x.flags.writeable


def test_what_the_module_gets(opened: Any) -> None:
    import tesseract_api

    x = np.array([1.0, 2.0])
    for given in (x, x[::-1], x.astype("float32"), [1.0, 2.0], x.view(np.matrix).base):
        opened.apply({"x": given})
        seen = tesseract_api.calls[-1].x
        assert type(seen) is np.ndarray and seen.flags.c_contiguous
        if isinstance(given, np.ndarray) and given.dtype == "float64":
            assert not seen.flags.writeable and given.flags.writeable
            with pytest.raises(ValueError, match="read-only"):
                seen[0] = 5
    assert support.same(x, np.array([1.0, 2.0]))
    assert type(tesseract_api.calls[-1]).__name__ == "Apply_InputSchema"
    assert isinstance(tesseract_api.calls[-1], tesseract_api.InputSchema)


def test_results_may_share_memory(both: Any, tmp_path: Path) -> None:
    source = support.schema_source(
        "x: Array[(None,), 'float64']", "y: Array[(None,), 'float64']", "return {'y': inputs.x}"
    )
    opened = both.from_tesseract_api(support.write(tmp_path / "same", source))
    x = np.arange(3.0)
    y = opened.apply({"x": x})["y"]
    assert support.same(x, y) and np.shares_memory(x, y) and not y.flags.writeable


@pytest.mark.parametrize("kind", [list, tuple, set])
def test_derivatives(opened: Any, kind: Callable[[list[str]], Any]) -> None:
    x, y = kind(["x"]), kind(["y"])
    jacobian = opened.jacobian(POINT, x, y)
    assert support.same(jacobian, {"y": {"x": 2 * np.eye(2)}})
    assert support.same(opened.jacobian(inputs=POINT, jac_inputs=x, jac_outputs=y), jacobian)
    jvp = opened.jacobian_vector_product(POINT, x, y, {"x": [1.0, 0.0]})
    assert support.same(jvp, {"y": np.array([2.0, 0.0])})
    vjp = opened.vector_jacobian_product(
        inputs=POINT, vjp_inputs=x, vjp_outputs=y, cotangent_vector={"y": [0, 1]}, run_id="r"
    )
    assert support.same(vjp, {"x": np.array([0.0, 2.0])})


def test_abstract_eval(opened: Any) -> None:
    result = opened.abstract_eval({"x": {"shape": [4], "dtype": "float32"}})
    assert result == {"y": {"shape": (4,), "dtype": "float64"}, "note": ""}


def test_health(opened: Any) -> None:
    assert opened.health() == {"status": "ok"}


def test_endpoints_are_listed(both: Any, opened: Any, tmp_path: Path) -> None:
    derivatives = ["jacobian", "jacobian_vector_product", "vector_jacobian_product"]
    everything = ["apply", *derivatives, "health", "abstract_eval", "test"]
    assert opened.available_endpoints == everything
    few = both.from_tesseract_api(support.write(tmp_path / "few", ONLY_APPLY))
    assert few.available_endpoints == ["apply", "health", "test"]
    few = both.from_tesseract_api(tmp_path / "few/tesseract_api.py", runtime_config={"debug": 0})
    assert few.available_endpoints == ["apply", "health"]


# ---- Errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("inputs", [{}, {"x": 1.0}, {"x": [1.0], "q": 1}, 5, None, [1]])
def test_bad_inputs(opened: Any, inputs: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        opened.apply(inputs)
    assert caught.value.title == "ApplyInputSchema"
    assert all(part["loc"][0] == "inputs" for part in caught.value.errors())
    assert len(opened.apply(POINT)["y"]) == 2  # it can be called on


@pytest.mark.parametrize(
    ("endpoint", "title", "arguments"),
    [
        ("jacobian", "JacobianInputSchema", (POINT, ["nope"], ["y"])),
        ("jacobian", "JacobianInputSchema", (POINT, [], ["y"])),
        ("jacobian", "JacobianInputSchema", (POINT, "x", ["y"])),
        ("jacobian_vector_product", "JVPInputSchema", (POINT, ["x"], ["y"], {"x": [[1.0]]})),
        ("jacobian_vector_product", "JVPInputSchema", (POINT, ["x"], ["y"], {})),
        ("vector_jacobian_product", "VJPInputSchema", (POINT, ["x"], ["y"], {"y": [[1.0]]})),
        ("abstract_eval", "AbstractInputSchema", ({"x": [1.0]},)),
    ],
)
def test_bad_requests(opened: Any, endpoint: str, title: str, arguments: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        getattr(opened, endpoint)(*arguments)
    assert caught.value.title == title


@pytest.mark.parametrize(("c", "text"), [(13, "KeyError: 'unlucky'"), (15, "y")])
def test_failures_of_the_module(opened: Any, c: int, text: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        opened.apply({**POINT, "c": c})
    lines = str(caught.value)
    assert lines.startswith("Traceback (most recent call last):") and text in lines
    assert "Error running Tesseract API apply: " in lines.split("\n\n")[-1]
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_exit_passes_through(opened: Any) -> None:
    with pytest.raises(SystemExit) as caught:
        opened.apply({**POINT, "c": 14})
    assert caught.value.code == 3
    assert len(opened.apply(POINT)["y"]) == 2


def test_endpoints_that_are_not_there(both: Any, tmp_path: Path) -> None:
    few = both.from_tesseract_api(support.write(tmp_path / "few", ONLY_APPLY))
    for call in (
        lambda: few.jacobian({}, ["x"], ["y"]),
        lambda: few.jacobian_vector_product({}, ["x"], ["y"], {}),
        lambda: few.vector_jacobian_product({}, ["x"], ["y"], {}),
    ):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(RuntimeError) as caught:
        few.abstract_eval({})
    assert not isinstance(caught.value, NotImplementedError)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("raise ValueError('at import')", RuntimeError),
        ("def apply(inputs): ...", AttributeError),
        ("syntax error", RuntimeError),
        ("import sys; sys.exit(4)", SystemExit),
    ],
)
def test_bad_modules(both: Any, source: str, error: type[BaseException], tmp_path: Path) -> None:
    with pytest.raises(error):
        both.from_tesseract_api(support.write(tmp_path / "bad", source))


def test_bad_paths(both: Any, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="not a file"):
        both.from_tesseract_api(tmp_path)
    with pytest.raises(FileNotFoundError):
        both.from_tesseract_api(tmp_path / "tesseract_api.py")


def test_it_is_never_constructed(both: Any) -> None:
    for arguments in ((), ("x",)):
        with pytest.raises(TypeError):
            both(*arguments)


@pytest.mark.parametrize("name", ["serve", "teardown", "server_logs", "container_info"])
def test_there_is_no_server(opened: Any, name: str) -> None:
    with pytest.raises(RuntimeError):
        getattr(opened, name)()


@pytest.mark.parametrize("name", ["from_source", "from_image", "from_url"])
def test_other_constructors_name_tesseract_core(ours: Any, name: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"tesseract_core\.Tesseract\.{name}"):
        getattr(ours, name)("x", anything=1)


# ---- Options -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"gpu_transport": "carrier pigeon"},
        {"output_format": "yaml"},
        {"runtime_config": {"unknown": 1}},
        {"runtime_config": {"cuda_ipc_pool_fraction": 2}},
    ],
)
def test_unknown_values(both: Any, path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        both.from_tesseract_api(path, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"output_format": "json+binref"},
        {"gpu_transport": "cuda_ipc"},
        {"runtime_config": {"gpu_transport": "cuda_ipc"}},
        {"gpu_transport": "none", "runtime_config": {"gpu_transport": "cuda_ipc"}},
        {"runtime_config": {"output_format": "json", "debug": False, "name": "N"}},
        {"output_format": "json", "runtime_config": {"output_format": "json+binref"}},
    ],
)
def test_configuration(both: Any, options: dict[str, Any], tmp_path: Path) -> None:
    opened = both.from_tesseract_api(support.write(tmp_path / "few", ONLY_APPLY), **options)
    config = configuration(opened)
    given = options.get("runtime_config", {})
    transport = options.get("gpu_transport") or given.get("gpu_transport", "none")
    assert config.gpu_transport == opened.resolve_gpu_transport() == transport
    assert config.debug is given.get("debug", True)
    assert config.name == given.get("name", "Tesseract")
    form = given.get("output_format") or options.get("output_format", "json+base64")
    assert config.output_format == opened.current_encoding.output_format == form
    assert opened.current_encoding.gpu_transport == transport


@pytest.mark.parametrize("kind", [str, Path])
def test_folders(both: Any, kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = support.write(tmp_path / "few", ONLY_APPLY)
    monkeypatch.chdir(tmp_path)
    given = kind("in") if "host" in both.__module__ else Path("in")
    opened = both.from_tesseract_api(file, input_path=given, output_path=kind("a/out"))
    assert (tmp_path / "a/out").is_dir()
    config = configuration(opened)
    assert config.input_path == str(tmp_path / "in")
    assert config.output_path == str(tmp_path / "a/out")


def test_configuration_is_stronger_than_folders(both: Any, tmp_path: Path) -> None:
    file = support.write(tmp_path / "few", ONLY_APPLY)
    stronger = {"input_path": str(tmp_path / "in"), "output_path": str(tmp_path / "out")}
    opened = both.from_tesseract_api(
        file, input_path=tmp_path, output_path=tmp_path / "other", runtime_config=stronger
    )
    config = configuration(opened)
    assert {name: getattr(config, name) for name in stronger} == stronger


def test_options_by_position(both: Any, tmp_path: Path) -> None:
    file = support.write(tmp_path / "few", ONLY_APPLY)
    out = tmp_path / "out"
    opened = both.from_tesseract_api(file, tmp_path, out, "json", "cuda_ipc", {"name": "N"}, False)
    config = configuration(opened)
    assert (config.output_format, config.gpu_transport, config.name) == ("json", "cuda_ipc", "N")


def test_stream_logs(both: Any, path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    both.from_tesseract_api(path, stream_logs=lines.append).apply(POINT)
    assert lines == ["printed 2.0"]
    streaming = both.from_tesseract_api(path, stream_logs=True)
    capfd.readouterr()
    streaming.apply(POINT)
    time.sleep(0.1)
    assert capfd.readouterr().err.strip() == "printed 2.0"
    wrong = both.from_tesseract_api(path, stream_logs=5)
    with pytest.raises(ValueError, match="stream_logs"):
        wrong.apply(POINT)


def test_prints_are_not_the_callers(
    opened: Any, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    capfd.readouterr()
    opened.apply(POINT)
    assert capfd.readouterr() == ("", "")


def test_prints_go_to_the_log(
    ours: Any, path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    opened = ours.from_tesseract_api(path)
    with caplog.at_level("INFO", logger="tesseract_host"):
        opened.apply(POINT)
    assert [record.message for record in caplog.records] == ["printed 2.0"]
    assert capfd.readouterr() == ("", "")


# ---- Views, identity, life ---------------------------------------------------------------------


def test_views(both: Any, path: Path) -> None:
    opened = both.from_tesseract_api(path, gpu_transport="cuda_ipc")
    view = opened.with_encoding(output_format="json", gpu_transport="none", compression="lz4")
    encoding = view.current_encoding
    assert (encoding.output_format, encoding.gpu_transport, encoding.compression) == (
        "json",
        "none",
        "lz4",
    )
    assert view.resolve_gpu_transport() == "none" and opened.resolve_gpu_transport() == "cuda_ipc"
    assert view._client is opened._client and view != opened
    assert support.same(view.apply(POINT), opened.apply(POINT))
    again = view.with_encoding(gpu_transport="cuda_ipc")
    assert again.current_encoding.compression == "lz4"
    same = opened.with_encoding()
    assert same.current_encoding == opened.current_encoding
    assert hash(same.current_encoding) == hash(opened.current_encoding)
    assert same.current_encoding != view.current_encoding
    with pytest.raises((AttributeError, TypeError)):
        encoding.compression = None


def test_a_view_accepts_no_other_transport(opened: Any) -> None:
    for transport in ("cuda_ipc", "other"):
        with pytest.raises(ValueError, match=transport):
            opened.with_encoding(gpu_transport=transport)


def test_encodings_in_process(opened: Any) -> None:
    assert opened.server_capabilities is None
    assert opened.current_encoding.output_format == "json+base64"
    assert opened.current_encoding.compression is None


def test_identity(both: Any, path: Path, opened: Any) -> None:
    other = both.from_tesseract_api(path)
    assert opened == opened and opened != other and len({opened, other, opened}) == 2
    copied = copy.copy(opened)
    assert copied != opened and copied._client is opened._client


def test_it_can_not_be_pickled(opened: Any) -> None:
    for call in (pickle.dumps, copy.deepcopy):
        with pytest.raises((TypeError, AttributeError)):
            call(opened)


def test_context_manager(opened: Any) -> None:
    with opened as inside:
        assert inside is opened
    assert len(opened.apply(POINT)["y"]) == 2


def test_schemas(ours: Any, path: Path) -> None:
    opened = ours.from_tesseract_api(path)
    assert opened.input_schema.__name__ == "InputSchema"
    assert list(opened.output_schema.model_fields) == ["y", "note"]
    assert "component" in repr(opened)


def test_the_same_file_twice(both: Any, tmp_path: Path) -> None:
    source = "n = [0]\n" + support.schema_source(
        "x: int = 0", "n: int", "n[0] += 1; return {'n': n[0]}"
    )
    file = support.write(tmp_path / "counter", source)
    first, second = both.from_tesseract_api(file), both.from_tesseract_api(file)
    assert [t.apply({})["n"] for t in (first, first, second)] == [1, 2, 1]


def test_a_dropped_component_is_freed(ours: Any, path: Path) -> None:
    before = {name for name in sys.modules if name.startswith("tsr_plugins.")}
    opened = ours.from_tesseract_api(path)
    view = opened.with_encoding(output_format="json")
    gone = weakref.ref(opened._client)
    del opened
    assert len(view.apply(POINT)["y"]) == 2
    del view
    gc.collect()
    assert gone() is None
    assert {name for name in sys.modules if name.startswith("tsr_plugins.")} == before


# ---- Modules -----------------------------------------------------------------------------------


def test_alias_of_the_last_module(both: Any, path: Path, tmp_path: Path) -> None:
    first = both.from_tesseract_api(path)
    import tesseract_api

    assert tesseract_api.calls == []
    first.apply(POINT)
    assert len(tesseract_api.calls) == 1
    second = both.from_tesseract_api(support.write(tmp_path / "few", ONLY_APPLY))
    assert not hasattr(sys.modules["tesseract_api"], "calls")
    del sys.modules["tesseract_api"]
    assert len(first.apply(POINT)["y"]) == 2 and second.apply({})


def test_nothing_reads_the_alias(ours: Any, tmp_path: Path) -> None:
    source = "name = {!r}\n" + support.schema_source(
        "x: int = 0", "n: str", "import tesseract_api; return {{'n': tesseract_api.name}}"
    ).replace("{", "{{").replace("}", "}}").replace("{{{{", "{{").replace("}}}}", "}}")
    outer = support.write(tmp_path / "outer", source.format("outer"))
    inner = support.write(tmp_path / "outer/inner", source.format("inner"))
    first, second = ours.from_tesseract_api(outer), ours.from_tesseract_api(inner)
    assert sys.modules["tesseract_api"].name == "inner"
    assert first.apply({})["n"] == "outer" and second.apply({})["n"] == "inner"


@contextlib.contextmanager
def imported(folder: Path, name: str, source: str) -> Iterator[Any]:
    pytest.importorskip("tesseract_core.runtime")
    support.write(folder, source, f"{name}.py")
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(name, None)


def test_a_module_object_is_used_as_it_is(both: Any, tmp_path: Path) -> None:
    with imported(tmp_path, "given_module", MODULE) as module:
        opened = both.from_tesseract_api(module)
        assert support.same(opened.apply(POINT)["y"], np.array([2.0, 4.0]))
        assert len(module.calls) == 1 and isinstance(module.calls[0], module.InputSchema)
        module.calls.clear()
        assert both.from_tesseract_api(module).apply(POINT) and len(module.calls) == 1
        assert opened.abstract_eval({"x": {"shape": (2,), "dtype": "float64"}})
        vjp = opened.vector_jacobian_product(POINT, ["x"], ["y"], {"y": [1, 0]})
        assert support.same(vjp, {"x": np.array([2.0, 0.0])})
        with pytest.raises(ValidationError):
            opened.apply({"x": 3.0})
        assert opened.openapi_schema["components"]["schemas"]["ApplyInputSchema"]


def test_a_module_object_may_return_shapes_of_its_package(both: Any, tmp_path: Path) -> None:
    source = MODULE.replace(
        'return {"y": abstract_inputs.x}',
        'return {"y": ShapeDType(shape=abstract_inputs.x.shape, dtype="float32")}',
    )
    with imported(tmp_path, "given_shapes", source) as module:
        opened = both.from_tesseract_api(module)
        result = opened.abstract_eval({"x": {"shape": (2,), "dtype": "float64"}})
        assert result["y"] == {"shape": (2,), "dtype": "float64"}


def test_a_module_object_without_a_file(ours: Any) -> None:
    module = ModuleType("made_up")
    source = support.HEAD.replace("tesseract_core", "tesseract_host") + ONLY_APPLY.replace(
        "tesseract_core", "tesseract_host"
    )
    exec(source, vars(module))
    sys.modules["made_up"] = module
    try:
        assert ours.from_tesseract_api(module).apply({"x": 1})["c"]["name"] == "Tesseract"
    finally:
        del sys.modules["made_up"]


def test_a_module_without_a_file_that_is_no_component(ours: Any) -> None:
    with pytest.raises(AttributeError, match="made_up does not define InputSchema"):
        ours.from_tesseract_api(ModuleType("made_up"))


NESTED = """
from tesseract_core import Tesseract
inner = None
class InputSchema(BaseModel):
    path: str
class OutputSchema(BaseModel):
    y: Array[(None,), "float64"]
    c: Any
def apply(inputs):
    inner = Tesseract.from_tesseract_api(inputs.path)
    from tesseract_core.runtime.config import get_config
    return {"y": inner.apply({"x": [1.0], "c": 3})["y"], "c": get_config().name}
"""


def test_without_tesseract_core_modules_get_ours(
    ours: Any, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if "core" in name else find(name)
    )
    outer = support.write(tmp_path / "outer", NESTED.replace("inner = None", "kind = Tesseract"))
    opened = ours.from_tesseract_api(outer)
    assert sys.modules["tesseract_api"].kind is ours
    assert opened.apply({"path": str(path)})["y"] == 3.0


def test_a_module_may_call_another(both: Any, path: Path, tmp_path: Path) -> None:
    outer = support.write(tmp_path / "outer", NESTED)
    opened = both.from_tesseract_api(outer, runtime_config={"name": "outer"})
    result = opened.apply({"path": str(path)})
    assert support.same(result, {"y": np.array([3.0]), "c": "outer"})


# ---- Importing ---------------------------------------------------------------------------------


def test_importing_the_package_is_cheap() -> None:
    package = str(Path(support.__file__).parents[2] / "python")
    script = (
        f"import sys; sys.path.insert(0, {package!r}); import tesseract_host as t\n"
        "assert 'Tesseract' in dir(t) and t.__version__\n"
        "print(sorted({'numpy', 'pydantic', 'typing'} & set(sys.modules)))\n"
        "from tesseract_host import Tesseract\n"
        "assert t.Tesseract is Tesseract and 'pydantic' in sys.modules\n"
        "try: t.nothing\n"
        "except AttributeError as e: print(e)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, timeout=60
    )
    first, second = done.stdout.strip().split("\n")
    assert "numpy" not in first and "pydantic" not in first
    assert "nothing" in second
