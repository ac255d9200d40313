"""Components that live in this interpreter already, for the C host to open as they are."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tesseract_host.loader.component import Component
from tesseract_host.loader.failures import INVALID_ARGUMENT, NOT_FOUND, RequestError


class Live:
    """A component with how its calls are made one at a time, as the compiled loader takes it.

    They are made in `turns`, those of the compiled loader, unless it is None; `run(function)` runs
    them, unless it is None.  `life` is what keeps the component open.
    """

    def __init__(
        self, component: Component, turns: Any, run: Callable[..., Any] | None, life: object
    ) -> None:
        self.component = component
        self.turns = turns
        self.run = run
        self.life = life

    def describe(self) -> str:
        """The description for the host, which takes no lock: the component's own is taken."""
        if self.run is None:
            return self.component.describe("concurrent")
        return self.run(self.component.describe, "concurrent")  # type: ignore[no-any-return]


_offered: dict[str, Live] = {}


@contextmanager
def offered(live: Live) -> Iterator[str]:
    """The key under which the component can be taken meanwhile: the option `live` of the loader."""
    key = secrets.token_hex(16)
    _offered[key] = live
    try:
        yield key
    finally:
        _offered.pop(key, None)


def take(key: Any, options: dict[str, Any]) -> Live:
    """What is offered under a key; RequestError if nothing is, or if there are other options."""
    if options:
        raise RequestError(
            f"unknown option {', '.join(sorted(options))}: a live component is taken as it is",
            status=INVALID_ARGUMENT,
        )
    found = _offered.get(key) if isinstance(key, str) else None
    if found is None:
        raise RequestError(
            f"no live component is offered under the key {key!r}: the option live is for the "
            "binding of tesseract_host, which opens the components of its clients by it",
            status=NOT_FOUND,
        )
    return found
