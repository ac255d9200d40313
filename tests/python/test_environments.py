"""An environment of Python's in a component's folder: its packages are not the component's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest
import support

SOURCE = """
import sys
import helper
import thirdparty, thirdparty.part
import pydantic.fields
from importlib import import_module

class InputSchema(BaseModel):
    x: Array[(None,), "float64"]

class OutputSchema(BaseModel):
    names: dict

def apply(inputs):
    import scattered.part
    assert type(inputs.x) is sys.modules["numpy"].ndarray
    modules = {
        "numpy": np, "thirdparty": thirdparty, "thirdparty.part": thirdparty.part,
        "pydantic.fields": pydantic.fields, "scattered.part": scattered.part,
        "by name": import_module("thirdparty"), "helper": helper,
    }
    return {"names": {k: m.__name__ for k, m in modules.items()}}
"""

SCRIPT = """
import json, sys
sys.path.insert(0, {package!r})
if {before!r}:
    import thirdparty, scattered.part
from tesseract_host import loader
component = loader.open({path!r})
print(json.dumps(component.call("apply", {{"inputs": {{"x": [1.0]}}}})["names"]))
"""


def make_environment(folder: Path) -> tuple[Path, Path]:
    """An environment that has the packages of this one and two more; its Python and packages."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    minor = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = folder / "lib" / minor / "site-packages"
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    support.write(packages / "thirdparty", "", "__init__.py", "")
    support.write(packages / "thirdparty", "", "part.py", "")
    support.write(packages / "scattered", "", "part.py", "")  # a namespace package
    return folder / "bin" / "python", packages


def names(python: Path, path: Path, before: bool = False, **variables: str) -> dict[str, str]:
    import tesseract_host

    package = str(Path(tesseract_host.__file__).parents[1])
    done = subprocess.run(
        [str(python), "-c", SCRIPT.format(package=package, path=str(path), before=before)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def check(found: dict[str, str]) -> None:
    assert found.pop("helper").startswith("tsr_plugins.")
    assert found.pop("by name") == "thirdparty"
    assert found == {name: name for name in found}


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("place", [".venv", "build/env", "."])
def test_environment_in_the_folder(tmp_path: Path, place: str, before: bool) -> None:
    python, _ = make_environment(tmp_path / place)
    support.write(tmp_path, "", "helper.py", "")
    path = support.write(tmp_path, SOURCE)
    check(names(python, path, before))


def test_folder_in_the_environment(tmp_path: Path) -> None:
    python, packages = make_environment(tmp_path)
    support.write(packages / "installed", "", "helper.py", "")
    check(names(python, support.write(packages / "installed", SOURCE)))


def test_packages_that_the_process_has_imported_are_shared(tmp_path: Path) -> None:
    """Whatever their folder is called, if the process was started with it."""
    python, packages = make_environment(tmp_path / "env")
    folder = tmp_path / "component"
    folder.mkdir()
    for name in ("thirdparty", "scattered"):
        (folder / "packages").mkdir(exist_ok=True)
        (packages / name).rename(folder / "packages" / name)
    support.write(folder, "", "helper.py", "")
    path = support.write(folder, SOURCE)
    check(names(python, path, True, PYTHONPATH=str(folder / "packages")))


def test_own_modules_stay_own_when_the_process_has_imported_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    support.write(tmp_path / "elsewhere", "PLACE = 'elsewhere'\n", "namesake.py", "")
    support.write(tmp_path / "c", "PLACE = 'own'\n", "namesake.py", "")
    source = "import namesake\n" + support.schema_source(
        "x: int = 0", body="return {'y': namesake.PLACE}"
    )
    path = support.write(tmp_path / "c", source)
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    import namesake

    assert namesake.PLACE == "elsewhere"
    sys.path.remove(str(tmp_path / "elsewhere"))
    opened: Any = support.Ours().open(path)
    assert opened.call("apply", {"inputs": {}})["y"] == "own"
