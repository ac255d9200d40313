"""One interface to this host and to tesseract-core, so that each contract test runs on both."""

from __future__ import annotations

import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from pydantic import ValidationError

HEAD = """
import numpy as np
from typing import *
from pydantic import *
from tesseract_core.runtime import *
from tesseract_core.runtime.schema_types import *
"""


# Of array leaves, in the order of the contract.
DTYPES = (
    *("float16", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128"),
)


class Opened(Protocol):
    """An opened module."""

    def call(self, endpoint: str, payload: dict[str, Any]) -> Any: ...


class Ours:
    """Opens modules by tesseract_host."""

    name = "tesseract_host"

    def open(self, path: Path | str, **options: Any) -> Opened:
        from tesseract_host import loader

        return loader.open(str(path), options)


class _Reference:
    def __init__(self, tesseract: Any) -> None:
        self._tesseract = tesseract

    def call(self, endpoint: str, payload: dict[str, Any]) -> Any:
        names = {"jvp": "jacobian_vector_product", "vjp": "vector_jacobian_product"}
        if endpoint == "abstract_eval":
            return self._tesseract.abstract_eval(payload["inputs"])
        return getattr(self._tesseract, names.get(endpoint, endpoint))(**payload)


class Reference:
    """Opens modules by tesseract-core."""

    name = "tesseract_core"

    def open(self, path: Path | str, **options: Any) -> Opened:
        from tesseract_core import Tesseract

        return _Reference(Tesseract.from_tesseract_api(path, **options))


def write(folder: Path, source: str, name: str = "tesseract_api.py", head: str = HEAD) -> Path:
    """Writes a module and returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(head + textwrap.dedent(source))
    return path


def schema_source(inputs: str, outputs: str = "y: Any = None", body: str = "return {}") -> str:
    """A module with these fields, separated by semicolons, and this body of apply."""

    def fields(text: str) -> str:
        return "\n    ".join(part.strip() for part in text.split(";"))

    return (
        f"class InputSchema(BaseModel):\n    {fields(inputs)}\n"
        f"class OutputSchema(BaseModel):\n    {fields(outputs)}\n"
        f"def apply(inputs):\n    {fields(body)}\n"
    )


def error_types(error: BaseException) -> list[tuple[str, tuple[Any, ...]]]:
    """Type and location of each part of a pydantic error."""
    assert isinstance(error, ValidationError), repr(error)
    return [(part["type"], part["loc"]) for part in error.errors(include_url=False)]


def outcome(opened: Opened, endpoint: str, payload: dict[str, Any]) -> tuple[str, Any]:
    """What a call comes to, in a form that can be compared."""
    try:
        return "ok", opened.call(endpoint, payload)
    except ValidationError as error:
        return "invalid", sorted(error_types(error), key=repr)
    except NotImplementedError:
        return "unsupported", None
    except RuntimeError as error:
        return "failed", type(error) is RuntimeError or isinstance(error, RuntimeError)
    except Exception as error:
        return "raised", type(error).__name__


def same(first: Any, second: Any) -> bool:
    """Equality of types, dtypes, shapes and values; NaN equals NaN."""
    if isinstance(first, np.ndarray | np.generic):
        return (
            type(first) is type(second)
            and first.dtype == second.dtype
            and first.shape == second.shape
            and bool(np.array_equal(first, second, equal_nan=first.dtype.kind in "fc"))
        )
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return list(first) == list(second) and all(same(first[k], second[k]) for k in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float) and first != first:
        return bool(second != second)
    return bool(first == second)


def in_threads(*bodies: Callable[[], Any]) -> None:
    """Runs them at once; they must end."""
    failures: list[BaseException] = []

    def guarded(body: Callable[[], Any]) -> None:
        try:
            body()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(b,), daemon=True) for b in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread waits for ever"
    assert not failures, failures
