"""Each module of the zoo through both hosts: every call comes to the same.

A module has a list CALLS of (endpoint, payload); of apply and abstract_eval the payload is the
inputs.  DIFFERENT has the numbers of the calls that are to differ, as docs/differences.md says.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import compare
import pytest

ZOO = Path(__file__).parent / "zoo"
HELPERS = ("looking",)
NAMES = sorted(path.stem for path in ZOO.glob("*.py") if path.stem not in HELPERS)
NEEDS = {"encoded": ("lz4",), "own_json": ("lz4",), "recipes": ("jax", "equinox")}


@pytest.mark.parametrize("name", NAMES)
def test_same_outcomes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in NEEDS.get(name, ()):
        pytest.importorskip(package, reason=f"{package} is not installed")
    path = ZOO / f"{name}.py"
    calls, different = listed(path, monkeypatch)
    ours, theirs = compare.open_ours(path), compare.open_theirs(path)
    found = compare.differences(ours, theirs, calls)
    unexpected = [text for text in found if int(text.partition(":")[0]) not in different]
    assert not unexpected, "\n".join(["", *unexpected])
    assert len(found) == len(different)


def listed(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """The calls of a module, and those that are to differ."""
    monkeypatch.syspath_prepend(str(path.parent))
    pytest.importorskip("tesseract_core.runtime", reason="tesseract-core[runtime] is not installed")
    spec = importlib.util.spec_from_file_location(f"zoo_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module.CALLS, getattr(module, "DIFFERENT", set())
