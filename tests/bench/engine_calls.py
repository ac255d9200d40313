"""Nanoseconds per call of a component from Python, beside tesseract-core where that is installed.

    python tests/bench/engine_calls.py

Each figure is the minimum of many batches, over a module whose functions do nothing else; the first
is an empty Python function.  `TESSERACT_HOST_LOADER_PATH` names the folder of an uninstalled build.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
if (ROOT / "python" / "tesseract_host").is_dir():
    sys.path.insert(0, str(ROOT / "python"))

HEAD = """
import numpy as np
from pydantic import BaseModel, field_validator, model_validator
from tesseract_core.runtime import Array, Differentiable, Float32
V = Differentiable[Array[(None,), Float32]]
R = np.zeros(3, "f4")
"""

TWO = """
class InputSchema(BaseModel):
    a: V
    b: V
    s: Float32
class OutputSchema(BaseModel):
    y: V
def apply(inputs):
    return {"y": R}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return {"a": R}
"""

INSTANCE = TWO.replace('return {"y": R}', "return OutputSchema(y=R)")

EIGHT = """
class InputSchema(BaseModel):
    a: V; b: V; c: V; d: V; e: V; f: V; g: V; h: V
class OutputSchema(BaseModel):
    w: V; x: V; y: V; z: V
def apply(inputs):
    return {"w": R, "x": R, "y": R, "z": R}
"""

NESTED = """
class Inner(BaseModel):
    p: V
    q: V
class InputSchema(BaseModel):
    i: Inner
    d: dict[str, V]
    xs: list[V]
class OutputSchema(BaseModel):
    y: V
def apply(inputs):
    return {"y": R}
"""

VALIDATORS = """
class InputSchema(BaseModel):
    a: V
    b: V
    s: Float32
    @field_validator("a")
    @classmethod
    def _same(cls, value):
        return value
    @model_validator(mode="after")
    def _all(self):
        return self
class OutputSchema(BaseModel):
    y: V
def apply(inputs):
    return {"y": R}
"""

A = np.zeros(3, "f4")
PLAIN = {"a": A, "b": A, "s": 1.0}
VECTOR = {"y": A}

CASES: list[tuple[str, str, tuple[Any, ...]]] = [
    ("2 arrays + 1 scalar to dict", TWO, (PLAIN,)),
    ("2 arrays + 1 scalar to OutputSchema", INSTANCE, (PLAIN,)),
    ("8 arrays to 4", EIGHT, (dict.fromkeys("abcdefgh", A),)),
    (
        "nested model + dict of 3 + list of 5",
        NESTED,
        ({"i": {"p": A, "q": A}, "d": dict.fromkeys("xyz", A), "xs": [A] * 5},),
    ),
    ("field and model validators", VALIDATORS, (PLAIN,)),
    ("vjp, one path", TWO, (PLAIN, ["a"], ["y"], VECTOR)),
]


def measure(function: Callable[..., Any], given: tuple[Any, ...], seconds: float = 0.6) -> float:
    """The least nanoseconds per call of a few hundred batches."""
    clock = time.perf_counter_ns
    start = clock()
    function(*given)
    batch = max(1, min(2000, int(2e6 / max(1, clock() - start))))
    repeat, best, end = range(batch), float("inf"), clock() + seconds * 1e9
    while clock() < end:
        begin = clock()
        for _ in repeat:
            function(*given)
        best = min(best, (clock() - begin) / batch)
    return best


def reference(path: Path, given: tuple[Any, ...]) -> Callable[..., Any] | None:
    """tesseract-core's endpoint of the same module; None where it isn't installed."""
    try:
        from tesseract_core import Tesseract
    except ImportError:
        return None
    opened = Tesseract.from_tesseract_api(path)
    return opened.apply if len(given) == 1 else opened.vector_jacobian_product


def main() -> None:
    """Prints the table."""
    from tesseract_host import _engine, loader
    from tesseract_host.loader import calls

    print(
        f"Python {sys.version.split()[0]}, NumPy {np.__version__}, engine {_engine.missing or 'on'}"
    )
    print(f"{'case':40}{'caller':>9}{'call()':>9}{'general':>9}{'tesseract-core':>16}")
    print(f"{'empty function':40}{measure(lambda _: None, (None,)):9.0f}")
    if _engine.native is not None:
        make = _engine.native.make_device_arrays
        rounds = 1000
        figure = measure(make, (8, rounds)) / rounds
        print(f"{'8 device arrays made and revoked':40}{figure:9.0f}")
    for name, source, given in CASES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tesseract_api.py"
            path.write_text(HEAD + source)
            opened = loader.open(str(path))
            endpoint = "apply" if len(given) == 1 else "vjp"
            names = calls.parameters(endpoint)
            payload = dict(zip(names, given, strict=True))
            figures = [
                measure(opened.caller(endpoint), given),
                measure(opened.call, (endpoint, payload)),
                measure(calls.call, (opened, endpoint, payload)),
            ]
            other = reference(path, given)
            line = "".join(f"{figure:9.0f}" for figure in figures)
            print(f"{name:40}{line}{measure(other, given) if other else float('nan'):16.0f}")


if __name__ == "__main__":
    main()
