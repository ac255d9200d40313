"""Calls of Python components by tesseract-host, and of the same modules by tesseract-core.

    python_call.py PROGRAM MODULES [SECONDS]

tesseract-core runs in this interpreter, or in the one that TESSERACT_CORE_PYTHON names, where it is
installed there; else only the program's figures are printed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _vector(length: int = 3, dtype: str = "float32") -> Any:
    import numpy as np

    return np.zeros(length, dtype=dtype)


def cases() -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Module, endpoint and arguments by the name of the case."""
    three = {"a": _vector(), "b": _vector(), "s": _vector()[0]}
    gradient = {
        "inputs": three,
        "vjp_inputs": ["a"],
        "vjp_outputs": ["y"],
        "cotangent_vector": {"y": _vector()},
    }
    nested = {
        "part": {"x": _vector(), "y": _vector()},
        "table": {name: _vector() for name in ("one", "two", "three")},
        "steps": [_vector() for _ in range(5)],
    }
    found = {
        "2 arrays + 1 scalar -> dict": ("dict_result", "apply", {"inputs": three}),
        "2 arrays + 1 scalar -> OutputSchema": ("schema_result", "apply", {"inputs": three}),
        "8 arrays -> 4 arrays": (
            "eight_to_four",
            "apply",
            {"inputs": {name: _vector() for name in "abcdefgh"}},
        ),
        "nested model + dict of 3 + list of 5": ("nested", "apply", {"inputs": nested}),
        "field and model validators": ("validators", "apply", {"inputs": three}),
        "vjp, one path": ("dict_result", "vector_jacobian_product", gradient),
    }
    for size in (1 << 10, 1 << 20, 10 << 20):
        payload = {"inputs": {"x": _vector(size // 8, "float64")}}
        found[f"{size >> 10} KiB -> the same"] = ("growth", "apply", payload)
    for size in (1 << 20, 8 << 20):
        payload = {"inputs": {"length": size // 8}}
        found[f"{size >> 20} MiB made, host allocates"] = ("makes", "apply", payload)
    return found


def best_of(call: Callable[[], Any], seconds: float, batch: int = 1) -> float:
    """Nanoseconds of one call, the least over batches of this many."""
    end = time.monotonic() + seconds
    best = float("inf")
    while time.monotonic() < end:
        begin = time.perf_counter_ns()
        for _ in range(batch):
            call()
        best = min(best, (time.perf_counter_ns() - begin) / batch)
    return best


def _nothing() -> None:
    pass


def run_reference(modules: Path, seconds: float) -> None:
    """Prints the figures of tesseract-core."""
    from tesseract_core import Tesseract

    empty = best_of(_nothing, 0.2, batch=1000)
    print("tesseract-core, from Python in its process: nanoseconds; multiple of an empty call")
    found = cases()
    for name, (module, endpoint, payload) in found.items():
        tesseract = Tesseract.from_tesseract_api(modules / f"{module}.py")
        function = getattr(tesseract, endpoint)
        nanoseconds = best_of(lambda f=function, p=payload: f(**p), seconds / len(found))
        print(f"{nanoseconds:10.1f}  {nanoseconds / empty:8.1f} x  {name}", flush=True)


def has_reference(python: str) -> bool:
    """True if that interpreter has tesseract-core."""
    code = "import importlib.util as u, sys; sys.exit(u.find_spec('tesseract_core') is None)"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


def main() -> None:
    if sys.argv[1] == "--reference":
        run_reference(Path(sys.argv[2]), float(sys.argv[3]))
        return
    program, modules = sys.argv[1:3]
    seconds = sys.argv[3] if len(sys.argv) > 3 else "10"
    subprocess.run([program, modules, seconds], check=True)
    python = os.environ.get("TESSERACT_CORE_PYTHON", sys.executable)
    if has_reference(python):
        subprocess.run([python, __file__, "--reference", modules, seconds], check=True)
    else:
        print(f"tesseract-core is not installed for {python}")


if __name__ == "__main__":
    main()
