"""One opened module: its schemas, its endpoints, and calls of them."""

from __future__ import annotations

import contextlib
import os
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel, PydanticUserError, RootModel, create_model

from tesseract_host.loader import (
    calls,
    capture,
    description,
    devices,
    direct,
    generated,
    warning_log,
)
from tesseract_host.loader.calls import FUNCTIONS
from tesseract_host.loader.derivatives import DerivativeTypes
from tesseract_host.loader.failures import INVALID_ARGUMENT, OpenError, RequestError
from tesseract_host.loader.isolation import Isolation
from tesseract_host.loader.plan import Plan
from tesseract_host.loader.streams import Output
from tesseract_host.runtime import config

OPTIONS = (
    *devices.OPTIONS,
    "export_pythonpath",
    "gpu_transport",
    "input_path",
    "output_format",
    "output_path",
    "runtime_config",
    "stream_logs",
    "threads",
)

# Taken out before the options get here, by the host and by the compiled loader.
TAKEN_BEFORE = ("debug_views", "loader", "python", "strict")

THREADS = {None: "serial-per-instance", "serial": "serial-per-instance", "concurrent": "concurrent"}


class Component:
    """An instance of a module.  Calls may come from any thread, one at a time unless opened with
    `threads="concurrent"`.

    `schemas` holds the generated classes; `module` is the module as it was executed.
    """

    def __init__(
        self, path: str, options: dict[str, Any], log: Callable[[int, str], None] | None
    ) -> None:
        self._threads = checked_options(options)
        file = self._file(path)
        self.name = file.parent.name if file.stem == "tesseract_api" else file.stem
        self.settings = config.Settings(_given_settings(file, options))
        # A bad value is an error before the module runs.
        self.devices = devices.Devices(options, self.settings.get_config().gpu_transport)
        self.output = Output(log)
        self.isolation = Isolation(file.parent, self.settings, self.output)
        self.enter_stream = devices.Streams(self.isolation.imported).enter
        self._spool = capture.Spool()
        self._stream_logs = options.get("stream_logs", False)
        self._captures = _make_output_path(self.settings) or self._stream_logs is not False
        self.isolation.runs.needed = self._captures
        self.module = self._load(file, bool(options.get("export_pythonpath")))
        try:
            self.schemas = Schemas(self.module)
        except BaseException as error:
            self.close()
            if isinstance(error, PydanticUserError) and not isinstance(error, RuntimeError):
                raise OpenError(str(error)) from error  # a TypeError in older releases
            raise
        self.isolation.runs.loaded()
        self.endpoints = frozenset(
            name for name, function in FUNCTIONS.items() if hasattr(self.module, function)
        )
        self._callers = direct.callers(self)
        self._payloads = {name: caller.payload for name, caller in self._callers.items()}

    def _file(self, path: str) -> Path:
        return module_file(path)

    def _load(self, file: Path, export: bool) -> ModuleType:
        if export:
            _export_pythonpath(file.parent)
        try:
            with self.output.direct():
                return self.isolation.load(file)
        except Exception as error:
            raise OpenError(f"{file} can't be loaded: {type(error).__name__}: {error}") from error

    def describe(self, threads: str | None = None) -> str:
        """The description as JSON text; `threads` in place of its own threading class."""
        with warning_log.to_log(self.output.log):
            return description.describe(
                self.name,
                threads or self._threads,
                self.schemas.inputs,
                self.schemas.outputs,
                self.routes(),
                self.devices.stream_ordered if self.devices.takes_arrays else None,
            )

    def function(self, endpoint: str) -> Callable[..., Any]:
        """The module's function for an endpoint; NotImplementedError if it has none."""
        name = FUNCTIONS.get(endpoint)
        if name is None:
            raise RequestError(f"unknown endpoint {endpoint!r}", status=INVALID_ARGUMENT)
        function: Callable[..., Any] | None = getattr(self.module, name, None)
        if function is None:
            raise NotImplementedError(f"{self.name} has no {name}")
        return function

    def context(self) -> dict[str, Any]:
        """The validation context of a call."""
        return {"base_dir": self.settings.get_config().input_path}

    def call(self, endpoint: str, payload: dict[str, Any], run_id: str | None = None) -> Any:
        """Calls an endpoint on Python values, untouched; see `calls.call`."""
        call = self._payloads.get(endpoint) if run_id is None else None
        return calls.call(self, endpoint, payload, run_id) if call is None else call(payload)

    def caller(self, endpoint: str) -> Callable[..., Any]:
        """The endpoint as a function of what its payload has, by position: `(inputs)`, of
        "jacobian" `(inputs, inputs' paths, outputs' paths)`, and of "jvp" and "vjp" the vector
        too.  The quickest way to call it; returns and raises as `call`, and NotImplementedError
        here if the module lacks the endpoint.
        """
        self.function(endpoint)
        caller = self._callers.get(endpoint)
        return direct.general(self, endpoint) if caller is None else caller.function

    def compiled(self, endpoint: str) -> direct.Caller | None:
        """What the engine has made of an endpoint; None where that is pydantic's in whole."""
        return self._callers.get(endpoint)

    def routes(self) -> dict[str, dict[str, Any]]:
        """For each endpoint "route" and "reasons".

        The route is "direct" where the engine checks inputs and results by itself, "general" where
        pydantic has a part in it; the reasons say which part and why.
        """
        return {
            endpoint: {"route": "general" if reasons else "direct", "reasons": list(reasons)}
            for endpoint, reasons in direct.reasons(self, self._callers).items()
        }

    @contextlib.contextmanager
    def run(self, run_id: str | None = None) -> Iterator[None]:
        """What is around a call of the module's function: its run, and the capture of its output.

        To be entered only if `run_id` is given or `isolation.runs.needed` is true, which costs
        other calls nothing.  Raises ValueError for a bad `stream_logs`, OSError if the run's folder
        can't be made.
        """
        sink = capture.checked_sink(self._stream_logs)
        with self.isolation.runs.call(run_id) as run:
            if not self._captures and run_id is None:
                yield
                return
            with (
                capture.captured(run, self._spool, sink) as log_file,
                self.output.into(log_file),
            ):
                yield

    def prepare(
        self,
        endpoint: str,
        inputs: tuple[str, ...],
        of: tuple[str, ...],
        wrt: tuple[str, ...],
        json: str,
    ) -> Plan:
        """Resolves a signature.  `inputs` are the paths of the tensors, `json` everything else."""
        self.function(endpoint)
        with warning_log.to_log(self.output.log):
            return Plan(self, endpoint, inputs, of, wrt, json)

    def close(self) -> None:
        """Forgets the module; plans that exist keep working."""
        self.isolation.close()
        self._spool.close()


