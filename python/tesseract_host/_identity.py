"""What a client is called among all, and whether its component uses JAX."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from tesseract_host.loader import Component

_taken: dict[str, set[int]] = {}
_lock = threading.RLock()  # also held by finalizers, which may run while it is
os.register_at_fork(after_in_child=_lock._at_fork_reinit)  # type: ignore[attr-defined]


def take(client: object, name: str, file: str | None, text: str, options: Mapping[str, Any]) -> str:
    """`<name>-<content>-<options>-<ordinal>`, of letters, digits, `_`, `.` and `-`.

    The content is that of the file and of the text, the description; both hashes are hexadecimal.
    The ordinal is the lowest that no living client of the same name, content and options has.
    A client takes one identity in its life, whichever thread asks first.
    """
    content = hashlib.blake2b(text.encode(), digest_size=8)
    if file is not None and os.path.isfile(file):
        content.update(Path(file).read_bytes())
    given = hashlib.blake2b(_canonical(options).encode(), digest_size=4)
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name) or "_"
    base = f"{plain}-{content.hexdigest()}-{given.hexdigest()}"
    with _lock:
        found: str | None = getattr(client, "_identity", None)
        if found is not None:  # another thread came first
            return found
        taken = _taken.setdefault(base, set())
        ordinal = next(i for i in range(len(taken) + 1) if i not in taken)
        taken.add(ordinal)
        weakref.finalize(client, _give_back, base, ordinal).atexit = False
        client._identity = f"{base}-{ordinal}"  # type: ignore[attr-defined]
        return f"{base}-{ordinal}"


def _give_back(base: str, ordinal: int) -> None:
    with _lock:
        _taken[base].discard(ordinal)


def _canonical(options: Mapping[str, Any]) -> str:
    """The options that were given, in one order; where output goes makes no difference."""
    given = {k: v for k, v in options.items() if k != "stream_logs" and v not in (None, False, {})}
    return json.dumps(given, sort_keys=True, default=str)


JAX = ("jax", "jaxlib", "jax_recipes")

# Of packages that are installed with every component, and the largest; none of them is JAX's.
_NOT_SEARCHED = ("numpy", "pydantic", "scipy", "tesseract_core", "tesseract_host")


def uses_jax(component: Component) -> bool:
    """Whether the module has imported JAX, or something that has, or uses the recipes for it; or
    would, by a function of its own that wasn't called yet.
    """
    names = component.isolation.imported | _names_in(component.module)
    if _is_of_jax(names) or _is_of_jax(_names_in_functions(component.module)):
        return True
    if "jax" not in sys.modules:
        return False
    tops = {_top(name) for name in names}
    return any(_imports_jax(top) for top in tops - sys.stdlib_module_names - {*_NOT_SEARCHED})


def _is_of_jax(names: Iterable[str]) -> bool:
    return any(part in JAX for name in names for part in name.split("."))


def _top(name: str) -> str:
    """The package a module is part of; each component's modules are one of their own."""
    first, *rest = name.split(".")
    return f"{first}.{rest[0]}" if first == "tsr_plugins" and rest else first


def _names_in(module: ModuleType) -> set[str]:
    """The modules that a module's names stand for, or come from."""
    found = set()
    for value in list(vars(module).values()):
        name = value.__name__ if isinstance(value, ModuleType) else None
        name = name or getattr(value, "__module__", None)
        if isinstance(name, str):
            found.add(name)
    return found


def _names_in_functions(module: ModuleType) -> Iterator[str]:
    """All names in the code of a component's functions, imports among them."""
    package = _top(module.__name__)
    for name, each in list(sys.modules.items()):
        if name == package or name.startswith(f"{package}."):
            for value in list(getattr(each, "__dict__", {}).values()):
                if getattr(value, "__module__", None) == name:
                    yield from _names_in_code(value)


def _names_in_code(value: Any) -> Iterator[str]:
    """Of a function or the functions of a class."""
    if isinstance(value, type):
        inside = f"{value.__qualname__}."
        for item in list(vars(value).values()):
            if not isinstance(item, type) or item.__qualname__.startswith(inside):
                yield from _names_in_code(getattr(item, "__func__", item))
        return
    codes = [getattr(value, "__code__", None)]
    while codes:
        code = codes.pop()
        if isinstance(code, CodeType):
            yield from code.co_names
            codes.extend(code.co_consts)


def _imports_jax(top: str) -> bool:
    """Whether a package that was imported holds JAX under a name in one of its modules."""
    inside = f"{top}."
    for name, module in list(sys.modules.items()):
        if name != top and not name.startswith(inside):
            continue
        for value in list(getattr(module, "__dict__", {}).values()):
            if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "jax":
                return True
    return False
