"""Files beside the module, sibling packages, environment, working directory, streams."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64

from looking import look

sys.path.insert(0, str(Path(__file__).parent / "nothing"))
HERE = Path(__file__).resolve().parent
AXIS = len("constant")
AT_IMPORT = os.environ.get("ZOO_NOT_SET", "default")
print("importing", file=sys.stderr)


class InputSchema(BaseModel):
    x: Array[(AXIS,), Float64] = np.zeros(AXIS)


class OutputSchema(BaseModel):
    seen: Any


def apply(inputs):
    import subprocess

    from looking import look as again

    before = os.getcwd()
    os.chdir(HERE)
    try:
        found = Path("looking.py").exists()
    finally:
        os.chdir(before)
    done = subprocess.run(["echo", "child"], capture_output=True, text=True)
    print("printed")
    sys.stdout.flush()
    seen = {
        "sibling": again is look,
        "found": found,
        "child": done.stdout,
        "main": sys.modules[__name__].apply is apply,
        "file": Path(__file__).name,
        "environment": AT_IMPORT,
        "name": __name__.rpartition(".")[2],
        "sum": float(inputs.x.sum()),
    }
    return {"seen": seen}


CALLS = [("apply", {}), ("apply", {"x": [1] * 8}), ("apply", {"x": [1] * 7})]
