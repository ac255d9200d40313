"""What is installed with JAX, and what is said where it isn't there."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

HIDDEN = """
import sys
sys.path.insert(0, {package!r})
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hide())
import tesseract_host
try:
    import tesseract_host.jax
except ModuleNotFoundError as error:
    print(error.name, error)
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("jax", "jax tesseract_host.jax needs JAX: pip install tesseract-host[jax]"),
        ("opt_einsum", "opt_einsum No module named 'opt_einsum'"),  # one of what JAX needs
    ],
)
def test_what_is_missing_is_said(name: str, text: str) -> None:
    if name != "jax":
        pytest.importorskip("jax", reason="jax is not installed")
    script = textwrap.dedent(HIDDEN.format(package=str(ROOT / "python"), name=name))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == text, done.stderr


def test_the_extra_asks_for_the_oldest_jax_that_is_supported() -> None:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"] == {"jax": ["jax>=0.8"]}
    assert "tesseract-host[jax]" in (ROOT / "docs" / "jax.md").read_text()
