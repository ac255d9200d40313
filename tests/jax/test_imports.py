"""What importing does, and what of JAX is used."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tesseract_host

PACKAGE = Path(tesseract_host.__file__).parent / "jax"

# Names that came, went or moved between the supported releases.
BANNED = (
    "jax._src",
    "batching.not_mapped",
    "batching.moveaxis",
    "jax.core.get_aval",
    "mlir.custom_call",
    "jax.experimental.hijax",
)


def test_the_package_imports_no_jax() -> None:
    program = "import sys, tesseract_host; assert 'jax' not in sys.modules"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=60)


def test_importing_starts_no_backend() -> None:
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    program = (
        "import jax, tesseract_host.jax; jax.config.update('jax_platforms', 'cpu'); "
        "jax.config.update('jax_num_cpu_devices', 3); assert jax.device_count() == 3"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "XLA_FLAGS": ""}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=60)


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.name)
def test_only_lasting_names_are_used(path: Path) -> None:
    text = path.read_text()
    assert not [name for name in BANNED if name in text]
    assert len(text.splitlines()) < 600
    imported = {
        alias.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert "hijax" not in imported
