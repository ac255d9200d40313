"""Opening of test modules, and what they were asked."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MODULES = Path(__file__).parent / "modules"
_BUILT = Path(__file__).parents[2] / "build" / "tests" / "plugins"
PLUGINS = Path(os.environ.get("TESSERACT_HOST_TEST_PLUGINS") or _BUILT)

HEAD = """
import numpy as np
from typing import *
from pydantic import *
from tesseract_core.runtime import *
from tesseract_core.runtime.schema_types import *
calls = []
"""


class Opened:
    """A component with the list of its calls."""

    def __init__(self, tesseract: Any) -> None:
        self.tesseract = tesseract
        self.module = tesseract._client.component.module

    def __call__(self, inputs: Any, **options: Any) -> Any:
        from tesseract_host.jax import apply_tesseract

        return apply_tesseract(self.tesseract, inputs, **options)

    def calls(self, function: Callable[[], Any]) -> list[Any]:
        """What a function asks of the component, but for abstract_eval."""
        import jax

        self.module.calls.clear()
        jax.block_until_ready(function())
        return [call for call in self.module.calls if call != "abstract_eval"]


def source_of(module: str, folder: Path) -> Path:
    """The file of a module that is given by its name or by its source."""
    if "\n" not in module:
        return MODULES / f"{module}.py"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tesseract_api.py"
    path.write_text(HEAD + textwrap.dedent(module))
    return path


def open_(module: str, folder: Path, *, lane: str | None = None, **registered: Any) -> Opened:
    """Opens a module; what else is given is for `register`."""
    from tesseract_host import Tesseract
    from tesseract_host.jax import register

    tesseract = Tesseract.from_tesseract_api(source_of(module, folder))
    register(tesseract, lane=lane, **registered)
    return Opened(tesseract)


def needs_adapter() -> None:
    """Skips the test where the adapter library isn't built."""
    from tesseract_host.jax import _adapter

    if _adapter.missing():
        pytest.skip(f"the JAX adapter is not built: {_adapter.missing()}")


def plugin(name: str) -> Path:
    """The file of a native component of the tests; skips the test where it isn't built."""
    needs_adapter()
    file = PLUGINS / f"lib{name}.so"
    if not file.exists():
        pytest.skip(f"{file} is not built")
    return file


def same(found: Any, expected: Any, *, rtol: float = 1e-12) -> None:
    """Asserts that two pytrees have one structure and equal arrays, with their dtypes."""
    import jax

    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-14)
