"""Running of the programs in `programs/`, each a process with an end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"

# For the process as a whole.  A program ends itself long before, where it sees that it hangs.
LIMIT = 150


def run(
    program: str, *arguments: object, code: int = 0, limit: float = LIMIT, **environment: str
) -> str:
    """What a program writes; it must end by itself and return `code`."""
    here = str(Path(__file__).parent)
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([here, *filter(None, sys.path)]),
        "JAX_ENABLE_X64": "1",
        "XLA_FLAGS": "",  # one device, unless said otherwise
        **environment,
    }
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
        env=variables,
    )
    assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr[-8000:]}"
    return done.stdout
