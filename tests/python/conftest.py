"""Fixtures shared by the Python tests."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("tesseract_host") is None:  # run from the source tree
    sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

import support


def _reference() -> support.Reference:
    pytest.importorskip("tesseract_core.runtime", reason="tesseract-core[runtime] is not installed")
    return support.Reference()


@pytest.fixture(autouse=True, scope="module")
def _small_heap() -> Iterator[None]:
    """A full collection in a test looks at what its file made.

    Not at all that JAX, Numba and pydantic keep, which takes most of a second; some tests collect
    some hundred times.
    """
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _unchanged_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """tesseract-core leaves its modules' folders behind; no test may see another's."""
    path, environment = list(sys.path), dict(os.environ)
    names = {name for name in list(sys.modules) if "." not in name}
    yield
    sys.path[:] = path
    os.environ.clear()
    os.environ.update(environment)
    for name in {*list(sys.modules)} - names:
        module = sys.modules.get(name)  # a component may be closed meanwhile, on its own thread
        if "pytest-of" in str(getattr(module, "__file__", None) or ""):
            sys.modules.pop(name, None)


@pytest.fixture(params=["tesseract_host", "tesseract_core"])
def host(request: pytest.FixtureRequest) -> support.Ours | support.Reference:
    """Both implementations: what holds for one must hold for the other."""
    return support.Ours() if request.param == "tesseract_host" else _reference()


@pytest.fixture
def reference() -> support.Reference:
    """tesseract-core, to compare with."""
    return _reference()


@pytest.fixture(scope="session")
def _opened_before() -> dict[tuple[str, str], support.Opened]:
    return {}


@pytest.fixture
def opened(
    host: Any, tmp_path_factory: pytest.TempPathFactory, _opened_before: Any
) -> Callable[..., support.Opened]:
    """Writes a module's source and opens it by `host`; the same source is opened once."""

    def open_(source: str) -> support.Opened:
        key = (host.name, source)
        if key not in _opened_before:
            folder = tmp_path_factory.mktemp("component")
            _opened_before[key] = host.open(support.write(folder, source))
        return _opened_before[key]

    return open_


@pytest.fixture
def component(tmp_path: Path) -> Callable[..., Any]:
    """Writes a module's source and opens it by this host."""

    def open_(source: str, log: Any = None, **options: Any) -> Any:
        from tesseract_host import loader

        path = support.write(tmp_path / "component", source)
        return loader.open(str(path), options, log)

    return open_


def _tesseract_of(name: str) -> Any:
    if name == "tesseract_core":
        pytest.importorskip("tesseract_core.runtime")
    return importlib.import_module(name).Tesseract


@pytest.fixture(params=["tesseract_host", "tesseract_core"])
def both(request: pytest.FixtureRequest) -> Any:
    """Either class `Tesseract`."""
    return _tesseract_of(request.param)


@pytest.fixture
def ours() -> Any:
    """The class `Tesseract` of this host."""
    return _tesseract_of("tesseract_host")
