"""Compares our declarations of XLA's interface with the headers of installed jaxlibs.

layout.py LAYOUT.C CC PYTHON...: looks for a jaxlib in the interpreters given, and in the folders
that TESSERACT_JAXLIB_INCLUDE names.  Without any it is skipped (exit status 77).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FIND = """
import importlib.util
spec = importlib.util.find_spec("jaxlib")
print(spec.submodule_search_locations[0] if spec else "")
"""


def include_folders(pythons: list[str]) -> list[Path]:
    """The folders with XLA's header, each once."""
    given = os.environ.get("TESSERACT_JAXLIB_INCLUDE", "")
    folders = [Path(folder) for folder in given.split(os.pathsep) if folder]
    for python in pythons:
        asked = subprocess.run([python, "-c", FIND], capture_output=True, text=True, check=False)
        if asked.returncode == 0 and asked.stdout.strip():
            folders.append(Path(asked.stdout.strip()) / "include")
    return [f for f in dict.fromkeys(folders) if (f / "xla/ffi/api/c_api.h").is_file()]


def main(layout: str, compiler: str, *pythons: str) -> int:
    folders = include_folders([sys.executable, *pythons])
    if not folders:
        print("skipped: no jaxlib is installed to compare with; TESSERACT_JAXLIB_INCLUDE names one")
        return 77
    command = [*compiler.split(), "-std=c11", "-Wall", "-Werror", "-fsyntax-only", layout]
    failures = 0
    for folder in folders:
        done = subprocess.run([*command, "-isystem", str(folder)], check=False)
        print(f"{'differs from' if done.returncode else 'as in'} {folder}")
        failures += done.returncode != 0
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
