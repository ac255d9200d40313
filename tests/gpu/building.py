"""Builds what the rows need, with what is on this machine: nothing is downloaded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXAMPLE = ROOT / "examples/plugin-cuda"


class Failure(Exception):
    """A build that didn't work; the text ends with what it printed."""


def command(*words: str | Path, **variables: str) -> None:
    """Runs a command quietly."""
    done = subprocess.run(
        [str(word) for word in words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, **variables},
        check=False,
    )
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, words))}\n{done.stdout}")


def library(folder: Path, options: list[str]) -> Path:
    """Builds the library and what Python needs, for this interpreter; returns the prefix."""
    build, prefix = folder / "build", folder / "prefix"
    # The tools of a virtual environment that is used without being active.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for name in ("meson", "ninja"):
        if shutil.which(name) is None:
            raise Failure(f"there is no {name} on PATH; or name a built library by --prefix")
    if not (build / "build.ninja").exists():
        settings = ["-Dtests=false", "-Dbench=false", "-Dtool=false", "-Ddocs=false"]
        settings += ["-Dfortran=disabled", f"-Dpythons={sys.executable}", "--libdir=lib"]
        wrap = "--wrap-mode=nodownload"
        command("meson", "setup", build, ROOT, f"--prefix={prefix}", wrap, *settings, *options)
    command("meson", "compile", "-C", build)
    command("meson", "install", "-C", build, "--no-rebuild", "--quiet")
    return prefix


def parts(folder: Path, prefix: Path) -> str | None:
    """Compiles components and programs of the rows; returns why there are none in CUDA."""
    include = ["-I", str(prefix / "include")]
    compiler = os.environ.get("CC", "cc").split()
    for name in ("double", "nothing"):
        target = folder / f"lib{name}.so"
        command(*compiler, "-O2", "-shared", "-fPIC", *include, HERE / f"{name}.c", "-o", target)
    questions = ROOT / "tests/fake_cuda/facts.cpp"
    compiler = os.environ.get("CXX", "c++").split()
    command(
        *compiler, "-std=c++20", questions, "-o", folder / "fake-cuda-facts", "-ldl", "-pthread"
    )
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        return "there is no nvcc on PATH or in /usr/local/cuda/bin"
    # The wheels' nvcc doesn't look into their folder of libraries.
    shared = [nvcc, "-std=c++20", "-O2", "-cudart=static", *include]
    shared += ["-L", str(Path(nvcc).resolve().parents[1] / "lib")]
    linked = ["-L", prefix / "lib", "-ltesseract_host", f"-Xlinker=-rpath={prefix / 'lib'}"]
    kernels = [*shared, "-arch=native"]
    component = [EXAMPLE / "diffusion.cu", "-o", folder / "libdiffusion.so"]
    command(*kernels, "-shared", "-Xcompiler=-fPIC,-fvisibility=hidden", *component)
    command(*kernels, HERE / "native.cu", "-o", folder / "native", *linked)
    command(*shared, EXAMPLE / "call.cpp", "-o", folder / "call", *linked)
    return None


def environment(prefix: Path) -> dict[str, str]:
    """The variables by which Python and the programs find the library."""
    package = prefix / "lib/tesseract_host/python"
    paths = [str(package), os.environ.get("PYTHONPATH", "")]
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "TESSERACT_HOST_PYTHON": sys.executable,
        # JAX shall leave memory to the others.
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }
