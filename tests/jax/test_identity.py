"""A component has one name, whichever thread asks first."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax_support
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp
from tesseract_host import Tesseract, _identity
from tesseract_host.jax import _adapter, apply_tesseract

THREADS = 8


@pytest.fixture(autouse=True)
def _quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_all(function: Callable[[], Any]) -> list[Any]:
    """What a function gives in several threads that start at once."""
    barrier = threading.Barrier(THREADS)
    found: list[Any] = []

    def run() -> None:
        barrier.wait(60)
        try:
            found.append(function())
        except BaseException as error:
            found.append(error)

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


@pytest.mark.parametrize("kind", ["python", "native"])
def test_threads_that_ask_at_once_get_one_name(kind: str) -> None:
    def opened() -> Any:
        if kind == "native":
            return Tesseract.from_library(jax_support.plugin("square"))
        return Tesseract.from_tesseract_api(jax_support.MODULES / "noop.py")

    kept = [opened() for _ in range(5)]
    names = [in_all(lambda t=t: t._client.identity) for t in kept]

    assert all(len(set(given)) == 1 for given in names), names
    base = names[0][0].rpartition("-")[0]
    ordinals = {int(given[0].rpartition("-")[2]) for given in names}
    assert len(ordinals) == len(kept)
    assert ordinals <= _identity._taken[base]


def test_threads_that_call_first_at_once_are_all_served(tmp_path: Path) -> None:
    jax_support.needs_adapter()
    for _ in range(5):
        tesseract = Tesseract.from_tesseract_api(jax_support.MODULES / "noop.py")
        added = in_all(lambda t=tesseract: _adapter.add(t._client))
        assert len(set(added)) == 1
        found = in_all(
            lambda t=tesseract: jax.jit(lambda x: apply_tesseract(t, {"x": x})["y"])(
                jnp.arange(3.0)
            ).tolist()
        )
        assert found == [[0.0, 1.0, 2.0]] * THREADS
