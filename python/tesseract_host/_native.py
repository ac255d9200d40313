"""Finding and loading the compiled parts for this interpreter."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType


def places(file: str) -> Iterator[Path]:
    """Where a library may be, in the order in which the C host looks for its loaders."""
    package = Path(__file__).resolve().parent
    for folder in os.environ.get("TESSERACT_HOST_LOADER_PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder) / file
    yield package / "lib" / "tesseract_host" / file
    yield package.parents[1] / file


def candidates(stem: str) -> Iterator[Path]:
    """Where `<stem>_cpXY.so` may be."""
    threading = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    version = "{}{}".format(*sys.version_info[:2])
    return places(f"{stem}_cp{version}{threading}.so")


def find(stem: str) -> Path | None:
    """The first that there is."""
    return next((path for path in candidates(stem) if path.is_file()), None)


def load(name: str, stem: str) -> ModuleType:
    """The extension module `name` of the first such library; ImportError if there is none."""
    module = sys.modules.get(name)
    if module is not None:
        return module
    file = find(stem)
    if file is None:
        raise ImportError(
            f"there is no compiled {stem} for this Python: install tesseract-host for it, or build "
            "it with -Dpythons and name its folder in TESSERACT_HOST_LOADER_PATH; looked for "
            + ", ".join(str(path) for path in candidates(stem)),
            name=name,
        )
    try:
        loader = importlib.machinery.ExtensionFileLoader(name, str(file))
        spec = importlib.util.spec_from_loader(name, loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        raise ImportError(f"{file} can't be loaded: {error}", name=name) from error
    sys.modules[name] = module
    return module
