"""What a call costs from JAX, beside XLA's foreign call, callbacks and tesseract-jax, in one run.

    python tests/bench/jax_calls.py PLUGIN BARE

PLUGIN is the library of jax_plugin.c, BARE that of jax_bare_call.c: a foreign call that does
nothing, as the floor.  Minimum of many batches; whatever isn't installed is left out.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

import jax
import jax.numpy as jnp
import numpy as np
from tesseract_host import Tesseract
from tesseract_host.jax import apply_tesseract, register

try:
    from tesseract_core import Tesseract as ReferenceTesseract
    from tesseract_jax import apply_tesseract as reference_apply
except ImportError:
    ReferenceTesseract = reference_apply = None

HEAD = """
import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float32
Vector = Array[(None,), Float32]
"""

# n elements in, one out: nothing of the cost grows with n.
NOOP = f"""{HEAD}
class InputSchema(BaseModel):
    x: Differentiable[Vector]
class OutputSchema(BaseModel):
    y: Differentiable[Array[(1,), Float32]]
y = np.zeros(1, np.float32)
def apply(inputs):
    return {{"y": y}}
def abstract_eval(abstract_inputs):
    return {{"y": {{"shape": (1,), "dtype": "float32"}}}}
"""

# n elements in and out: the call and one copy of the result.
ECHO = f"""{HEAD}
class InputSchema(BaseModel):
    x: Differentiable[Vector]
class OutputSchema(BaseModel):
    y: Differentiable[Vector]
made = {{}}
def apply(inputs):
    n = inputs.x.shape[0]
    if n not in made:
        made[n] = np.zeros(n, np.float32)
    return {{"y": made[n]}}
def abstract_eval(abstract_inputs):
    return {{"y": {{"shape": abstract_inputs.x.shape, "dtype": "float32"}}}}
"""

ADD = f"""{HEAD}
class InputSchema(BaseModel):
    a: Differentiable[Vector]
    b: Differentiable[Vector]
class OutputSchema(BaseModel):
    c: Differentiable[Vector]
def apply(inputs):
    return {{"c": inputs.a + inputs.b}}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return {{name: cotangent_vector["c"] for name in vjp_inputs}}
def abstract_eval(abstract_inputs):
    return {{"c": {{"shape": abstract_inputs.a.shape, "dtype": "float32"}}}}
"""

STEPS = 1000


def cost(call: Callable[[], Any], seconds: float = 0.4) -> float:
    """Microseconds of a call that blocks: the minimum of batches."""
    call()
    call()
    start = time.perf_counter()
    call()
    batch = max(1, min(1000, int(2e-3 / max(time.perf_counter() - start, 1e-7))))
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(batch):
            call()
        best = min(best, (time.perf_counter() - start) / batch)
    return best * 1e6


def blocking(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    return lambda: jax.block_until_ready(function(*arguments))


def vector(n: int) -> jax.Array:
    return jnp.ones(n, jnp.float32)


def bare_call(library: str) -> Callable[[jax.Array], jax.Array]:
    handler = ctypes.CDLL(library).bare_call
    jax.ffi.register_ffi_target("bare_call", jax.ffi.pycapsule(handler), platform="cpu")
    return lambda x: jax.ffi.ffi_call("bare_call", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def buffer_callback(x: jax.Array) -> jax.Array:
    from jax.experimental.buffer_callback import buffer_callback as make

    return make(lambda _context, _out, _x: None, jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def pure_callback(x: jax.Array) -> jax.Array:
    return jax.pure_callback(np.asarray, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


class Components:
    """The opened components, ours and tesseract-jax's, as functions of arrays."""

    def __init__(self, plugin: str, folder: Path) -> None:
        files = {}
        for name, source in (("noop", NOOP), ("echo", ECHO), ("add", ADD)):
            files[name] = folder / name / "tesseract_api.py"
            files[name].parent.mkdir()
            files[name].write_text(source)
        jax_user = folder / "carrier" / "tesseract_api.py"
        jax_user.parent.mkdir()
        native = {
            "noop": Tesseract.from_library(plugin, options={"noop": True}),
            "add": Tesseract.from_library(plugin),
        }
        python = {name: Tesseract.from_tesseract_api(file) for name, file in files.items()}
        for name in ("noop", "echo"):
            jax_user.write_text("import jax\n" + {"noop": NOOP, "echo": ECHO}[name])
            python[f"{name} with jax"] = Tesseract.from_tesseract_api(jax_user)
        self.noop = {
            "native": self._noop(apply_tesseract, native["noop"]),
            "Python": self._noop(apply_tesseract, python["noop"]),
            "Python that uses JAX": self._noop(apply_tesseract, python["noop with jax"]),
        }
        self.echo = {
            "native": self.noop["native"],
            "Python": self._noop(apply_tesseract, python["echo"]),
            "Python that uses JAX": self._noop(apply_tesseract, python["echo with jax"]),
        }
        in_place = Tesseract.from_library(plugin, options={"noop": True})
        register(in_place, in_place={"y": "x"})
        self.in_place = self._noop(apply_tesseract, in_place)
        self.add = {
            "native": self._add(apply_tesseract, native["add"]),
            "Python": self._add(apply_tesseract, python["add"]),
        }
        if ReferenceTesseract is not None:
            theirs = {
                name: ReferenceTesseract.from_tesseract_api(file) for name, file in files.items()
            }
            self.noop["tesseract-jax"] = self._noop(reference_apply, theirs["noop"])
            self.echo["tesseract-jax"] = self._noop(reference_apply, theirs["echo"])
            self.add["tesseract-jax"] = self._add(reference_apply, theirs["add"])

    @staticmethod
    def _noop(apply: Any, component: Any) -> Callable[[jax.Array], jax.Array]:
        return lambda x: apply(component, {"x": x})["y"]

    @staticmethod
    def _add(apply: Any, component: Any) -> Callable[[jax.Array, jax.Array], jax.Array]:
        return lambda a, b: apply(component, {"a": a, "b": b})["c"]


