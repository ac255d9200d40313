"""Fixtures of the tests of tesseract_host.jax.

All tests of behaviour run in each lane that this build has: Python components straight from XLA,
and by JAX's callback.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("tesseract_host") is None:  # run from the source tree
    sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

# Two devices, for sharding; to be said before JAX starts.
if "jax" not in sys.modules:
    flags = os.environ.get("XLA_FLAGS", "")
    if "host_platform_device_count" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count=2".strip()

import jax_support

Open = Callable[..., jax_support.Opened]


@pytest.fixture(autouse=True)
def _wide(request: pytest.FixtureRequest) -> Iterator[None]:
    """64 bits, unless a test is marked as narrow."""
    jax = pytest.importorskip("jax", reason="jax is not installed")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", request.node.get_closest_marker("narrow") is None)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(params=["python", "carrier", "client"])
def lane(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How Python components are called from compiled programs.

    "client" is the carrier lane of a build without the adapter.
    """
    pytest.importorskip("jax", reason="jax is not installed")
    if request.param != "client":
        jax_support.needs_adapter()
        return str(request.param)
    from tesseract_host.jax import _adapter

    monkeypatch.setattr(_adapter, "missing", lambda: "switched off by a test")
    return "carrier"


@pytest.fixture
def opened(lane: str, tmp_path: Path) -> Open:
    """Opens a module by the name of its file, or by its source, in the lane of the test."""
    number = iter(range(100))

    def open_(module: str, **options: Any) -> jax_support.Opened:
        options.setdefault("lane", lane)
        return jax_support.open_(module, tmp_path / str(next(number)), **options)

    return open_


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "narrow: JAX's 64 bits are off")
