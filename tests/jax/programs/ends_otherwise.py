"""Ends while a program calls a slow component on a thread of XLA's.  Argument: how."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax_support
from components import PLUGINS
from tesseract_host import Tesseract
from tesseract_host.jax import apply_tesseract, register

SOURCE = jax_support.MODULES / "records.py"


def opened() -> Tesseract:
    return register(Tesseract.from_tesseract_api(SOURCE), lane="native")


def program_of(tesseract: Tesseract) -> Callable[[Any], Any]:
    def function(x):
        m = jnp.ones((100, 100)) * x[0]  # what is cheap is run by the thread that dispatches it
        return apply_tesseract(tesseract, {"x": x + 0 * (m @ m)[0, 0]})["y"]

    return jax.jit(function).lower(jnp.ones(3)).compile()


def start(tesseract: Tesseract) -> None:
    program_of(tesseract)(jnp.ones(3))
    time.sleep(0.1)


def interrupted() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # not ignored, as inherited
    start(opened())
    interrupt = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.daemon = True
    interrupt.start()


def nested() -> None:
    """By a native component, which calls the slow one."""
    file = PLUGINS / "libnested.so"
    start(register(Tesseract.from_library(file, options={"inner": str(SOURCE)})))


def after_a_native_one() -> None:
    """Three programs with effects, and a native component was used before the module."""
    register(Tesseract.from_library(PLUGINS / "libstateful.so"))
    function = program_of(register(opened(), lane="native", stateful=True))
    x = jnp.ones(3)
    for _ in range(3):
        x = function(x)


def in_an_atexit_function() -> None:
    """Where the program is compiled, too."""
    tesseract = opened()
    atexit.register(start, tesseract)


def forked() -> None:
    """The child uses the component anew, of which a call runs in its parent."""
    start(opened())
    child = os.fork()
    if not child:
        opened()
        atexit._run_exitfuncs()
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


globals()[sys.argv[1]]()
print("the end", flush=True)
