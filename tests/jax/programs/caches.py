"""Compiles one program, with a cache that lasts, after other components were opened.  Arguments:
kind, folder of the cache, kinds that are opened before.  Says a hash of its text,
whether it was found in the cache, and the sum of its result.
"""

from __future__ import annotations

import hashlib
import sys

import jax
import jax.monitoring
import jax.numpy as jnp
from components import call_of, open_

kind, folder, *others = sys.argv[1:]
jax.config.update("jax_compilation_cache_dir", folder)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
kept = [open_(other) for other in others]
for component in kept:
    call_of(component)[0](jnp.ones(3))
call, _ = call_of(open_(kind))
function = jax.jit(lambda x: call(x) + call(2 * x) + jnp.ones(100))
x = jnp.arange(100.0)
text = hashlib.sha256(function.lower(x).as_text().encode()).hexdigest()

events = []
jax.monitoring.register_event_listener(lambda event, **_: events.append(event.rpartition("/")[2]))
result = function(x)
print(text, "cache_hits" in events, float(result.sum()))
