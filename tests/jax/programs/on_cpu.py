"""Components called on the CPU, and programs for CUDA made of them; prints the driver if loaded.

Arguments: a native component, a module.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from tesseract_host import Tesseract
from tesseract_host.jax import apply_tesseract

plugin, module = sys.argv[1:]


def use(tesseract: Any) -> None:
    """Calls it in several ways."""

    def f(x: Any) -> Any:
        return apply_tesseract(tesseract, {"x": x})["y"].sum()

    x = jnp.arange(3.0)
    jax.block_until_ready((f(x), jax.jit(f)(x), jax.jit(jax.vmap(f))(jnp.ones((2, 3)))))
    jax.jit(f).trace(x).lower(lowering_platforms=("cuda",))


native = Tesseract.from_library(plugin)
use(native)
use(Tesseract.from_tesseract_api(module))
jax.grad(lambda x: apply_tesseract(native, {"x": x})["y"].sum())(jnp.arange(3.0))
maps = Path("/proc/self/maps").read_text().splitlines()
print([line.split()[-1] for line in maps if "libcuda" in line])
