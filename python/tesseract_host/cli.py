"""The console script: hands over to the program that the wheel holds."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn


def main() -> NoReturn:
    """Replaces this process by ``tesseract-host`` with the same arguments."""
    replace(sys.argv[1:])


def replace(arguments: Sequence[str]) -> NoReturn:
    """Replaces this process by ``tesseract-host``; without one, ``inspect`` still does modules."""
    program = Path(__file__).resolve().parent / "bin" / "tesseract-host"
    if program.is_file():
        os.execv(program, ["tesseract-host", *arguments])
    if _is_for_here(arguments):
        sys.exit(inspect(arguments[1:]))
    sys.exit(
        f"tesseract-host: {program} is missing: this package was not installed from a wheel; "
        "use the command that was installed with the library"
    )


def run_module(arguments: Sequence[str]) -> int:
    """What ``python -m tesseract_host`` does; the exit status."""
    if _is_for_here(arguments):
        return inspect(arguments[1:])
    replace(arguments)


def inspect(arguments: Sequence[str]) -> int:
    """Shows a Python module, which this interpreter runs; the exit status."""
    from tesseract_host import inspection

    return inspection.main(arguments)


def _is_for_here(arguments: Sequence[str]) -> bool:
    """True for ``inspect`` of a Python module."""
    if not arguments or arguments[0] != "inspect":
        return False
    return any(
        word.endswith(".py") or Path(word, "tesseract_api.py").is_file() for word in arguments[1:]
    )
