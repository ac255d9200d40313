"""The library as a user has it: installed from the wheel, and by ``meson install`` into a prefix.

Both are made from the build folder ``build`` of ``./run setup``, or the one that the environment
variable TESSERACT_HOST_BUILD names.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from installation import ROOT, Installation, run


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built by the Python that runs the tests."""
    folder = tmp_path_factory.mktemp("wheel")
    run(
        *(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"),
        *("--wheel-dir", folder, f"--config-settings=build-dir={ROOT / 'build-wheel'}", ROOT),
        PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def from_wheel(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The wheel, installed with its dependencies into a fresh virtual environment."""
    venv = tmp_path_factory.mktemp("user") / "venv"
    run(sys.executable, "-m", "venv", venv)
    run(venv / "bin/python", "-m", "pip", "install", "--disable-pip-version-check", wheel)
    return Installation(venv / "bin/tesseract-host", {})


@pytest.fixture(scope="session")
def from_prefix(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The prefix of ``meson install``, in another place than it was configured for."""
    build = Path(os.environ.get("TESSERACT_HOST_BUILD", ROOT / "build")).resolve()
    stage = tmp_path_factory.mktemp("stage")
    meson = Path(sys.executable).parent / "meson"
    run(meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", stage)
    (command,) = stage.rglob("bin/tesseract-host")
    return Installation(command, {"TESSERACT_HOST_PYTHON": sys.executable})


@pytest.fixture(scope="session", params=["wheel", "prefix"])
def installation(request: pytest.FixtureRequest) -> Installation:
    """Each of the two."""
    return request.getfixturevalue(f"from_{request.param}")
