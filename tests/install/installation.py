"""Commands run as a user would, and the library as installed for one."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"
C_FLAGS = ("-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


def user_environment(**variables: str) -> dict[str, str]:
    """The environment without what would help a program to find our build."""
    dropped = ("TESSERACT_HOST_", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV", "PKG_CONFIG_PATH")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, **variables}


def run(*command: str | Path, cwd: Path | None = None, **variables: str) -> str:
    """Runs a command as a user would and returns what it printed; fails with its output."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=user_environment(**variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        words = " ".join(str(word) for word in command)
        pytest.fail(f"{words}\nexited with {done.returncode}:\n{done.stdout}", pytrace=False)
    return done.stdout


@dataclass(frozen=True)
class Installation:
    """An installed library: its command, and the variables a user of it sets to run programs."""

    command: Path
    variables: dict[str, str]

    def config(self, *flags: str) -> list[str]:
        """The words that ``tesseract-host config`` prints."""
        return run(self.command, "config", *flags).split()

    @property
    def include(self) -> Path:
        """The folder of the headers."""
        (flag,) = self.config("--cflags")
        return Path(flag.removeprefix("-I"))

    @property
    def library(self) -> Path:
        """The shared library itself."""
        (folder,) = self.config("--pkgconfigdir")
        return Path(folder).parent / "libtesseract_host.so.0"

    def build_square(self, library: Path, *flags: str) -> Path:
        """Compiles the component y = a x^2."""
        cflags = self.config("--cflags")
        source = PROGRAMS / "square.c"
        run("cc", *C_FLAGS, "-shared", "-fPIC", *cflags, *flags, source, "-o", library)
        return library
