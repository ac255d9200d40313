"""The rows of the table: what one is, and how those of one file are run.

A file in `checks/` holds functions marked by `row`.  They pass by returning (None, or a text that
the table shows), fail by raising, and raise `NotRun` where something is missing.  Files import
nothing but the standard library and what lies here at their top, so that they can be listed
anywhere.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROVED, FAILED, NOT_RUN = "proved", "FAILED", "not run"


class NotRun(Exception):
    """What a row needs isn't here; the text says what."""


@dataclass(frozen=True)
class Row:
    """One line of the table: what it claims, the Python packages it needs, how it is proved."""

    claim: str
    needs: tuple[str, ...]
    prove: Callable[[Bench], str | None]


_rows: list[Row] = []


def row(claim: str, *needs: str) -> Callable[[Callable[[Bench], str | None]], Callable[..., Any]]:
    """Marks a function as the proof of a claim, which needs these packages."""

    def mark(prove: Callable[[Bench], str | None]) -> Callable[[Bench], str | None]:
        _rows.append(Row(claim, needs, prove))
        return prove

    return mark


def rows_of(check: str) -> list[Row]:
    """The rows of a file in `checks/`, in its order."""
    _rows.clear()
    sys.modules.pop(f"checks.{check}", None)
    importlib.import_module(f"checks.{check}")
    return list(_rows)


def checks() -> list[str]:
    """The names of the files in `checks/`."""
    return sorted(path.stem for path in (HERE / "checks").glob("*.py"))


class Bench:
    """What a row works with: the driver, and what `run` has built."""

    modules = HERE / "modules"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def driver(self) -> Any:
        from driver import Driver

        return Driver()

    def array(self, values: Any, stream: int | None = None) -> Any:
        """A copy of a NumPy array on the GPU."""
        from driver import DeviceArray

        return DeviceArray(self.driver, values, stream)

    def built(self, name: str) -> Path:
        """A file that was built, in C or, where there is a compiler for it, CUDA."""
        path = self._folder / name
        if not path.exists():
            raise NotRun(f"{name} was not built: there is no nvcc")
        return path

    def through_abi(self, module: str, **options: Any) -> Any:
        """A Python module, called through the C interface: arguments become tensors on the way."""
        from tesseract_host import Tesseract

        path = self.modules / module / "tesseract_api.py"
        return Tesseract.from_library(path, options={"loader": "python", **options})

    def native(self, *words: Any) -> str:
        """Runs the program in CUDA C++; returns what it printed."""
        program = self.built("native")
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
        if done.returncode == 77:
            raise NotRun(done.stderr.strip())
        if done.returncode != 0:
            raise AssertionError(done.stderr.strip() or f"exited with {done.returncode}")
        return done.stdout.strip()

    def read(self, result: Any) -> Any:
        """A result as a NumPy array, wherever it is."""
        return result.get() if hasattr(result, "get") else result


def gpu_jax() -> Any:
    """JAX with float64, on a GPU."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    jax.config.update("jax_enable_x64", True)
    if jax.default_backend() not in ("gpu", "cuda"):
        raise NotRun(f"jax runs on {jax.default_backend()}: its CUDA plugin is not installed")
    return jax


def gpu_torch() -> Any:
    """torch, which sees a GPU."""
    import torch

    if not torch.cuda.is_available():
        raise NotRun("torch sees no GPU: it was built without CUDA, or for another driver")
    return torch


def pointer_of(array: Any) -> int:
    """The address that an array object says it is at."""
    return int(array.__cuda_array_interface__["data"][0])


def outcome_of(row: Row, bench: Bench) -> tuple[str, str]:
    """Runs a row: its outcome and a detail in one line."""
    missing = [name for name in row.needs if importlib.util.find_spec(name) is None]
    if missing:
        return NOT_RUN, f"{missing[0]} is not installed"
    try:
        detail = row.prove(bench) or ""
    except NotRun as reason:
        return NOT_RUN, str(reason)
    except Exception as error:
        traceback.print_exc()
        return FAILED, f"{type(error).__name__}: {error}".splitlines()[0]
    return PROVED, detail


def main() -> None:
    """rows.py CHECK FOLDER RESULTS: runs the rows of a file and writes a line for each."""
    sys.modules["rows"] = sys.modules["__main__"]  # which the files import
    check, folder, results = sys.argv[1:]
    bench = Bench(Path(folder))
    with open(results, "a") as file:
        for one in rows_of(check):
            outcome, detail = outcome_of(one, bench)
            print(json.dumps([one.claim, outcome, detail]), file=file, flush=True)


if __name__ == "__main__":
    main()
