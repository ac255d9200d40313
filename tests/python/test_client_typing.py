"""The package's types, as programs that use it meet them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "python"

PUBLIC = [
    "tesseract_host",
    "tesseract_host.cli",
    "tesseract_host.client",
    "tesseract_host.exceptions",
    "tesseract_host.inspection",
    "tesseract_host.regression",
    "tesseract_host.runtime",
    "tesseract_host.runtime.errors",
    "tesseract_host.runtime.schema_types",
]

PROGRAM = """
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import tesseract_host
from tesseract_host import Tesseract
from tesseract_host.exceptions import EndpointError, OpenError


def load(source: str | Path | ModuleType) -> Tesseract:
    return Tesseract.from_tesseract_api(
        source, input_path="in", output_path=Path("out"), output_format="json",
        gpu_transport="none", runtime_config={"name": "n"}, stream_logs=print, threads="concurrent",
    )


def use(t: Tesseract) -> dict[str, Any]:
    with t as same:
        try:
            y = same.apply({"x": np.zeros(3)})
        except (EndpointError, OpenError) as error:
            raise SystemExit(str(error)) from error
    t.jacobian({"x": 1}, ["x"], ("y",), run_id="r")["y"]["x"]
    Tesseract.from_tesseract_api("tesseract_api.py", threads="owner")
    Tesseract.from_library(Path("l.so"), options={"n": 1}, threads="owner", derive=True, log=print)
    t.jacobian_vector_product({"x": 1}, {"x"}, ["y"], {"x": 1.0})
    gradient = t.vector_jacobian_product({"x": 1}, ["x"], ["y"], {"y": 1.0})
    t.abstract_eval({"x": {"shape": (3,), "dtype": "float64"}})
    t.test({"endpoint": "apply", "payload": {}, "expected_outputs": y})
    names: list[str] = t.available_endpoints
    view: Tesseract = t.with_encoding(compression="lz4")
    assert view.current_encoding.compression == names[0]
    assert hash(t) and t.input_schema.model_fields and t.openapi_schema["info"]
    assert t.health()["status"] == t.resolve_gpu_transport() == tesseract_host.__version__
    return gradient
"""

AUTHORS = """
from pydantic import BaseModel
from tesseract_host.runtime import Array, Differentiable, Float32, OutOfDomain, ShapeDType
from tesseract_host.runtime.schema_types import Complex64, is_differentiable


class InputSchema(BaseModel):
    x: Differentiable[Array[(None, 3), "float64"]]
    s: Float32 = 2.0
    e: dict[str, Array[..., None]] = {}
    c: Complex64 | None = None


class OutputSchema(BaseModel):
    y: Differentiable[Float32]


def apply(inputs: InputSchema) -> OutputSchema:
    if inputs.s < 0 or is_differentiable(Float32):
        raise OutOfDomain("negative")
    return OutputSchema(y=inputs.s * inputs.x.sum())


def abstract_eval(abstract_inputs: InputSchema) -> dict[str, ShapeDType]:
    return {"y": ShapeDType(shape=(), dtype="float32")}
"""

WRONG = {
    "Tesseract.from_tesseract_api('x', stream_logs=5)": "stream_logs",
    "Tesseract.from_tesseract_api('x', output_format='yaml')": "output_format",
    "Tesseract.from_tesseract_api('x', threads='many')": "threads",
    "Tesseract.from_library('x', threads='serial')": "threads",
    "Tesseract.from_library('x', {})": "from_library",
    "Tesseract.from_tesseract_api('x').apply([1])": "apply",
    "Tesseract.from_tesseract_api('x').jacobian({}, 5, ['y'])": "jacobian",
    "Tesseract.from_tesseract_api('x').nothing": "nothing",
    "tesseract_host.nothing_else": "nothing_else",
}

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None, reason="mypy is not installed"
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


def test_programs_are_checked(tmp_path: Path) -> None:
    author = tmp_path / "author.py"
    author.write_text(AUTHORS)
    program, wrong = tmp_path / "program.py", tmp_path / "wrong.py"
    program.write_text(PROGRAM)
    head = ["import tesseract_host", "from tesseract_host import Tesseract"]
    wrong.write_text("\n".join([*head, *WRONG]) + "\n")
    done = mypy(str(program), str(author), folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    lines = mypy(str(wrong), folder=tmp_path).stdout.splitlines()
    for number, (line, name) in enumerate(WRONG.items(), len(head) + 1):
        found = [text for text in lines if text.startswith(f"{wrong.name}:{number}: error:")]
        assert any(name in text for text in found), (line, lines)


def test_the_package_is_strict(tmp_path: Path) -> None:
    modules = [word for name in PUBLIC for word in ("-m", name)]
    done = mypy(*modules, folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "tesseract_host" / "py.typed").is_file()