def show(title: str, rows: dict[str, float]) -> None:
    cells = "   ".join(f"{name} {value:.4g}" for name, value in rows.items())
    print(f"{title}\n    {cells}", flush=True)


def jitted(known: Components, bare: Callable[..., Any]) -> None:
    for n in (10, 1000, 1_000_000):
        functions = {
            "x + 1": lambda x: x + 1,
            "bare foreign call": bare,
            **known.noop,
            "buffer_callback": buffer_callback,
            "pure_callback": pure_callback,
        }
        x = vector(n)
        show(
            f"jit, n = {n}",
            {name: cost(blocking(jax.jit(f), x)) for name, f in functions.items()},
        )


def scanned(known: Components, bare: Callable[..., Any]) -> None:
    """Inline: a program that is nothing but calls; on a pool thread: beside a matrix product."""

    def loop(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x: jax.lax.scan(lambda y, _: (f(y), None), x, length=STEPS)[0]

    def beside(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x, m: (loop(f)(x), m @ m)

    x, m = vector(10), jnp.ones((16, 16))
    functions = {"x + 1": lambda x: x + 1, "bare foreign call": bare, **known.echo}
    for title, make, arguments in (("alone", loop, (x,)), ("with a matmul", beside, (x, m))):
        rows = {
            name: cost(blocking(jax.jit(make(f)), *arguments), 1.0) / STEPS
            for name, f in functions.items()
        }
        show(f"one step of lax.scan, {title}", rows)


def gradients(known: Components) -> None:
    def value(f: Callable[..., Any]) -> Callable[..., Any]:
        return jax.jit(jax.value_and_grad(lambda a, b: jnp.sum(f(a, b) ** 2), argnums=(0, 1)))

    x = vector(10)
    show(
        "value_and_grad of sum(y²) through a + b, n = 10",
        {name: cost(blocking(value(f), x, x)) for name, f in known.add.items()},
    )


def eager(known: Components, bare: Callable[..., Any]) -> None:
    x = vector(1000)
    functions = {"bare foreign call": bare, **known.noop}
    show("eager, n = 1000", {name: cost(blocking(f, x)) for name, f in functions.items()})


def large(known: Components, bare: Callable[..., Any]) -> None:
    x = vector(10_000_000)
    functions = {
        "x + 1": lambda x: x + 1,
        "bare foreign call": bare,
        "native": known.noop["native"],
    }
    if "tesseract-jax" in known.echo:
        functions["tesseract-jax"] = known.echo["tesseract-jax"]
    show("jit, n = 1e7", {name: cost(blocking(jax.jit(f), x)) for name, f in functions.items()})
    rows = {}
    functions["native, in place"] = known.in_place
    for name, f in functions.items():
        step, state = jax.jit(f, donate_argnums=0), [vector(10_000_000)]

        def call(step: Any = step, state: Any = state) -> None:
            state[0] = step(state[0])
            state[0].block_until_ready()

        rows[name] = cost(call)
    show("jit, n = 1e7, donated", rows)


def vmapped(known: Components) -> None:
    x = jnp.ones((8, 1_000_000), jnp.float32)
    rows = {}
    for name, f in known.add.items():
        mapped = jax.jit(jax.vmap(f))
        if name == "tesseract-jax":
            continue
        rows[name] = cost(blocking(mapped, x, x), 1.0)
    long = vector(8_000_000)
    rows["one native call, 8e6"] = cost(blocking(jax.jit(known.add["native"]), long, long), 1.0)
    add = jax.jit(lambda a, b: jax.lax.map(lambda p: p[0] + p[1], (a, b)))
    rows["lax.map of +"] = cost(blocking(add, x, x), 1.0)
    show("vmap over 8 rows of 1e6, a + b", rows)


def contended(known: Components, bare: Callable[..., Any]) -> None:
    """While the main thread runs Python code, another one calls a program with a matmul."""

    def program(f: Callable[..., Any]) -> Callable[..., Any]:
        return jax.jit(lambda x, m: (f(x), m @ m))

    x, m = vector(10), jnp.ones((16, 16))
    rows = {}
    functions = {"bare foreign call": bare, **known.noop}
    functions.pop("tesseract-jax", None)
    for name, f in functions.items():
        run = program(f)
        jax.block_until_ready(run(x, m))
        times = []
        for _ in range(300):
            start = time.perf_counter()
            out = run(x, m)
            while not (out[0].is_ready() and out[1].is_ready()):
                pass
            times.append(time.perf_counter() - start)
        rows[name] = sorted(times)[len(times) // 2] * 1e6
    show("with a matmul, the main thread spinning on is_ready(), median", rows)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plugin")
    parser.add_argument("bare")
    given = parser.parse_args()
    bare = bare_call(given.bare)
    print(f"jax {jax.__version__}, Python {sys.version.split()[0]}; microseconds, minimum")
    with tempfile.TemporaryDirectory() as folder:
        known = Components(given.plugin, Path(folder))
        jitted(known, bare)
        scanned(known, bare)
        gradients(known)
        eager(known, bare)
        large(known, bare)
        vmapped(known)
        contended(known, bare)


if __name__ == "__main__":
    main()
