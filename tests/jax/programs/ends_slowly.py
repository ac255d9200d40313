"""Ends when COUNT programs are started and one runs.  Arguments: lane, "pure" or "stateful"."""

from __future__ import annotations

import os
import sys
import time

import jax
import jax.numpy as jnp
import jax_support
from tesseract_host import Tesseract
from tesseract_host.jax import apply_tesseract, register

tesseract = Tesseract.from_tesseract_api(jax_support.MODULES / "records.py")
register(tesseract, lane=sys.argv[1] or None, stateful=sys.argv[2] == "stateful")  # type: ignore[arg-type]


@jax.jit
def function(x):
    m = jnp.ones((100, 100)) * x[0]  # what is cheap is run by the thread that dispatches it
    return apply_tesseract(tesseract, {"x": x + 0 * (m @ m)[0, 0]})["y"]


x = jnp.ones(3)
compiled = function.lower(x).compile()
for _ in range(int(os.environ["COUNT"])):
    x = compiled(x)
time.sleep(0.1)
print("the end", flush=True)
