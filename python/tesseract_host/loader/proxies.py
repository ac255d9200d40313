"""Stand-ins for a few standard modules, seen only by a component's own modules.

They forward everything but the handful of names that must know which component asks.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tesseract_host.loader.streams import Output

if TYPE_CHECKING:
    from tesseract_host.loader.isolation import Isolation


class ModuleProxy(ModuleType):
    """A module with some names replaced; the rest is read from and written to the real one."""

    def __init__(self, real: ModuleType, replaced: dict[str, Any]) -> None:
        super().__init__(real.__name__, real.__doc__)
        own = self.__dict__
        for name in ("__package__", "__loader__", "__spec__"):
            own.pop(name, None)
        own["_real"] = real
        own.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_real"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            self.__dict__[name] = value
        else:
            setattr(self.__dict__["_real"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__dict__["_real"], name)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_real"])


class SysProxy(ModuleProxy):
    """`sys` whose two output streams are the component's, or what the module put there."""

    def __init__(self, output: Output) -> None:
        super().__init__(sys, {})
        self.__dict__["_output"] = output

    def __getattr__(self, name: str) -> Any:
        if name in ("stdout", "stderr"):
            output = self.__dict__["_output"]
            return redirected(output, name) or getattr(output, name)
        return getattr(sys, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("stdout", "stderr"):
            output = self.__dict__["_output"]
            redirect(output, name, None if value is getattr(output, name) else value)
        else:
            setattr(sys, name, value)


_redirections = threading.local()


def redirected(output: Output, name: str) -> Any:
    """What stands in for a component's stream on this thread, or None."""
    return getattr(_redirections, "by_stream", {}).get((id(output), name))


def redirect(output: Output, name: str, target: Any) -> None:
    """Puts `target` in place of a component's stream on this thread; None undoes it."""
    table = _redirections.__dict__.setdefault("by_stream", {})
    if target is None:
        table.pop((id(output), name), None)
    else:
        table[(id(output), name)] = target


def print_to(output: Output) -> Callable[..., None]:
    """`print` that writes to the component's stream where no file is given."""

    def print_(*values: Any, file: Any = None, **keywords: Any) -> None:
        target = (redirected(output, "stdout") or output.stdout) if file is None else file
        print(*values, file=target, **keywords)

    print_.__name__ = print_.__qualname__ = "print"
    return print_


def _redirection(output: Output, base: type, name: str) -> type:
    class Redirection(base):  # type: ignore[misc]
        """As contextlib's, for the component's stream too."""

        def __enter__(self) -> Any:
            target = super().__enter__()
            self.__dict__.setdefault("_before", []).append(redirected(output, name))
            redirect(output, name, target)
            return target

        def __exit__(self, *error: Any) -> Any:
            redirect(output, name, self.__dict__["_before"].pop())
            return super().__exit__(*error)

    Redirection.__name__ = Redirection.__qualname__ = base.__name__
    return Redirection


def make(isolation: Isolation) -> dict[str, ModuleType]:
    """The stand-ins for one component's modules, by module name."""
    output = isolation.output
    util = ModuleProxy(
        importlib.util,
        {
            "find_spec": isolation.find_spec,
            "spec_from_file_location": isolation.spec_from_file_location,
        },
    )
    streams = {
        "redirect_stdout": _redirection(output, contextlib.redirect_stdout, "stdout"),
        "redirect_stderr": _redirection(output, contextlib.redirect_stderr, "stderr"),
    }
    return {
        "sys": SysProxy(output),
        "importlib": ModuleProxy(
            importlib,
            {
                "import_module": isolation.import_module,
                "util": util,
                "__import__": isolation.import_,
            },
        ),
        "importlib.util": util,
        "contextlib": ModuleProxy(contextlib, streams),
    }
