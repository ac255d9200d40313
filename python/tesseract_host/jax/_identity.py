"""The name of a component in compiled programs: the same in every process, and for no other.

`<name>-<hash of the content>-<hash of the options>-<ordinal among equal living instances>`.
"""

from __future__ import annotations

import hashlib
import re
import threading
import weakref
from pathlib import Path
from typing import Any

_lock = threading.Lock()
_living: dict[str, weakref.WeakValueDictionary[int, Any]] = {}
_names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def of(client: Any) -> str:
    """The identity of a client, given when it is first asked for."""
    own = getattr(client, "identity", None)
    if isinstance(own, str):
        return own
    with _lock:
        known = _names.get(client)
        if known is None:
            known = _names[client] = _new(client)
        return known


def _new(client: Any) -> str:
    component = client.component
    file = getattr(component.module, "__file__", None)
    content = Path(file).read_bytes() if file and Path(file).is_file() else b""
    options = component.settings.get_config().model_dump_json()
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", component.name)
    stem = f"{name}-{_digest(content, 8)}-{_digest(options.encode(), 4)}"
    living = _living.setdefault(stem, weakref.WeakValueDictionary())
    ordinal = next(n for n in range(len(living) + 1) if n not in living)
    living[ordinal] = client
    return f"{stem}-{ordinal}"


def _digest(data: bytes, size: int) -> str:
    return hashlib.blake2b(data, digest_size=size).hexdigest()
