"""What the wheel, the source archive and the installed command hold."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from installation import ROOT, Installation, run

PACKAGE = "tesseract_host/"


def test_wheel_holds_everything_inside_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        linker_script = archive.read(PACKAGE + "lib/libtesseract_host.so").decode()
    outside = [n for n in names if not n.startswith(PACKAGE) and ".dist-info/" not in n]
    assert outside == ["tsr_plugins/__init__.py"]  # which unpickling imports by this name
    assert [n for n in names if "__pycache__" in n] == []
    assert "INPUT(libtesseract_host.so.0)" in linker_script
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert f"-{tag}-{tag}-" in wheel.name
    for name in (
        "lib/libtesseract_host.so.0",
        "lib/pkgconfig/tesseract-host.pc",
        "lib/cmake/tesseract-host/tesseract-host-config.cmake",
        "lib/cmake/tesseract-host/tesseract-host-config-version.cmake",
        "lib/tesseract_host/tesseract_loader_python.so",
        f"lib/tesseract_host/tesseract_binding_{tag}.so",
        f"lib/tesseract_host/tesseract_python_{tag}.so",
        "include/tesseract_host/host.h",
        "include/tesseract_host/plugin.h",
        "include/dlpack/dlpack.h",
        "include/dlpack/NOTICE",
        "bin/tesseract-host",
        "cli.py",
        "client.py",
        "py.typed",
    ):
        assert PACKAGE + name in names


def test_wheel_names_no_folder_of_its_build(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            assert str(ROOT).encode() not in archive.read(name), name


def test_source_archive_holds_every_tracked_file(tmp_path: Path) -> None:
    script = "import sys, mesonpy; mesonpy.build_sdist(sys.argv[1])"
    run(sys.executable, "-c", script, tmp_path, cwd=ROOT)
    (archive,) = tmp_path.glob("tesseract_host-*.tar.gz")
    with tarfile.open(archive) as files:
        held = {name.partition("/")[2] for name in files.getnames()}
    tracked = run("git", "ls-tree", "-r", "--name-only", "HEAD", cwd=ROOT).split("\n")
    assert set(filter(None, tracked)) <= held


def test_config_names_existing_folders(installation: Installation) -> None:
    assert (installation.include / "tesseract_host/host.h").is_file()
    (cmake,) = installation.config("--cmakedir")
    assert (Path(cmake) / "tesseract-host-config.cmake").is_file()
    (pkgconfig,) = installation.config("--pkgconfigdir")
    assert (Path(pkgconfig) / "tesseract-host.pc").is_file()
    (prefix,) = installation.config("--prefix")
    assert installation.include.is_relative_to(prefix)
    assert installation.library.is_relative_to(prefix)


def test_package_files_agree_on_the_version(installation: Installation) -> None:
    (version,) = installation.config("--version")
    (path,) = installation.config("--pkgconfigdir")
    told = run("pkg-config", "--modversion", "tesseract-host", PKG_CONFIG_PATH=path)
    assert told.split() == [version]


def test_config_without_a_question_is_wrong_usage(installation: Installation) -> None:
    done = subprocess.run(
        [installation.command, "config"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""


@pytest.mark.parametrize("wanted", ["0.0.1", "0.1"])
def test_cmake_accepts_older_requests(
    installation: Installation, tmp_path: Path, wanted: str
) -> None:
    assert "FOUND 1" in find_package(installation, tmp_path, wanted)


@pytest.mark.parametrize("wanted", ["0.99", "1.0"])
def test_cmake_refuses_newer_requests(
    installation: Installation, tmp_path: Path, wanted: str
) -> None:
    assert "FOUND 0" in find_package(installation, tmp_path, wanted)


NATIVE = """
import sys
from tesseract_host import Tesseract
square = Tesseract.from_library(sys.argv[1])
print(square.apply({"x": [1.0, 2.0], "a": 3.0})["y"].tolist())
module = Tesseract.from_tesseract_api(sys.argv[2])
print(module._client.host().pointer != 0)
hosts = {line.split()[-1] for line in open("/proc/self/maps") if "libtesseract_host" in line}
print(len(hosts))
"""


def test_native_components_in_python(installation: Installation, tmp_path: Path) -> None:
    square = installation.build_square(tmp_path / "square.so")
    module = ROOT / "examples/tesseract-api-module/tesseract_api.py"
    python, variables = installation.command.parent / "python", {}
    if not python.exists():  # a prefix, whose package any Python can use
        python = Path(sys.executable)
        variables = {"PYTHONPATH": str(installation.library.parent / "tesseract_host/python")}
    printed = run(python, "-c", NATIVE, square, module, **variables)
    assert printed.split("\n")[:3] == ["[3.0, 12.0]", "True", "1"]


def find_package(installation: Installation, folder: Path, version: str) -> str:
    """What CMake says when asked for a version."""
    (path,) = installation.config("--cmakedir")
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\n"
        "project(find NONE)\n"
        f"find_package(tesseract-host {version} QUIET CONFIG)\n"
        'message("FOUND ${tesseract-host_FOUND}")\n'
    )
    return run("cmake", "-S", folder, "-B", folder / "out", f"-Dtesseract-host_DIR={path}")
