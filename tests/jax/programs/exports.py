"""Exports programs to files, or runs them.  Arguments: what to do, a folder, the component.

What to do: "export"; "run" with the component; "run without" first, and then with it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from tesseract_host import Tesseract
from tesseract_host.jax import _adapter, apply_tesseract, register

what, folder, source = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
NAMES = ("fixed", "symbolic", "batch")


def opened() -> Tesseract:
    if source.endswith(".so"):
        return register(Tesseract.from_library(source))
    return register(Tesseract.from_tesseract_api(source))


def export_all() -> None:
    tesseract = opened()
    call = jax.jit(lambda x: apply_tesseract(tesseract, {"x": x, "a": 2.0})["y"])
    [n] = export.symbolic_shape("n")
    types = {"fixed": (call, (3,)), "symbolic": (call, (n,)), "batch": (jax.vmap(call), (n, 3))}
    checks = [export.DisabledSafetyCheck.custom_call(_adapter.TARGET)]
    for name, (function, shape) in types.items():
        type_ = jax.ShapeDtypeStruct(shape, jnp.float64)
        made = export.export(jax.jit(function), disabled_checks=checks)(type_)
        (folder / name).write_bytes(made.serialize(vjp_order=1))


def run_all() -> None:
    programs = {name: export.deserialize((folder / name).read_bytes()) for name in NAMES}
    expected = opened_reference
    for name, shape in (("fixed", (3,)), ("symbolic", (5,)), ("symbolic", (3,)), ("batch", (2, 3))):
        x = jnp.arange(1.0, 1 + np.prod(shape)).reshape(shape)
        call = programs[name].call
        y, pullback = jax.vjp(jax.jit(call), x)
        np.testing.assert_allclose(y, expected(x)[0], rtol=1e-14)
        np.testing.assert_allclose(pullback(jnp.ones(shape))[0], expected(x)[1], rtol=1e-14)


def opened_reference(x):
    return (2 * x * x, 4 * x) if source.endswith(".so") else (2 * np.sin(x), 2 * np.cos(x))


if what == "export":
    export_all()
else:
    if what == "run without":
        _adapter.library()  # which registers what is called
        program = export.deserialize((folder / "fixed").read_bytes())
        for _ in range(2):
            try:
                jax.block_until_ready(program.call(jnp.ones(3)))
            except (jax.errors.JaxRuntimeError, ValueError) as error:
                print(error)
    kept = opened()
    run_all()
    print("right")
