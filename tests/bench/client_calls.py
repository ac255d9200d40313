"""What `Tesseract.apply` costs from Python, beside tesseract-core's in the same process.

    python tests/bench/client_calls.py [--calls N] [--plugin libbench_plugin.so]

The module's function only returns what it made before, so what is printed is the cost of the call.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

import numpy as np
from tesseract_host import Tesseract

HEAD = """
import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float32
Vector = Array[(None,), Float32]
"""

SMALL = f"""{HEAD}
class InputSchema(BaseModel):
    a: Differentiable[Vector]
    b: Differentiable[Vector]
    c: float
class OutputSchema(BaseModel):
    y: Differentiable[Vector]
y = np.ones(3, np.float32)
def apply(inputs):
    return {{"y": y}}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return {{"a": y}}
"""

LARGE = f"""{HEAD}
class InputSchema(BaseModel):
{"".join(f"    a{i}: Vector{chr(10)}" for i in range(8))}
class OutputSchema(BaseModel):
{"".join(f"    y{i}: Vector{chr(10)}" for i in range(4))}
ys = {{f"y{{i}}": np.ones(3, np.float32) for i in range(4)}}
def apply(inputs):
    return dict(ys)
"""

X = np.ones(3, np.float32)


def cases(small: Any, large: Any) -> dict[str, Callable[[], Any]]:
    """The timed calls of two opened modules."""
    two = {"a": X, "b": X, "c": 2.0}
    eight = {f"a{i}": X for i in range(8)}
    seed = {"y": X}
    return {
        "apply, 2 arrays + 1 scalar -> 1 array": lambda: small.apply(two),
        "apply, 8 arrays -> 4 arrays": lambda: large.apply(eight),
        "vjp, one path": lambda: small.vector_jacobian_product(two, ["a"], ["y"], seed),
    }


def native_cases(plugin: str) -> dict[str, Callable[[], Any]]:
    """The timed calls of a native component."""
    options = {"inputs": 2, "outputs": 1, "number": True}
    native = Tesseract.from_library(plugin, options=options)
    x = np.ones((8, 8))
    inputs = {"x0": x, "x1": x, "c": 2.0}
    return {"native apply, 2 arrays + 1 scalar": lambda: native.apply(inputs)}


def cost(call: Callable[[], Any], calls: int) -> tuple[float, float]:
    """Microseconds of a call: minimum and median of many batches."""
    for _ in range(max(calls // 20, 5)):
        call()
    batch = max(calls // 200, 1)
    times = []
    for _ in range(200):
        start = time.perf_counter()
        for _ in range(batch):
            call()
        times.append((time.perf_counter() - start) / batch * 1e6)
    return min(times), statistics.median(times)


def opened(class_: Any, folder: Path) -> dict[str, Callable[[], Any]]:
    """The cases by one of the two classes."""
    files = []
    for name, source in (("small", SMALL), ("large", LARGE)):
        file = folder / name / "tesseract_api.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(source)
        files.append(class_.from_tesseract_api(file))
    return cases(*files)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--plugin", default=os.environ.get("TESSERACT_HOST_BENCH_PLUGIN"))
    arguments = parser.parse_args()
    calls = arguments.calls
    with tempfile.TemporaryDirectory() as folder:
        ours = opened(Tesseract, Path(folder))
        if arguments.plugin:
            ours.update(native_cases(arguments.plugin))
        try:
            from tesseract_core import Tesseract as Reference

            theirs = opened(Reference, Path(folder))
        except ImportError:
            print("tesseract-core[runtime] is not installed: nothing to compare with")
            theirs = {}
        print(f"{'microseconds a call: minimum (median)':40} {'tesseract_host':>18}", end="")
        print(f" {'tesseract_core':>18}")
        for name, call in ours.items():
            cells = [cost(call, calls)]
            if name in theirs:
                cells.append(cost(theirs[name], min(calls, 2000)))
            text = " ".join(f"{low:8.2f} ({middle:7.2f})" for low, middle in cells)
            print(f"{name:40} {text}")


if __name__ == "__main__":
    main()
