"""The console script of the wheel: hands over to the program that the wheel holds."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn


def main() -> NoReturn:
    """Replaces this process by ``tesseract-host`` with the same arguments."""
    program = Path(__file__).resolve().parent / "bin" / "tesseract-host"
    if not program.is_file():
        sys.exit(
            f"tesseract-host: {program} is missing: this package was not installed from a wheel; "
            "use the command that was installed with the library"
        )
    os.execv(program, ["tesseract-host", *sys.argv[1:]])