class Schemas:
    """The schemas of a module and the classes generated from them, checked."""

    def __init__(self, module: ModuleType) -> None:
        for name in ("InputSchema", "OutputSchema", "apply"):
            if not hasattr(module, name):
                raise AttributeError(f"{_place(module)} does not define {name}")
        _check_kinds(module)
        self.inputs: Any = module.InputSchema
        self.outputs: Any = module.OutputSchema
        self.requests: dict[str, type[BaseModel]] = {
            "apply": generated.request(
                "ApplyInputSchema", generated.subclass(self.inputs, "Apply_")
            )
        }
        self.results = {
            "apply": result_model("ApplyOutputSchema", generated.subclass(self.outputs, "Apply_"))
        }
        if hasattr(module, FUNCTIONS["abstract_eval"]):
            self.requests["abstract_eval"] = generated.request(
                "AbstractInputSchema", generated.abstract_subclass(self.inputs)
            )
            self.results["abstract_eval"] = result_model(
                "AbstractOutputSchema", generated.abstract_subclass(self.outputs)
            )
        self._derivatives: DerivativeTypes | None = None
        for endpoint in ("jacobian", "jvp", "vjp"):
            if hasattr(module, FUNCTIONS[endpoint]):
                self._derivatives = self._derivatives or DerivativeTypes(self.inputs, self.outputs)
                self.requests[endpoint] = self._derivatives.request(endpoint, self.inputs)

    @property
    def derivatives(self) -> DerivativeTypes:
        """The differentiable leaves; only where a derivative endpoint is offered."""
        if self._derivatives is None:
            raise NotImplementedError("the module has no derivative endpoint")
        return self._derivatives


def _place(module: ModuleType) -> str:
    """The file of a module, or its name where it has none."""
    return getattr(module, "__file__", None) or module.__name__


def _check_kinds(module: ModuleType) -> None:
    """OpenError where a schema can't be a type, or an endpoint can't be called."""
    for name in ("InputSchema", "OutputSchema"):
        schema = getattr(module, name)
        if isinstance(schema, type) or typing.get_origin(schema) or hasattr(schema, "__value__"):
            continue
        raise OpenError(f"{_place(module)}: {name} must be a pydantic model, not {schema!r:.80}")
    for name in FUNCTIONS.values():
        if not callable(getattr(module, name, print)):
            raise OpenError(f"{_place(module)}: {name} must be a function")


def result_model(title: str, schema: Any) -> type[RootModel[Any]]:
    """The model of a whole result."""
    return create_model(title, __base__=RootModel[schema])


def checked_options(options: dict[str, Any]) -> str:
    """The threading class; RequestError for an option that isn't known."""
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        known = ", ".join(sorted((*OPTIONS, *TAKEN_BEFORE)))
        raise RequestError(
            f"unknown option {', '.join(unknown)}; known are {known}",
            status=INVALID_ARGUMENT,
        )
    threads = options.get("threads")
    if threads == "owner":
        raise RequestError(
            'threads is "owner": a component with a thread of its own is opened by the host or by '
            "Tesseract",
            status=INVALID_ARGUMENT,
        )
    if threads not in THREADS:
        raise RequestError(
            f'threads must be "serial", "concurrent" or "owner", not {threads!r}',
            status=INVALID_ARGUMENT,
        )
    if not isinstance(options.get("runtime_config") or {}, dict):
        raise RequestError("runtime_config must be an object", status=INVALID_ARGUMENT)
    return THREADS[threads]


def module_file(path: str) -> Path:
    """The absolute path of a module's file."""
    file = Path(path).expanduser().absolute()
    if file.is_dir():
        raise OpenError(f"{file} is not a file but a folder; give the path of its tesseract_api.py")
    if not file.exists():
        raise FileNotFoundError(f"{file} does not exist")
    return file


def _given_settings(file: Path, options: dict[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {"api_path": file, "debug": True}
    given.update(options.get("runtime_config") or {})
    for name in ("input_path", "output_path", "output_format", "gpu_transport"):
        if options.get(name) is not None:
            value = options[name]
            given[name] = os.fspath(value) if isinstance(value, os.PathLike) else value
    return given


def _make_output_path(settings: config.Settings) -> bool:
    """Makes the folder if one was given; false if not."""
    folder = settings.get_config().output_path
    if folder == ".":
        return False
    Path(folder).mkdir(parents=True, exist_ok=True)
    return True


def _export_pythonpath(folder: Path) -> None:
    """For modules whose child processes import what lies beside the module."""
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(folder) not in entries:
        os.environ["PYTHONPATH"] = os.pathsep.join([*filter(None, entries), str(folder)])
