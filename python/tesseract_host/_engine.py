"""The compiled engine: array checks, models and endpoints in C++, where there is one.

It is part of the Python loader's library for this interpreter, so that one file serves Python and
the C host in one process.  Without it everything works by pydantic and NumPy alone.
`TESSERACT_HOST_ENGINE=0` switches it off.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

# What the library registers itself as where the C host has started it.
NAME = "tesseract_host._native._engine"
REVISION = 1


def _candidates() -> Iterator[Path]:
    """Where the library may be, in the order in which the C host looks."""
    threading = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    version = "{}{}".format(*sys.version_info[:2])
    file = f"tesseract_python_cp{version}{threading}.so"
    package = Path(__file__).resolve().parent
    for folder in os.environ.get("TESSERACT_HOST_LOADER_PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder) / file
    yield package / "lib" / "tesseract_host" / file
    yield package.parents[1] / file


def _load() -> tuple[ModuleType | None, str]:
    if os.environ.get("TESSERACT_HOST_ENGINE") == "0":
        return None, "TESSERACT_HOST_ENGINE is 0"
    module = sys.modules.get(NAME)
    if module is None:
        file = next((path for path in _candidates() if path.is_file()), None)
        if file is None:
            return None, "there is no compiled loader for this Python"
        try:
            loader = importlib.machinery.ExtensionFileLoader(NAME, str(file))
            spec = importlib.util.spec_from_loader(NAME, loader)
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
        except ImportError as error:
            return None, f"{file} can't be loaded: {error}"
        sys.modules[NAME] = module
    if getattr(module, "REVISION", None) != REVISION:
        return None, "the compiled loader is of another release"
    return module, ""


# The extension module or None, and then why there is none.
native, missing = _load()


def new_state() -> Any:
    """What a component's calls need around them, all False at first: `surround`, that they run
    inside of `calls.running`; `unfinished`, that a line may be open on some thread.
    """
    if native is None:
        return SimpleNamespace(surround=False, unfinished=False)
    return native.State()
