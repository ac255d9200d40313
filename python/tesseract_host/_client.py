"""What all views of one `Tesseract` share: the opened component and how it is called."""

from __future__ import annotations

import functools
import logging
import os
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tesseract_host import _identity, _turns
from tesseract_host._owner_thread import OwnerThread
from tesseract_host.loader import Component
from tesseract_host.loader.calls import SHORT
from tesseract_host.loader.streams import LEVEL_OUTPUT

if TYPE_CHECKING:
    from tesseract_host._host import HostComponent

ALIAS = "tesseract_api"

# Of the levels of the C interface; what modules print is of no special importance.
LOG_LEVELS = {
    1: logging.DEBUG,
    2: logging.INFO,
    3: logging.WARNING,
    4: logging.ERROR,
    LEVEL_OUTPUT: logging.INFO,
}

# The names that clients see, in the order of the published schema.
ENDPOINTS = (
    "apply",
    "jacobian",
    "jacobian_vector_product",
    "vector_jacobian_product",
    "health",
    "abstract_eval",
    "test",
)

_all: weakref.WeakSet[Client] = weakref.WeakSet()


class Life:
    """What keeps a component open: its client has it, and the host, where that has adopted it."""


class Client:
    """One opened component in Python.

    Calls are made one at a time, by whatever threads, unless it was opened with
    `threads="concurrent"`, and on a thread of its own with `threads="owner"`; a call may call
    again, on its own thread.
    """

    kind = "python"

    def __init__(
        self, source: str | os.PathLike[str] | ModuleType, options: dict[str, Any]
    ) -> None:
        self._thread: OwnerThread | None = None
        self._life = Life()
        self._options = options
        self._host: HostComponent | None = None
        self._identity: str | None = None
        self._making = threading.Lock()  # of what is made when it is first asked for
        if options.get("threads") == "owner":
            self._thread = OwnerThread(_name(source))
            options = {**options, "threads": "serial"}
        try:
            self._open(source, options)
        except BaseException:
            if self._thread is not None:
                self._thread.end()
            raise
        _all.add(self)
        self._end_with_this()

    def _open(self, source: str | os.PathLike[str] | ModuleType, options: dict[str, Any]) -> None:
        self.component = self._bound(_opened)(source, options)
        self.gpu_transport = self.component.settings.get_config().gpu_transport
        self.names = endpoint_names(self.component)
        one_by_one = options.get("threads") != "concurrent" and self._thread is None
        self._turns = _turns.new() if one_by_one else None
        self._openapi: dict[str, Any] | None = None
        self._call = self._in_turn(self.component.call)
        self._callers = {
            name: self._in_turn(self.component.caller(SHORT.get(name, name)))
            for name in self.names
            if SHORT.get(name, name) in self.component.endpoints
        }

    def _end_with_this(self) -> None:
        close: Callable[[], None] = self.component.close
        if self._thread is not None:
            close = functools.partial(self._thread.end, close)
        weakref.finalize(self._life, close).atexit = False

    def _bound(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as it is to be called: on the component's own thread, if it has one."""
        if self._thread is None:
            return function
        return functools.partial(self._thread.run, function)

    def _in_turn(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same for a function of the module's, which none may be called beside."""
        if self._turns is None:
            return self._bound(function)
        return self._turns.bound(function)  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        """The component's name, for messages."""
        name: str = self.component.name
        return name

    @property
    def identity(self) -> str:
        """A name that tells it from all others in this process, and that an equal component opened
        in the same order has in another process.
        """
        if self._identity is not None:
            return self._identity
        file = getattr(self.component.module, "__file__", None)
        text: str = self._bound(self.component.describe)()
        return _identity.take(self, self.name, file, text, self._options)

    @functools.cached_property
    def description(self) -> dict[str, Any]:
        """The description, as the C interface has it: leaf tables, endpoints, threads."""
        from tesseract_host.inspection import description

        made: dict[str, Any] = self._bound(description)(self.component)
        return made

    @property
    def uses_jax(self) -> bool:
        """Whether the module has imported JAX, itself or through what it imports, so far."""
        return _identity.uses_jax(self.component)

    def host(self) -> HostComponent:
        """The same instance as the C host sees it; opened there when it is first asked for.

        Its calls and those of this client take turns.  It may outlive the client, and the component
        does then, too.
        """
        from tesseract_host import _host

        with self._making:
            if self._host is None:
                turns, run = self._turns, None if self._thread is None else self._thread.run
                if isinstance(turns, _turns.Turns):
                    turns, run = None, turns.run
                self._host = _host.adopt(self.component, turns, run, self._life)
        return self._host

    @property
    def input_schema(self) -> Any:
        """The module's InputSchema."""
        return self.component.schemas.inputs

    @property
    def output_schema(self) -> Any:
        """The module's OutputSchema."""
        return self.component.schemas.outputs

    def caller(self, endpoint: str) -> Callable[..., Any]:
        """The shortest way to call an endpoint, by the parts of its payload in order."""
        return self._callers[endpoint]

    def call(self, endpoint: str, payload: dict[str, Any], run_id: str | None = None) -> Any:
        """Calls an endpoint, as the run `run_id` where one is given."""
        caller = self._callers.get(endpoint)
        if caller is None:
            raise self._lacks(endpoint)
        if run_id is None:
            return caller(*payload.values())
        return self._call(SHORT.get(endpoint, endpoint), payload, run_id)

    @property
    def openapi(self) -> dict[str, Any]:
        """The published schema, built when it is first asked for."""
        if self._openapi is None:
            from tesseract_host.loader import openapi

            self._openapi = self._bound(openapi.build)(self.component, self.names)
        return self._openapi

    def test(self, specification: Any) -> None:
        """Makes a regression test; see `regression.run`."""
        from tesseract_host import regression

        if "test" not in self.names:
            raise NotImplementedError(
                f"{self.component.name} was opened with debug=False, so it has no test endpoint"
            )
        self._in_turn(regression.run)(self.component, specification, self.names)

    def _lacks(self, endpoint: str) -> Exception:
        text = f"{self.component.name} has no {endpoint}; it has {', '.join(self.names)}"
        return RuntimeError(text) if endpoint == "abstract_eval" else NotImplementedError(text)


def _name(source: str | os.PathLike[str] | ModuleType) -> str:
    return source.__name__ if isinstance(source, ModuleType) else os.fspath(source)


def _opened(source: str | os.PathLike[str] | ModuleType, options: dict[str, Any]) -> Component:
    if isinstance(source, ModuleType):
        return ImportedComponent(source, options, log_line)
    component = Component(os.fspath(source), options, log_line)
    sys.modules[ALIAS] = component.module
    return component


def endpoint_names(component: Component) -> list[str]:
    """The names of the endpoints that a client may call."""
    there = {*component.endpoints, "health"}
    if component.settings.get_config().debug:
        there.add("test")
    return [name for name in ENDPOINTS if SHORT.get(name, name) in there]


def log_line(level: int, line: str) -> None:
    """What becomes of what a module prints outside of runs, and of what the loader says of it."""
    logging.getLogger(__package__).log(LOG_LEVELS.get(level, logging.DEBUG), "%s", line)


class ImportedComponent(Component):
    """A component of a module that the caller imported; used as it is, globals shared.

    What the module imported is what it uses: neither its helper modules nor its output are kept
    apart, and `get_config` is that of the package it imported it from.
    """

    def __init__(
        self, module: ModuleType, options: dict[str, Any], log: Callable[[int, str], None]
    ) -> None:
        self._given = module
        super().__init__(module.__name__, options, log)

    def _file(self, path: str) -> Path:
        file = getattr(self._given, "__file__", None)
        return Path(file).absolute() if file else Path.cwd() / f"{path}.py"

    def _load(self, file: Path, export: bool) -> ModuleType:
        self.isolation.close()  # its package stays empty
        return self._given

    def function(self, endpoint: str) -> Callable[..., Any]:
        found = super().function(endpoint)
        if endpoint != "abstract_eval":
            return found
        return lambda inputs: _plain_shapes(found(inputs))


def _plain_shapes(value: Any) -> Any:
    """What a module returned with dicts in place of tesseract-core's shape objects."""
    if isinstance(value, dict):
        return {key: _plain_shapes(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_shapes(item) for item in value]
    return value.model_dump() if type(value).__name__ == "ShapeDType" else value


def _renew_locks() -> None:
    for client in list(_all):
        if client._turns is not None:
            client._turns.renew()
        client._making._at_fork_reinit()  # type: ignore[attr-defined]


os.register_at_fork(after_in_child=_renew_locks)
