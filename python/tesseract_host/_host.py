"""The C interface of the host for Python: components as C, C++, Fortran and XLA see them."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from typing import Any

from tesseract_host import _native
from tesseract_host._failures import exception
from tesseract_host.loader import Component, live

NAME = "tesseract_host._native._host"
REVISION = 1

# TESSERACT_TEXT_…
DESCRIPTION = 1
OPENAPI = 2
COMPONENT_NAME = 3


@functools.cache
def binding() -> Any:
    """The extension module; ImportError if there is none for this Python.

    It links libtesseract_host by its name: where the process has loaded one already, it is that
    one.
    """
    module = _native.load(NAME, "tesseract_binding")
    if module.REVISION != REVISION:
        raise ImportError(
            f"{module.__file__} is of another release of tesseract_host than {__file__}", name=NAME
        )
    module.set_error_factory(exception)
    return module


class HostComponent:
    """A component opened by the host.  It lives as long as this object, or a prepared call."""

    def __init__(self, native: Any) -> None:
        self._native = native

    @property
    def pointer(self) -> int:
        """The `tesseract_component *`, borrowed."""
        return self._native.pointer  # type: ignore[no-any-return]

    @functools.cached_property
    def name(self) -> str:
        """What messages call it."""
        return self._native.text(COMPONENT_NAME)  # type: ignore[no-any-return]

    @functools.cached_property
    def description(self) -> dict[str, Any]:
        """The description, completed by the host: leaf tables, endpoints, threads."""
        return json.loads(self._native.text(DESCRIPTION))  # type: ignore[no-any-return]

    @functools.cached_property
    def openapi(self) -> dict[str, Any]:
        """The schema as an OpenAPI document."""
        return json.loads(self._native.text(OPENAPI))  # type: ignore[no-any-return]

    def statistics(self) -> dict[str, int]:
        """Counts of calls and copies since open, as `tesseract_statistics` has them."""
        return self._native.statistics()  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<HostComponent {self.name!r}>"


def open(
    source: str | os.PathLike[str],
    options: dict[str, Any] | None = None,
    log: Callable[[int, str], Any] | None = None,
) -> HostComponent:
    """Opens a component by the host, a new instance.

    `options` are those of `tesseract_open_options.json`; `log(level, line)` is called from any
    thread and must not call the component.  Raises what `_failures.exception` makes of the error.
    """
    return HostComponent(_opened(os.fspath(source), options or {}, log))


def adopt(
    component: Component,
    lock: Any = None,
    run: Callable[..., Any] | None = None,
    life: object = None,
) -> HostComponent:
    """The very instance that this process has opened, seen by the host.

    Calls by the host hold `lock`, a lock that its thread may hold already, unless it is None; they
    are made by `run(function)`, unless that is None.  The host keeps `life` alive, and never closes
    the component.
    """
    offer = live.Live(component, lock, run, life)
    with live.offered(offer) as key:
        options = {"loader": "python", "live": key}
        return HostComponent(_opened(component.name, options, None))


def _opened(source: str, options: dict[str, Any], log: Callable[[int, str], Any] | None) -> Any:
    text = json.dumps(options, default=os.fspath)
    return binding().open(os.fsencode(source), text.encode(), log)
