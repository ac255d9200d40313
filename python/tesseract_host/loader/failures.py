"""How a call or an opening fails, and which status of the C interface that is."""

from __future__ import annotations

import threading
import traceback
from typing import Any

from pydantic import ValidationError

from tesseract_host.loader import walk
from tesseract_host.runtime import _paths, errors

INVALID_ARGUMENT = 1
SCHEMA = 2
UNSUPPORTED = 4
NOT_FOUND = 5
OUT_OF_DOMAIN = 6
COMPONENT = 7
OUT_OF_MEMORY = 8
CANCELLED = 9

_LONGEST = 100_000  # characters of a traceback or of a reason


class RequestError(ValueError):
    """The request does not fit the component: a path, a position, the JSON document."""

    def __init__(self, text: str, path: str | None = None, status: int = SCHEMA) -> None:
        super().__init__(text if path is None else f"{path}: {text}")
        self.path = path
        self.status = status


class SeedError(ValueError):
    """A tangent or cotangent does not fit its leaf; `path` names it."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(f"{path}: {text}")
        self.path = path


class ResultError(ValueError):
    """What an endpoint returned is not what it must return; `path` names the leaf, if one."""

    def __init__(self, text: str, path: str | None = None) -> None:
        super().__init__(text if path is None else f"{path}: {text}")
        self.path = path


class OpenError(RuntimeError):
    """A module can't be opened; the reason is the cause."""


class EndpointError(RuntimeError):
    """An endpoint raised, or returned what it must not.

    The text holds the formatted traceback, since some clients show nothing else.  `reason` is the
    text of the exception at the bottom, where a module has called another or itself: with all that
    stands between, which the traceback shows, texts would double with each call around.
    """

    def __init__(self, endpoint: str, error: Exception, out_of_domain: bool) -> None:
        self.original = error
        self.out_of_domain = out_of_domain
        self.traceback = _shortened("".join(traceback.format_exception(error)))
        self.reason: str = error.reason if isinstance(error, EndpointError) else _text(error)
        super().__init__(
            f"{self.traceback}\nError running Tesseract API {endpoint}: {_shortened(self.reason)} "
            "(see above for full traceback)"
        )


def _shortened(text: str) -> str:
    """A text that modules may have put into each other without end."""
    half = _LONGEST // 2
    if len(text) <= _LONGEST:
        return text
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"


def _text(error: Exception) -> str:
    """The text of an exception, whose class may fail to give one."""
    try:
        return str(error)
    except Exception:
        return "an exception without text"


# What this package raises itself, with a text that says everything.
OWN_ERRORS = (
    RequestError,
    SeedError,
    ResultError,
    OpenError,
    NotImplementedError,
    FileNotFoundError,
    AttributeError,
)

_last = threading.local()


def remember(error: ValidationError, schema: Any) -> None:
    """Notes which schema an error of this thread is about, for the leaf path in `classify`.

    pydantic's errors take no attributes.
    """
    _last.validation = (id(error), schema)


def classify(error: BaseException) -> tuple[int, str | None, str, str]:
    """Status, path of the leaf at fault or None, message, and traceback of an exception, which is
    "" where the message says everything.
    """
    if isinstance(error, EndpointError):
        return _endpoint_failure(error)
    text = _traceback(error)
    if isinstance(error, ValidationError):
        return _validation_failure(error, text)
    return _status(error), getattr(error, "path", None), _message(error), text


def _traceback(error: BaseException) -> str:
    """Without the frames of a bad request, which are all pydantic's and this package's."""
    if isinstance(error, ValidationError):
        return "".join(traceback.format_exception_only(error))
    if isinstance(error, RequestError) and error.__cause__ is None:
        return ""
    return "".join(traceback.format_exception(error))


def _message(error: BaseException) -> str:
    """The text of an error of this package's own; of others, whose text may be "4", type too."""
    name, text = type(error).__name__, str(error)
    if isinstance(error, OWN_ERRORS) and text:
        return text
    return f"{name}: {text}" if text else name


def _status(error: BaseException) -> int:
    if isinstance(error, RequestError):
        return error.status
    table: tuple[tuple[type[BaseException], int], ...] = (
        (errors.Cancelled, CANCELLED),
        (MemoryError, OUT_OF_MEMORY),
        (NotImplementedError, UNSUPPORTED),
        (FileNotFoundError, NOT_FOUND),
    )
    if isinstance(error, tuple(errors.out_of_domain_types)):
        return OUT_OF_DOMAIN
    return next((status for type_, status in table if isinstance(error, type_)), COMPONENT)


def _endpoint_failure(error: EndpointError) -> tuple[int, str | None, str, str]:
    original = error.original
    status = COMPONENT
    if error.out_of_domain:
        status = OUT_OF_DOMAIN
    elif isinstance(original, errors.Cancelled):
        status = CANCELLED
    elif isinstance(original, MemoryError):
        status = OUT_OF_MEMORY
    path = original.path if isinstance(original, ResultError) else None
    message = f"{type(original).__name__}: {_shortened(error.reason)}"
    return status, path, message, error.traceback


def _validation_failure(error: ValidationError, text: str) -> tuple[int, str | None, str, str]:
    details = error.errors(include_url=False)
    cause = details[0].get("ctx", {}).get("error")
    path = getattr(cause, "path", None) or location_path(error, details[0]["loc"])
    lines = []
    for detail in details:
        where = ".".join(str(part) for part in detail["loc"])
        lines.append(f"{where}: {detail['msg']}" if where else detail["msg"])
    status = OUT_OF_DOMAIN if isinstance(cause, tuple(errors.out_of_domain_types)) else SCHEMA
    return status, path, "; ".join(lines), text


def location_path(error: ValidationError, location: tuple[int | str, ...]) -> str | None:
    """The leaf path of a location in a request, as far as it can be told."""
    if not location or location[0] != "inputs":
        return None
    known, schema = getattr(_last, "validation", (0, None))
    if known != id(error):
        schema = None
    steps: list[_paths.Step] = []
    nodes = [] if schema is None else _members(schema)
    for part in location[1:]:
        step, following = _step(nodes, part)
        if step is None:
            continue  # the label of a union's member
        steps.append(step)
        nodes = following
    return _paths.join(tuple(steps)) or None


def _members(node: Any) -> list[Any]:
    """The types that a type may stand for, root models opened."""
    opened = []
    for member in walk.members(node):
        if walk.is_root_model(member):
            opened.extend(_members(member.model_fields["root"].annotation))
        else:
            opened.append(member)
    return opened


def _step(nodes: list[Any], part: int | str) -> tuple[_paths.Step | None, list[Any]]:
    for node in nodes:
        inside = walk.container(node)
        if inside is not None:
            step, items = inside
            following = [m for item in items for m in _members(item)]
            if step is walk.ANY_INDEX and isinstance(part, int):
                return _paths.Step("index", part), following
            if step is walk.ANY_KEY and not (isinstance(part, str) and part == "[key]"):
                return _paths.Step("key", str(part)), following
        elif walk.is_model(node):
            for name, field in node.model_fields.items():
                if part in (name, field.alias, field.validation_alias):
                    return _paths.Step("name", name), _members(field.annotation)
    if isinstance(part, int):
        return _paths.Step("index", part), []
    if part.isidentifier() and (not nodes or any(walk.is_model(n) for n in nodes)):
        return _paths.Step("name", part), []
    return None, nodes
