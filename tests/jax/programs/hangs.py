"""Calls in every situation that may hang.  Arguments: kinds of components.

Says what it begins; a situation that takes too long ends the process, after the stacks of all
threads were written.
"""

from __future__ import annotations

import faulthandler
import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from components import call_of, module_of, open_

LIMIT = 20  # seconds
N = 100  # more than 512 bytes: calls that don't depend on each other run at once
X = np.linspace(1.0, 2.0, N)

Call = Callable[[Any], Any]


def beside(x: Any) -> Any:
    """Zero, by enough work to have the program run on a thread of the pool."""
    m = jnp.ones((100, 100)) * x[0]
    return 0 * (m @ m)[0, 0]


def alone(call: Call, added: float) -> None:
    function = jax.jit(call)
    for _ in range(5):
        np.testing.assert_allclose(function(X), X + added)


def matmul(call: Call, added: float) -> None:
    """While this thread runs Python, and waits for nothing."""
    function = jax.jit(lambda x: call(x) + beside(x))
    for _ in range(5):
        result = function(jnp.asarray(X))
        while not result.is_ready():
            pass
        np.testing.assert_allclose(result, X + added)


def scan(call: Call, added: float) -> None:
    step = lambda c, _: (call(c) + beside(c), None)  # noqa: E731
    function = jax.jit(lambda x: jax.lax.scan(step, x, None, length=10)[0])
    np.testing.assert_allclose(function(X), X + 10 * added)


def while_loop(call: Call, added: float) -> None:
    function = jax.jit(
        lambda x: jax.lax.while_loop(lambda c: c[1] < 10, lambda c: (call(c[0]), c[1] + 1), (x, 0))
    )
    np.testing.assert_allclose(function(X)[0], X + 10 * added)


def parallel(call: Call, added: float) -> None:
    def function(x: Any) -> Any:
        return sum(call(x * k) + beside(x + k) for k in range(12))

    np.testing.assert_allclose(jax.jit(function)(X), 66 * X + 12 * added)


def gradient(call: Call, added: float) -> None:
    """Of two calls in one program, and in a loop."""

    def function(x: Any) -> Any:
        looped = jax.lax.scan(lambda c, _: (call(c), None), x, None, length=4)[0]
        return looped.sum() + call(2 * x).sum() + beside(x)

    np.testing.assert_allclose(jax.jit(jax.grad(function))(X), np.full(N, 3.0))


def rows(call: Call, added: float) -> None:
    x = jnp.asarray(X).reshape(10, 10)
    np.testing.assert_allclose(jax.jit(jax.vmap(call))(x), x + added)


def queued(call: Call, added: float) -> None:
    """More programs than JAX has in flight, none of them waited for."""
    function = jax.jit(lambda x: call(x) + beside(x))
    x = jnp.asarray(X)
    for _ in range(40):
        x = function(x)
    np.testing.assert_allclose(x, X + 40 * added)


def eager(call: Call, added: float) -> None:
    x = jnp.asarray(X)
    for _ in range(3):
        x = call(x) + beside(x)
    np.testing.assert_allclose(x, X + 3 * added)


def eager_ahead(call: Call, added: float) -> None:
    """From two threads, far ahead of what is computed: JAX lets 32 computations wait."""

    def function() -> Any:
        x = jnp.asarray(X)
        for _ in range(12):
            x = call(x + beside(x)) + beside(x) - added
        return x

    _together(function, function, expected=X, count=1)


def threads(call: Call, added: float) -> None:
    """Two, each with programs of its own."""
    one, other = jax.jit(lambda x: call(x) + beside(x)), jax.jit(call)
    _together(lambda: one(X), lambda: other(X), expected=X + added)


def collection(call: Call, added: float) -> None:
    """Of garbage with components in it, while another thread calls."""
    one = jax.jit(lambda x: call(x) + beside(x))

    def collect() -> Any:
        cycle: list[Any] = [jax.jit(lambda x: x + added), jnp.ones(3)]
        cycle.append(cycle)
        del cycle
        gc.collect()
        return X + added

    _together(lambda: one(X), collect, expected=X + added)


def _together(*functions: Any, expected: Any, count: int = 6) -> None:
    failures: list[BaseException] = []

    def loop(function: Any) -> None:
        try:
            for _ in range(count):
                np.testing.assert_allclose(function(), expected)
        except BaseException as error:
            failures.append(error)

    others = [threading.Thread(target=loop, args=(f,)) for f in functions[1:]]
    for thread in others:
        thread.start()
    loop(functions[0])
    for thread in others:
        thread.join()
    assert not failures, failures


# ---- Two devices --------------------------------------------------------------------------------


def _sharded(body: Any, out: Any) -> Any:
    mesh = jax.sharding.Mesh(jax.devices(), ("d",))
    spec = jax.sharding.PartitionSpec
    return jax.jit(
        jax.shard_map(body, mesh=mesh, in_specs=spec("d"), out_specs=spec("d") if out else spec())
    )


def psum(call: Call, added: float) -> None:
    """Each device waits for the other's result."""
    function = _sharded(lambda x: jax.lax.psum(call(x) + beside(x), "d"), False)
    for _ in range(5):
        np.testing.assert_allclose(function(X), X[: N // 2] + X[N // 2 :] + 2 * added)


def psum_in_a_loop(call: Call, added: float) -> None:
    def body(x: Any) -> Any:
        step = lambda c, _: (call(c) + 0 * jax.lax.psum(c, "d"), None)  # noqa: E731
        return jax.lax.scan(step, x, None, length=5)[0]

    np.testing.assert_allclose(_sharded(body, True)(X), X + 5 * added)


def psum_of_gradient(call: Call, added: float) -> None:
    def body(x: Any) -> Any:
        return jax.grad(lambda x: (call(x) ** 2).sum() + 0 * jax.lax.psum(x, "d").sum())(x)

    np.testing.assert_allclose(_sharded(body, True)(X), 2 * (X + added))


def each_device(call: Call, added: float) -> None:
    """Two threads, each of which runs on its own device."""
    function = jax.jit(lambda x: call(x) + beside(x))
    arrays = [jax.device_put(X, device) for device in jax.devices()]
    _together(*[lambda x=x: function(x) for x in arrays], expected=X + added)


ONE_DEVICE = (
    *(alone, matmul, scan, while_loop, parallel, gradient, rows, queued),
    *(eager, eager_ahead, threads, collection),
)
USING_JAX = ("nested", "twice", "late", "unseen")
TWO_DEVICES = (psum, psum_in_a_loop, psum_of_gradient, each_device, threads)


def main() -> None:
    situations = ONE_DEVICE if len(jax.devices()) == 1 else TWO_DEVICES
    for kind in sys.argv[1:]:
        tesseract = open_(kind)
        for situation in situations:
            if situation in (gradient, psum_of_gradient) and kind == "native":
                continue  # it has no derivatives
            if situation is eager_ahead and kind not in USING_JAX:
                continue
            print(f"{kind}: {situation.__name__}", flush=True)
            faulthandler.dump_traceback_later(LIMIT, exit=True)
            situation(*call_of(tesseract))
            faulthandler.cancel_dump_traceback_later()
        if tesseract._client.kind == "python":
            assert getattr(module_of(tesseract), "inside", [0, 1]) == [0, 1]
    print("all done")


main()
