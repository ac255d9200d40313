"""Opening a module by this host and by tesseract-core, and comparing what calls come to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import support
from pydantic import ValidationError

DERIVATIVES = ("jacobian", "jvp", "vjp")
METHODS = {"jvp": "jacobian_vector_product", "vjp": "vector_jacobian_product"}


class Client:
    """A Tesseract of either package, with the calls of `support.Opened`."""

    def __init__(self, tesseract: Any) -> None:
        self.tesseract = tesseract

    def call(self, endpoint: str, payload: Any) -> Any:
        if endpoint in ("apply", "abstract_eval"):
            return getattr(self.tesseract, endpoint)(payload["inputs"])
        return getattr(self.tesseract, METHODS.get(endpoint, endpoint))(**payload)


def open_ours(path: Path | str, **options: Any) -> support.Opened:
    """By the client of this package."""
    import tesseract_host

    client = getattr(tesseract_host, "Tesseract", None)
    if client is None:
        return support.Ours().open(path, **{"output_format": "json+base64", **options})
    return Client(client.from_tesseract_api(path, **options))


def open_theirs(path: Path | str, **options: Any) -> support.Opened:
    """By tesseract-core; skips the test where that is not installed."""
    pytest.importorskip("tesseract_core.runtime", reason="tesseract-core[runtime] is not installed")
    from tesseract_core import Tesseract

    return Client(Tesseract.from_tesseract_api(path, **options))


def outcome(opened: support.Opened, endpoint: str, payload: Any) -> tuple[Any, ...]:
    """What a call comes to, in a form that can be compared."""
    if endpoint in ("apply", "abstract_eval"):
        payload = {"inputs": payload}
    try:
        result = opened.call(endpoint, copied(payload))
        return "returned", in_order(result) if endpoint in DERIVATIVES else result
    except ValidationError as error:
        return "invalid", error.title, details(error)
    except RuntimeError as error:
        if error.__context__ is None and "Error running" not in str(error):
            return "not offered", endpoint == "abstract_eval" or type(error).__name__
        return failed(error, endpoint)
    except BaseException as error:
        if "Pydantic" in type(error).__name__:  # a result that can't be dumped, in tesseract-core
            return "failed", type(error).__name__
        return "raised", type(error).__name__


def failed(error: RuntimeError, endpoint: str) -> tuple[Any, ...]:
    """A failure in the module, or a result that was refused."""
    text = str(error)
    last = text[text.rfind("\nError running Tesseract API") :]
    reason = error.__context__
    assert error.__cause__ is None
    if isinstance(reason, ValidationError) and endpoint not in DERIVATIVES:
        return "failed", "ValidationError", details(reason)
    by_host = any(name in _raised_in(reason) for name in ("tesseract_core", "tesseract_host"))
    if (by_host and "argument" not in str(reason)) or isinstance(reason, ValidationError):
        return "refused", last.split(":")[0]
    if "Pydantic" in type(reason).__name__:  # the text names our functions
        return "failed", type(reason).__name__
    return "failed", type(reason).__name__, last


def _raised_in(error: BaseException | None) -> str:
    file = ""
    trace = error.__traceback__ if error is not None else None
    while trace is not None:
        file, trace = trace.tb_frame.f_code.co_filename, trace.tb_next
    return file


def details(error: ValidationError) -> list[tuple[str, tuple[Any, ...]]]:
    """(type, location) of each part; the labels that pydantic gives members of unions, which tell
    how a type is built, are left out.
    """
    return sorted(
        (
            (part["type"], tuple(p for p in part["loc"] if not _is_label(p)))
            for part in error.errors(include_url=False)
        ),
        key=repr,
    )


def _is_label(part: Any) -> bool:
    return isinstance(part, str) and any(char in part for char in "[(") and not part.startswith("[")


def in_order(result: Any) -> Any:
    """A derivative, whose keys have the order of a set in many modules."""
    if isinstance(result, dict):
        return {key: in_order(result[key]) for key in sorted(result)}
    return result


def copied(value: Any) -> Any:
    """Fresh containers, so that neither host sees what the other has done; leaves are shared."""
    if type(value) is dict:
        return {key: copied(item) for key, item in value.items()}
    if type(value) in (list, tuple, set):
        return type(value)(copied(item) for item in value)
    return value


def same(first: Any, second: Any) -> bool:
    """Equality of types, dtypes, shapes and values, NaN equal to itself; objects of the module's
    own classes are equal if their text is.
    """
    if isinstance(first, np.ndarray | np.generic):
        return support.same(first, second)
    if type(first) is not type(second):
        return _is_own(first) and _is_own(second) and repr(first) == repr(second)
    if isinstance(first, dict):
        return list(first) == list(second) and all(same(first[k], second[k]) for k in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float | complex) and first != first:
        return repr(first) == repr(second)
    return bool(first == second)


def _is_own(value: Any) -> bool:
    return type(value).__module__ not in ("builtins", "numpy")


def differences(ours: Any, theirs: Any, calls: list[tuple[str, Any]]) -> list[str]:
    """The calls whose outcome is not the same, with both outcomes."""
    found = []
    for number, (endpoint, payload) in enumerate(calls):
        first, second = outcome(ours, endpoint, payload), outcome(theirs, endpoint, payload)
        if not same(first, second):
            found.append(f"{number}: {endpoint}({payload!r})\n  ours   {first}\n  theirs {second}")
    return found


__all__ = ["differences", "open_ours", "open_theirs", "outcome", "same"]
