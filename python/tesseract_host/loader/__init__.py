"""Opens `tesseract_api.py` modules and calls their endpoints.

This is what the compiled loader uses, and what works without it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

try:
    import numpy  # noqa: F401
    import pydantic  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"components in Python need NumPy and pydantic, and {sys.executable} can't import "
        f"{error.name or 'them'} ({error}); install numpy and pydantic there",
        name=error.name,
    ) from error

from tesseract_host.loader.component import Component
from tesseract_host.loader.failures import EndpointError, OpenError, RequestError, classify
from tesseract_host.loader.live import take as take_live
from tesseract_host.loader.plan import Plan
from tesseract_host.loader.warning_log import route as route_warnings
from tesseract_host.loader.warning_log import to_log

__all__ = [
    "Component",
    "EndpointError",
    "OpenError",
    "Plan",
    "RequestError",
    "classify",
    "open",
    "route_warnings",
    "take_live",
]


def open(
    path: str, options: dict[str, Any] | None = None, log: Callable[[int, str], None] | None = None
) -> Component:
    """Executes the module at `path` as a new instance.

    `log(level, line)` gets what its endpoints print, from any thread, and after `route_warnings()`
    the warnings it raises.  Raises FileNotFoundError,
    RuntimeError for a folder and for anything raised by the module (the reason is the cause),
    AttributeError for a missing schema or apply, and what pydantic raises for a bad schema.
    """
    with to_log(log):
        return Component(path, options or {}, log)
