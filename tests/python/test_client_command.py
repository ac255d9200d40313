"""`python -m tesseract_host inspect`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import support

PACKAGE = Path(__file__).parents[2] / "python"

MODULE = """
import enum
class Kind(enum.Enum):
    A = "a"
    B = "b"
class InputSchema(BaseModel):
    x: Differentiable[Array[(None, 3), "float64"]]
    w: Array[..., None] = None
    many: list[float] = list(range(100))
    k: Kind = Kind.A
    name: Optional[str] = None
class OutputSchema(BaseModel):
    y: Differentiable[Float32]
    n: int
def apply(inputs): ...
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector): ...
"""

PAGE = """component

inputs
  path     type          shape
  x        float64       [?, 3]    differentiable
  w        any           any rank  optional
  many.[]  number                  optional
  k        string                  default "a", one of a, b
  name     string, null            optional

outputs
  path  type     shape
  y     float32  []     differentiable
  n     integer

endpoints
  apply  offered  general: no engine: TESSERACT_HOST_ENGINE is 0
  vjp    offered  general: no engine: TESSERACT_HOST_ENGINE is 0

properties
  threads    concurrent
  reentrant  true
  devices    cpu
"""


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tesseract_host", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE), "TESSERACT_HOST_ENGINE": "0"},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return support.write(tmp_path / "component", MODULE)


def test_the_page_of_a_module_for_devices(source: Path) -> None:
    options = {"gpu_transport": "cuda_ipc", "stream_ordered": True}
    done = run("inspect", source, "--options", json.dumps(options))
    assert (done.returncode, done.stderr) == (0, "")
    shown = [line.split() for line in done.stdout.splitlines()]
    assert ["devices", "cpu,", "cuda"] in shown and ["stream_ordered", "true"] in shown


def test_the_page(source: Path) -> None:
    options = ["--options", '{"threads": "concurrent"}']
    done = run("inspect", source, *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == PAGE
    assert run("inspect", source.parent, *options).stdout == done.stdout


def test_json_and_schema(source: Path) -> None:
    document = json.loads(run("inspect", source, "--json").stdout)
    assert [leaf["path"] for leaf in document["outputs"]] == ["y", "n"]
    assert document["endpoints"] == {"apply": "offered", "vjp": "offered"}
    assert list(document["x-routes"]) == ["apply", "vjp"]
    published = json.loads(run("inspect", "--openapi", source).stdout)
    assert "/vector_jacobian_product" in published["paths"]


def test_failures(source: Path, tmp_path: Path) -> None:
    missing = run("inspect", tmp_path / "nowhere.py")
    assert missing.returncode == 1 and "nowhere.py does not exist" in missing.stderr
    broken = support.write(tmp_path / "broken", "raise KeyError('why')")
    done = run("inspect", broken)
    assert done.returncode == 1 and "KeyError: 'why'" in done.stderr and "line" in done.stderr
    for options in ("[]", "{", '{"unknown": 1}'):
        done = run("inspect", source, "--options", options)
        assert done.returncode == 1 and done.stderr.startswith("tesseract-host: ")
    assert run("inspect", source, "--json", "--openapi").returncode == 2


def test_other_commands_need_the_program(source: Path) -> None:
    if (PACKAGE / "tesseract_host" / "bin").exists():
        pytest.skip("the program is there")
    for arguments in ([], ["apply", source], ["inspect", "native.so"]):
        done = run(*arguments)
        assert done.returncode == 1 and "not installed from a wheel" in done.stderr
