"""Ends while programs wait to be run, and while a thread is in a call.  Argument: a kind."""

from __future__ import annotations

import sys
import threading

import jax
import jax.numpy as jnp
from components import call_of, open_

call, _ = call_of(open_(sys.argv[1]))


def loop(x):
    m = jnp.ones((100, 100)) * x[0]
    return jax.lax.scan(lambda c, _: (call(c) + 0 * (m @ m)[0, 0], None), x, None, length=20)[0]


function = jax.jit(loop)
jax.block_until_ready(function(jnp.ones(100)))
thread = threading.Thread(target=lambda: jax.block_until_ready(function(jnp.ones(100))))
thread.start()
x = jnp.ones(100)
for _ in range(20):
    x = function(x)
print("the end", flush=True)
