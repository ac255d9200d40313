"""The types of tesseract_host.jax, as programs that use it meet them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "python"

PROGRAM = """
from typing import Any

import jax
import numpy as np
import tesseract_host.jax
from tesseract_host import Tesseract
from tesseract_host.jax import apply_tesseract, register, save_intermediates, sow


def value(t: Tesseract, x: jax.Array) -> jax.Array:
    out = apply_tesseract(
        t, {"x": x, "steps": 3}, vmap_method="sequential", materialize_jacobian=True,
        check_static_outputs=False,
    )
    y: jax.Array = sow(out["y"], "y", tag="mine")
    return y


def use(t: Tesseract) -> dict[str, dict[str, Any]]:
    same: Tesseract = register(
        t, stateful=True, zero_tangents=True, lane="carrier", in_place={"y": "x"}, batched=["x"]
    )
    apply_tesseract(same, {"x": np.ones(3)}, vmap_method=None, materialize_jacobian=None)
    text: str = sow("a", "name")
    result, found = save_intermediates(value, tag=text)(same, 1.0)
    assert result is not None
    names: list[str] = tesseract_host.jax.__all__
    return {name: found[name] for name in names}
"""

HEAD = "from tesseract_host import Tesseract\nimport tesseract_host.jax as j\nt: Tesseract"
WRONG = {
    "j.apply_tesseract('x', {})": "apply_tesseract",
    "j.apply_tesseract(t)": "apply_tesseract",
    "j.apply_tesseract(t, {}, None)": "apply_tesseract",
    "j.apply_tesseract(t, {}, vmap_method='all')": "vmap_method",
    "j.apply_tesseract(t, {}, materialize_jacobian='x')": "materialize_jacobian",
    "j.register(t, lane='fast')": "lane",
    "j.register(t, in_place=['y'])": "in_place",
    "j.register(t, batched=5)": "batched",
    "j.register(t, True)": "register",
    "j.sow(1)": "sow",
    "j.save_intermediates(1)": "save_intermediates",
    "j.nothing": "nothing",
}

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None or importlib.util.find_spec("jax") is None,
    reason="mypy or jax is not installed",
)


def mypy(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    cache = folder / "cache"
    options = ["--strict", "--follow-imports=silent", f"--cache-dir={cache}", "--no-error-summary"]
    return subprocess.run(
        [sys.executable, "-m", "mypy", *options, *arguments],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
    )


def test_programs_and_the_package_are_checked(tmp_path: Path) -> None:
    program, wrong = tmp_path / "program.py", tmp_path / "wrong.py"
    program.write_text(PROGRAM)
    wrong.write_text("\n".join([HEAD, *WRONG]) + "\n")
    done = mypy(str(program), folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    lines = mypy(str(wrong), folder=tmp_path).stdout.splitlines()
    for number, (line, name) in enumerate(WRONG.items(), HEAD.count("\n") + 2):
        found = [text for text in lines if text.startswith(f"{wrong.name}:{number}: error:")]
        assert any(name in text for text in found), (line, lines)
    done = mypy("-p", "tesseract_host.jax", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
