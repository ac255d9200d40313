"""Module contract §10: configuration, files and records of a component."""

from __future__ import annotations

import csv
import json
import threading
from pathlib import Path
from typing import Any

import pytest
import support

MODULE = """
import threading
from tesseract_core.runtime.config import get_config, update_config
AT_IMPORT = get_config()
class InputSchema(BaseModel):
    code: str = "None"
class OutputSchema(BaseModel):
    y: Any = None
def apply(inputs):
    return {"y": eval(inputs.code, globals())}
"""


def ask(opened: Any, code: str) -> Any:
    return opened.call("apply", {"inputs": {"code": code}})["y"]


DEFAULTS = {
    "name": "Tesseract",
    "description": "",
    "version": "unknown",
    "debug": True,
    "input_path": ".",
    "output_path": ".",
    "output_file": "",
    "compression": None,
    "mlflow_tracking_uri": "",
    "mlflow_run_extra_args": {},
    "profiling": False,
    "tracing": False,
    "gpu_transport": "none",
    "cuda_ipc_pool_fraction": 0.25,
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults(opened: Any, name: str) -> None:
    assert ask(opened(MODULE), f"get_config().{name}") == DEFAULTS[name]


def test_what_is_given(host: Any, tmp_path: Path) -> None:
    path = support.write(tmp_path / "c", MODULE)
    module = host.open(
        path,
        input_path=tmp_path / "c" / ".." / "c",
        output_path=tmp_path,
        runtime_config={"profiling": False, "name": "mine"},
    )
    # In tesseract-core the configuration is not yet in force while the module is imported.
    places = ("AT_IMPORT", "get_config()") if host.name == "tesseract_host" else ("get_config()",)
    for when in places:
        assert ask(module, f"{when}.input_path") == str(tmp_path / "c")
        assert ask(module, f"{when}.name") == "mine"
    assert ask(module, "get_config().output_path") == str(tmp_path)


def test_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERACT_NAME", "from outside")
    monkeypatch.setenv("TESSERACT_VERSION", "1")
    path = support.write(tmp_path / "c", MODULE)
    opened = support.Ours().open(path, runtime_config={"version": "2"})
    assert ask(opened, "(get_config().name, get_config().version)") == ("from outside", "2")


@pytest.mark.parametrize("given", [{"colour": 1}, {"profiling": "maybe"}, {"output_format": "x"}])
def test_bad_values(host: Any, tmp_path: Path, given: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        host.open(support.write(tmp_path / "c", MODULE), runtime_config=given)


def test_each_component_has_its_own(tmp_path: Path) -> None:
    path = support.write(tmp_path / "c", MODULE)
    opened = [support.Ours().open(path, runtime_config={"name": n}) for n in ("one", "two")]
    ask(opened[0], "update_config(description='changed')")
    assert [ask(o, "get_config().name") for o in opened] == ["one", "two"]
    assert [ask(o, "get_config().description") for o in opened] == ["changed", ""]


def test_the_configuration_is_frozen(opened: Any) -> None:
    with pytest.raises(RuntimeError):
        ask(opened(MODULE), "setattr(get_config(), 'name', 'x')")


def test_threads_of_a_module_see_its_configuration(tmp_path: Path) -> None:
    source = MODULE + (
        "def from_thread():\n"
        "    names = []\n"
        "    t = threading.Thread(target=lambda: names.append(get_config().name))\n"
        "    t.start(); t.join()\n"
        "    return names\n"
    )
    path = support.write(tmp_path / "c", source)
    one = support.Ours().open(path, runtime_config={"name": "one"})
    two = support.Ours().open(path, runtime_config={"name": "two"})
    found: list[Any] = []
    workers = [
        threading.Thread(target=lambda o=o, n=n: found.append(ask(o, "from_thread()") == [n]))
        for _ in range(20)
        for o, n in ((one, "one"), (two, "two"))
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [True] * 40


# ---- Files -------------------------------------------------------------------------------------

FILES = """
from tesseract_core.runtime.experimental import InputPath, OutputPath, require_file
from tesseract_core.runtime.config import get_config
from pathlib import Path
TABLE = require_file("table.txt")
class InputSchema(BaseModel):
    file: InputPath = None
    out: str = "result.txt"
class OutputSchema(BaseModel):
    text: str
    where: OutputPath
def apply(inputs):
    target = Path(get_config().output_path) / "result.txt"
    target.write_text("x")
    return OutputSchema(text=inputs.file.read_text() + TABLE.read_text(), where=inputs.out)
"""


@pytest.fixture
def files(tmp_path: Path) -> Any:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "a.txt").write_text("A")
    (tmp_path / "in" / "table.txt").write_text("T")
    (tmp_path / "secret.txt").write_text("S")
    path = support.write(tmp_path / "c", FILES)
    return support.Ours().open(
        path, input_path=str(tmp_path / "in"), output_path=str(tmp_path / "out")
    )


def test_paths_are_relative_to_the_components_folders(files: Any, tmp_path: Path) -> None:
    for given in ("a.txt", Path("a.txt"), tmp_path / "in" / "a.txt"):
        result = files.call("apply", {"inputs": {"file": given}})
        assert result == {"text": "AT", "where": "result.txt"}


@pytest.mark.parametrize("given", ["missing.txt", "../secret.txt", "/etc/passwd", 3])
def test_bad_input_paths(files: Any, given: Any) -> None:
    with pytest.raises(ValueError) as caught:
        files.call("apply", {"inputs": {"file": given}})
    assert support.error_types(caught.value)[0][1][:2] == ("inputs", "file")


@pytest.mark.parametrize("given", ["missing.txt", "../secret.txt"])
def test_bad_output_paths(files: Any, given: str) -> None:
    with pytest.raises(RuntimeError, match="output path"):
        files.call("apply", {"inputs": {"file": "a.txt", "out": given}})


def test_required_files(tmp_path: Path) -> None:
    path = support.write(tmp_path / "c", FILES)
    with pytest.raises(RuntimeError, match=r"table\.txt"):
        support.Ours().open(path, input_path=str(tmp_path / "c"))


# ---- Records -----------------------------------------------------------------------------------

RECORDS = """
from tesseract_core.runtime.experimental import log_artifact, log_metric, log_parameter
class InputSchema(BaseModel):
    x: int = 0
class OutputSchema(BaseModel):
    y: Any = None
def apply(inputs):
    if inputs.x:
        log_parameter("p", {"q": 1})
        log_metric("loss", 0.5)
        log_metric("loss", 0.25)
        log_metric("other", 1, step=7)
        log_artifact(__file__)
    return {}
"""


def test_records(tmp_path: Path) -> None:
    path = support.write(tmp_path / "c", RECORDS)
    out = tmp_path / "out"
    out.mkdir()
    opened = support.Ours().open(path, output_path=str(out))
    opened.call("apply", {"inputs": {}})
    assert list(out.iterdir()) == []
    opened.call("apply", {"inputs": {"x": 1}})
    (run,) = out.glob("run_*")
    assert json.loads((run / "logs" / "parameters.json").read_text()) == {"p": {"q": 1}}
    with (run / "logs" / "metrics.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["timestamp", "key", "value", "step"]
    assert [row[1:] for row in rows[1:]] == [
        ["loss", "0.5", "0"],
        ["loss", "0.25", "1"],
        ["other", "1", "7"],
    ]
    assert (run / "logs" / "artifacts" / "tesseract_api.py").exists()


def test_records_without_an_output_path(component: Any, tmp_path: Path, monkeypatch: Any) -> None:
    import tempfile

    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    opened = component(RECORDS)
    opened.call("apply", {"inputs": {"x": 1}})
    (folder,) = (tmp_path / "temporary").iterdir()
    assert list(folder.glob("run_*/logs/metrics.csv"))
    opened.close()
    assert not folder.exists()


def test_records_outside_of_a_call(opened: Any) -> None:
    with pytest.raises(RuntimeError):
        opened(RECORDS.replace("class InputSchema", "log_metric('a', 1)\nclass InputSchema", 1))
