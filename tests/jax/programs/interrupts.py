"""A call that never ends is interrupted as by Ctrl-C; afterwards all goes on.  Argument: a kind."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time

import jax
import jax.numpy as jnp
from components import call_of, module_of, open_

faulthandler.dump_traceback_later(30, exit=True)
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may have been inherited as ignored

tesseract = open_(sys.argv[1])
module, (call, added) = module_of(tesseract), call_of(tesseract)
plain = module.apply
inside = threading.Event()


def beside(x):
    m = jnp.ones((100, 100)) * x[0]
    return 0 * (m @ m)[0, 0]


function = jax.jit(lambda x: call(x) + beside(x))
x = jnp.ones(10)
assert (function(x) == 1 + added).all()

# The modules all end in calls of these, by which they can be held up.
held_up = {"serial": (time, "sleep"), "uses_jax": (module, "_plain")}
owner, name = held_up["serial" if hasattr(module, "inside") else "uses_jax"]
before = getattr(owner, name)


def never_ends(*_arguments):
    inside.set()
    while True:
        before(0.01) if owner is time else time.sleep(0.01)


def interrupt():
    inside.wait()
    os.kill(os.getpid(), signal.SIGINT)


setattr(owner, name, never_ends)
threading.Thread(target=interrupt).start()
try:
    try:
        jax.block_until_ready(function(x))
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        print(type(error), str(error)[-300:], file=sys.stderr)
        setattr(owner, name, before)
        time.sleep(5)  # the interrupt comes a little later
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted")
setattr(owner, name, before)
if hasattr(module, "inside"):
    module.inside[0] = 0
assert (function(x) == 1 + added).all()
print("alive")
