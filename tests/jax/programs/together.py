"""Two threads call one component at once; says how many were ever in it, and its calls."""

from __future__ import annotations

import sys
import threading

import jax
import jax.numpy as jnp
from components import call_of, module_of, open_

tesseract = open_(sys.argv[1])
module, (call, _) = module_of(tesseract), call_of(tesseract)


@jax.jit
def function(x):
    m = jnp.ones((100, 100)) * x[0]
    return sum(call(x * k) for k in range(12)) + 0 * (m @ m)[0, 0]


count = [0]
plain = module._enter


def counted():
    count[0] += 1  # by one thread at a time, or else `inside` shows it
    plain()


jax.block_until_ready(function(jnp.ones(100)))
module._enter = counted
threads = [
    threading.Thread(target=lambda: [function(jnp.ones(100)).sum().item() for _ in range(3)])
    for _ in range(2)
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(module.inside[1], count[0])
