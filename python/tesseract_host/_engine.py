"""The compiled engine: array checks, models and endpoints in C++, where there is one.

It is part of the Python loader's library for this interpreter, so that one file serves Python and
the C host in one process.  Without it everything works by pydantic and NumPy alone.
`TESSERACT_HOST_ENGINE=0` switches it off.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

from tesseract_host import _native

# What the library registers itself as where the C host has started it.
NAME = "tesseract_host._native._engine"
REVISION = 3


def _load() -> tuple[ModuleType | None, str]:
    if os.environ.get("TESSERACT_HOST_ENGINE") == "0":
        return None, "TESSERACT_HOST_ENGINE is 0"
    if _native.find("tesseract_python") is None and NAME not in sys.modules:
        return None, "there is no compiled loader for this Python"
    try:
        module = _native.load(NAME, "tesseract_python")
    except ImportError as error:
        return None, str(error)
    if getattr(module, "REVISION", None) != REVISION:
        return None, "the compiled loader is of another release"
    return module, ""


# The extension module or None, and then why there is none.
native, missing = _load()


def library() -> Any:
    """The extension module where it is loaded, even if nothing is to be checked by it; or None."""
    return native or sys.modules.get(NAME)


def new_state() -> Any:
    """What a component's calls need around them, all False at first: `surround`, that they run
    inside of `calls.running`; `unfinished`, that a line may be open on some thread.
    """
    if native is None:
        return SimpleNamespace(surround=False, unfinished=False)
    return native.State()
