"""Programs in C, C++ and Fortran, built outside the tree against what is installed.

Each opens a native component and a tesseract_api.py, without LD_LIBRARY_PATH.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from installation import C_FLAGS, PROGRAMS, ROOT, Installation, run

BENCH = ROOT / "tests/bench"
FORTRAN_MODULES = [
    f"tesseract_{name}.f90" for name in ("host_c", "arrays", "lists", "results", "host")
]
GRADIENT = [["y", 2.0, 8.0, 18.0], ["dy/dx", 4.0, 8.0, 12.0]]

Build = Callable[[Installation, Path], None]


def build_with_flags(folder: Path, cflags: list[str], libs: list[str], include: Path) -> None:
    """Compiles all programs in ``folder`` by hand."""

    def compile_here(*words: str | Path) -> None:
        run(*words, cwd=folder)

    compile_here("cc", *C_FLAGS, "-shared", "-fPIC", *cflags, "square.c", "-o", "square.so")
    compile_here("cc", *C_FLAGS, *cflags, "gradient.c", "-o", "gradient_c", *libs)
    compile_here("c++", "-std=c++20", *cflags, "gradient.cpp", "-o", "gradient_cpp", *libs)
    sources = [
        *(include / "tesseract_host/fortran" / name for name in FORTRAN_MODULES),
        "gradient.f90",
    ]
    compile_here("gfortran", *sources, "-o", "gradient_f90", *libs)


def build_by_pkg_config(installation: Installation, folder: Path) -> None:
    """As a Makefile would, by pkg-config."""
    (path,) = installation.config("--pkgconfigdir")

    def flags(which: str) -> list[str]:
        return run("pkg-config", which, "tesseract-host", PKG_CONFIG_PATH=path).split()

    build_with_flags(folder, flags("--cflags"), flags("--libs"), installation.include)


def build_by_config_command(installation: Installation, folder: Path) -> None:
    """As a Makefile would, by our own command."""
    cflags, libs = installation.config("--cflags"), installation.config("--libs")
    build_with_flags(folder, cflags, libs, installation.include)


def build_by_cmake(installation: Installation, folder: Path) -> None:
    """By find_package."""
    (path,) = installation.config("--cmakedir")
    run("cmake", "-S", folder, "-B", folder / "out", f"-Dtesseract-host_DIR={path}")
    run("cmake", "--build", folder / "out")
    for product in ("square.so", "gradient_c", "gradient_cpp", "gradient_f90"):
        (folder / "out" / product).rename(folder / product)


@pytest.fixture(
    scope="session",
    params=[build_by_pkg_config, build_by_config_command, build_by_cmake],
    ids=["pkg-config", "config-command", "cmake"],
)
def programs(
    request: pytest.FixtureRequest,
    installation: Installation,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A folder outside the tree with all programs built."""
    folder = tmp_path_factory.mktemp("programs") / "built"
    shutil.copytree(PROGRAMS, folder)
    request.param(installation, folder)
    return folder


@pytest.mark.parametrize("language", ["c", "cpp", "f90"])
def test_program_runs_native_and_python_components(
    programs: Path, installation: Installation, language: str
) -> None:
    printed = run(
        programs / f"gradient_{language}",
        programs / "square.so",
        programs / "tesseract_api.py",
        cwd=programs,
        **installation.variables,
    )
    lines = [line.split() for line in printed.splitlines()]
    assert [[name, *map(float, values)] for name, *values in lines] == GRADIENT * 2


def test_footprint(
    installation: Installation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Size and memory have limits; the time to open is only shown."""
    stripped = tmp_path / "stripped.so"
    run("strip", "-o", stripped, installation.library)
    flags = installation.config("--cflags", "--libs")
    plugin, program = tmp_path / "plugin.so", tmp_path / "footprint"
    run("cc", "-shared", "-fPIC", BENCH / "bench_plugin.c", "-o", plugin, *flags[:1])
    run("cc", BENCH / "footprint.c", "-o", program, *flags)
    microseconds, _again, _before, kilobytes = (int(word) for word in run(program, plugin).split())
    with capsys.disabled():
        print(
            f"\nlibrary {stripped.stat().st_size / 1e3:.0f} kB stripped, "
            f"C host with a native component {kilobytes} KiB resident, open {microseconds} us"
        )
    assert stripped.stat().st_size < 1_000_000
    assert kilobytes < 4096
