"""The components of the programs, by kind: each gives y = x + 1, unless said otherwise."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax_support
from tesseract_host import Tesseract
from tesseract_host.jax import apply_tesseract, register

PLUGINS = Path(os.environ.get("TESSERACT_HOST_TEST_PLUGINS", ""))

# kind: (module, lane)
MODULES: dict[str, tuple[str, Any]] = {
    "python": ("serial", None),
    "carrier": ("serial", "carrier"),
    "other": ("noop", "carrier"),  # y = x
    "straight": ("serial", "native"),  # on any thread of XLA's
    "nested": ("uses_jax", None),
    "twice": ("uses_jax", None),
    "late": ("uses_jax_late", None),
    "unseen": ("uses_jax_late", "python"),  # as if nobody could have told
}


def open_(kind: str) -> Tesseract:
    """A component of a kind: one of MODULES, or "native", which gives y = x."""
    if kind == "native":
        return Tesseract.from_library(PLUGINS / "libstateful.so")
    name, lane = MODULES[kind]
    tesseract = Tesseract.from_tesseract_api(jax_support.MODULES / f"{name}.py")
    if kind == "twice":
        module_of(tesseract).INNER = open_("nested")
    return register(tesseract, lane=lane)


def module_of(tesseract: Tesseract) -> Any:
    """The Python module of a component."""
    return tesseract._client.component.module


def call_of(tesseract: Tesseract) -> tuple[Callable[[Any], Any], float]:
    """A function of arrays that calls the component, and what it adds to them."""
    added = 0.0 if tesseract._client.kind == "native" else 1.0
    return lambda x: apply_tesseract(tesseract, {"x": x})["y"], added
