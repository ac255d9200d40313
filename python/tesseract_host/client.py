"""`Tesseract`: a component opened in this process, with the interface of tesseract-core's class."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

from tesseract_host._client import Client, log_line
from tesseract_host._native_client import NativeClient, Way

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["RequestedEncoding", "Tesseract"]

OutputFormat: TypeAlias = Literal["json", "json+base64", "json+binref"]
Threads: TypeAlias = Literal["serial", "concurrent", "owner"]

_USUAL = Way()


@dataclass(frozen=True)
class RequestedEncoding:
    """How a caller wants arrays to travel; in one process they are passed as they are."""

    output_format: str | None = None
    gpu_transport: str | None = None
    compression: str | None = None


class Tesseract:
    """A component: a function of arrays and plain values, with derivatives where it offers them.

    Made by `from_tesseract_api` or `from_library`, never directly.  Inputs and results are dicts by
    field name, as the component's schemas say; array leaves take NumPy arrays, numbers, nested
    lists and whatever NumPy reads without a loss, and results hold NumPy arrays, scalars at rank 0.
    What is given is not changed; returned arrays may be read-only and may share memory with what
    was given.
    Derivatives name leaves by paths: `a`, `model.a`, `items.[0]`, `params.{key}`.

    All methods may be called from any thread; calls of one component are made one after the other
    unless it was opened with `threads="concurrent"`, and on a thread of its own with
    `threads="owner"`.  Every call may raise

    * `pydantic.ValidationError` (a ValueError) if the arguments don't fit the schemas; `errors()`
      tells all places that don't, by locations that begin with "inputs" or the argument's name; of
      native components `tesseract_host.exceptions.InputError` (a ValueError), whose `path` names
      the leaf;
    * `tesseract_host.exceptions.EndpointError` (a RuntimeError), whose text ends with the traceback
      and message of what the module raised, or of what is wrong with what it returned;
    * NotImplementedError if the component lacks the endpoint.

    After any of them the component can be called again.  Components are equal only to themselves.
    """

    _client: Client | NativeClient
    _encoding: RequestedEncoding
    _way: Way
    _apply: Callable[[Mapping[str, Any]], Any]
    _call: Callable[..., Any]

    def __init__(self, *_arguments: Any, **_keywords: Any) -> None:
        raise TypeError("a Tesseract is made by Tesseract.from_tesseract_api or .from_library")

    @classmethod
    def from_tesseract_api(
        cls,
        tesseract_api: str | os.PathLike[str] | ModuleType,
        input_path: str | os.PathLike[str] | None = None,
        output_path: str | os.PathLike[str] | None = None,
        output_format: OutputFormat = "json+base64",
        gpu_transport: str | None = None,
        runtime_config: Mapping[str, Any] | None = None,
        stream_logs: bool | Callable[[str], Any] = False,
        *,
        threads: Threads = "serial",
        export_pythonpath: bool = False,
        stream_ordered: bool = False,
        device_read_only: bool = False,
        device_escapes: Literal["error", "warning"] = "error",
    ) -> Tesseract:
        """Opens a module, which runs in this process, by its file or as it was imported.

        Each call gives an instance with globals, configuration and helper modules of its own; a
        module object is used as it is.

        Args:
            tesseract_api: path of the file (`tesseract_api.py`), or a module.
            input_path: folder that `InputPath` fields and file references are relative to.
            output_path: folder that `OutputPath` fields and logs of runs are in; made if absent.
            output_format: seen by the module only.
            gpu_transport: "none", or "cuda_ipc" if device arrays may be handed to the module;
                else taken from `runtime_config`.
            runtime_config: what the module's `get_config()` gives, by name; stronger than the
                arguments above but `gpu_transport`.
            stream_logs: what the module prints goes to stderr (True) or to this function, which
                gets one line.  It runs on another thread, for which the call waits: it must not
                call components itself.
            threads: "serial"; "concurrent" if the module may be called by several threads at once;
                "owner" if one and the same thread must load and call it: a thread of the
                component's own, on which callers wait.
            export_pythonpath: adds the module's folder to `PYTHONPATH`, for modules whose child
                processes import what lies beside it.
            stream_ordered: with `gpu_transport="cuda_ipc"`, of calls from compiled code: the
                module enqueues its work on the call's stream, which is not waited for.
            device_read_only: likewise; what `__cuda_array_interface__` says of inputs.
            device_escapes: likewise; "warning" if an input in device memory that the module keeps
                beyond the call is to be logged only.

        Raises:
            FileNotFoundError: there is no such file.
            OpenError: the module raised (which is the cause), or the path is a folder; a
                RuntimeError.
            AttributeError: `InputSchema`, `OutputSchema` or `apply` is missing.
            pydantic.ValidationError: unknown configuration.
            RuntimeError, ValueError: a schema can't be used.
        """
        if output_path is not None:
            Path(output_path).mkdir(parents=True, exist_ok=True)
        configuration = dict(runtime_config or {})
        given = {
            "input_path": input_path,
            "output_path": output_path,
            "output_format": output_format,
        }
        options: dict[str, Any] = {
            **{name: value for name, value in given.items() if name not in configuration},
            "gpu_transport": gpu_transport,
            "runtime_config": configuration,
            "stream_logs": stream_logs,
            "threads": threads,
            "export_pythonpath": export_pythonpath,
            "stream_ordered": stream_ordered,
            "device_read_only": device_read_only,
            "device_escapes": None if device_escapes == "error" else device_escapes,
        }
        client = Client(tesseract_api, options)
        config = client.component.settings.get_config()
        encoding = RequestedEncoding(config.output_format, config.gpu_transport)
        return cls._view(client, encoding)

    @classmethod
    def from_library(
        cls,
        path: str | os.PathLike[str],
        *,
        options: Mapping[str, Any] | None = None,
        threads: Literal["owner"] | None = None,
        derive: bool = False,
        log: Callable[[int, str], Any] | None = None,
    ) -> Tesseract:
        """Opens a component in C, C++ or Fortran: a shared library, or the folder that holds it.

        Each call gives an instance of its own; the library is loaded once.  Arrays are given to it
        as they are and its results are the component's own memory, neither of them copied; an array
        of another dtype or layout than the component declares is converted as
        docs/description.md says, which `statistics()` counts.

        Array leaves also take whatever has `__dlpack__` or `__cuda_array_interface__`, on the host
        or on a CUDA device, without a copy.  A component that takes CUDA arrays gets those on a
        device as they are, and its results are then `DeviceArray` on that device; for any other
        one they are copied to the host, and results are NumPy arrays.  See docs/python.md for
        streams.

        Args:
            path: the library's file, or the folder.
            options: what the component itself takes, a dict that JSON can hold.
            threads: "owner" if it must be called on one and the same thread; else it is called as
                it declares.
            derive: offers derivatives that the host makes of others, a Jacobian of products say.
            log: called with a level (1 debug, 2 info, 3 warning, 4 error) and a line, from any
                thread; it must not call the component.  Else lines go to the logger
                "tesseract_host".

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: unknown or bad options.
            OpenError: it is no component, or can't be opened; a RuntimeError.
            ImportError: this installation has no compiled binding for this Python.
        """
        given = dict(options or {})
        if threads is not None:
            given["threads"] = threads
        client = NativeClient(path, given, derive, log or log_line)
        return cls._view(client, RequestedEncoding(None, client.gpu_transport))

    @classmethod
    def _view(
        cls, client: Client | NativeClient, encoding: RequestedEncoding, way: Way = _USUAL
    ) -> Tesseract:
        self = object.__new__(cls)
        self._client = client
        self._encoding = encoding
        self._way = way
        if isinstance(client, NativeClient) and way != _USUAL:
            callers = client.callers(way)
            self._apply = callers["apply"]
            self._call = functools.partial(client.call, callers=callers)
        else:
            self._apply = client.caller("apply")
            self._call = client.call
        return self

    @classmethod
    def from_source(cls, *_arguments: Any, **_keywords: Any) -> NoReturn:
        """Not here: a process of its own is tesseract-core's `Tesseract.from_source`."""
        raise _elsewhere("from_source", "in a process of its own")

    @classmethod
    def from_image(cls, *_arguments: Any, **_keywords: Any) -> NoReturn:
        """Not here: a container is tesseract-core's `Tesseract.from_image`."""
        raise _elsewhere("from_image", "in a container")

    @classmethod
    def from_url(cls, *_arguments: Any, **_keywords: Any) -> NoReturn:
        """Not here: a server is reached by tesseract-core's `Tesseract.from_url`."""
        raise _elsewhere("from_url", "on a server")

    # ---- Endpoints -----------------------------------------------------------------------------

    def apply(self, inputs: Mapping[str, Any], run_id: str | None = None) -> dict[str, Any]:
        """Evaluates the component.

        Args:
            inputs: by field name; fields with a default may be left out.
            run_id: name of the run, whose logs go to `<output path>/run_<run_id>/logs`; native
                components have no runs.

        Returns:
            All outputs by field name, defaults included, arrays in the declared dtype.
        """
        if run_id is not None:
            return self._call("apply", {"inputs": inputs}, run_id)  # type: ignore[no-any-return]
        return self._apply(inputs)  # type: ignore[no-any-return]

    def jacobian(
        self,
        inputs: Mapping[str, Any],
        jac_inputs: Collection[str],
        jac_outputs: Collection[str],
        run_id: str | None = None,
    ) -> dict[str, dict[str, Any]]:
        """The derivatives of outputs by inputs.

        Args:
            inputs: the point, as for `apply`.
            jac_inputs: paths of differentiable inputs to derive by; at least one.
            jac_outputs: paths of differentiable outputs; at least one.
            run_id: as for `apply`.

        Returns:
            By output path, then by input path: an array of shape `(*output, *input)`, in the dtype
            that the module chose.
        """
        payload = {"inputs": inputs, "jac_inputs": jac_inputs, "jac_outputs": jac_outputs}
        return self._call("jacobian", payload, run_id)  # type: ignore[no-any-return]

    def jacobian_vector_product(
        self,
        inputs: Mapping[str, Any],
        jvp_inputs: Collection[str],
        jvp_outputs: Collection[str],
        tangent_vector: Mapping[str, Any],
        run_id: str | None = None,
    ) -> dict[str, Any]:
        """How outputs change along a direction in the inputs.

        Args:
            inputs: the point, as for `apply`.
            jvp_inputs: paths of the inputs that change; at least one.
            jvp_outputs: paths of differentiable outputs; at least one.
            tangent_vector: by the paths of `jvp_inputs`, all of them: an array of the shape of the
                given input, cast to its dtype.
            run_id: as for `apply`.

        Returns:
            By output path: an array of the output's shape and dtype.
        """
        payload = {
            "inputs": inputs,
            "jvp_inputs": jvp_inputs,
            "jvp_outputs": jvp_outputs,
            "tangent_vector": tangent_vector,
        }
        return self._call("jacobian_vector_product", payload, run_id)  # type: ignore[no-any-return]

    def vector_jacobian_product(
        self,
        inputs: Mapping[str, Any],
        vjp_inputs: Collection[str],
        vjp_outputs: Collection[str],
        cotangent_vector: Mapping[str, Any],
        run_id: str | None = None,
    ) -> dict[str, Any]:
        """The gradients by inputs of a weighted sum of outputs.

        Args:
            inputs: the point, as for `apply`.
            vjp_inputs: paths of differentiable inputs to derive by; at least one.
            vjp_outputs: paths of the outputs in the sum; at least one.
            cotangent_vector: by the paths of `vjp_outputs`, all of them: the weights, an array of
                the output's shape, cast to its dtype.
            run_id: as for `apply`.

        Returns:
            By input path: an array of the input's shape and dtype.
        """
        payload = {
            "inputs": inputs,
            "vjp_inputs": vjp_inputs,
            "vjp_outputs": vjp_outputs,
            "cotangent_vector": cotangent_vector,
        }
        return self._call("vector_jacobian_product", payload, run_id)  # type: ignore[no-any-return]

    def abstract_eval(self, abstract_inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Shapes and dtypes of the outputs.

        Args:
            abstract_inputs: as for `apply`, with `{"shape": …, "dtype": …}` in place of arrays.

        Returns:
            By field name, `{"shape": tuple, "dtype": name}` in place of arrays.

        Raises:
            RuntimeError: also if the component has no abstract_eval.
        """
        return self._client.call("abstract_eval", {"inputs": abstract_inputs})  # type: ignore[no-any-return]

    def health(self) -> dict[str, Any]:
        """`{"status": "ok"}`: a component in this process can be called."""
        return {"status": "ok"}

    def test(self, test_spec: Mapping[str, Any]) -> None:
        """Makes one call and compares its outcome with the expected one.

        Args:
            test_spec: `endpoint`, `payload` (the endpoint's arguments by name), and one of
                `expected_outputs` (exact shapes and dtypes; a list of floats is float64) and
                `expected_exception` (class, built-in name or dotted name); further
                `expected_exception_regex`, `atol`, `rtol`, `skip_output_path_checks`.

        Raises:
            AssertionError: the outcome is another, or there is no such endpoint.
            pydantic.ValidationError: `test_spec` is malformed.
            RuntimeError: the module raised and no exception was expected.
        """
        self._client.test(test_spec)

    # ---- What the component is -----------------------------------------------------------------

    @property
    def available_endpoints(self) -> list[str]:
        """The names of the endpoints that it offers itself; nothing is derived."""
        return list(self._client.names)

    @property
    def openapi_schema(self) -> dict[str, Any]:
        """The published schema, an OpenAPI 3.1 document; not to be changed."""
        return self._client.openapi

    @property
    def input_schema(self) -> type[BaseModel]:
        """The module's `InputSchema`; NotImplementedError if it is no Python module."""
        return self._client.input_schema  # type: ignore[no-any-return]

    @property
    def output_schema(self) -> type[BaseModel]:
        """The module's `OutputSchema`; NotImplementedError if it is no Python module."""
        return self._client.output_schema  # type: ignore[no-any-return]

    # ---- Encodings, which a component in this process has no need of ---------------------------

    @property
    def server_capabilities(self) -> None:
        """None: there is no server, arrays are passed as they are."""
        return None

    @property
    def current_encoding(self) -> RequestedEncoding:
        """What `with_encoding` or the constructor asked for."""
        return self._encoding

    def with_encoding(
        self,
        *,
        output_format: OutputFormat | None = None,
        gpu_transport: str | None = None,
        compression: Literal["none", "lz4"] | None = None,
    ) -> Tesseract:
        """A view of the same component, for integrations that choose an encoding per call.

        With `gpu_transport="none"` a native component that takes arrays on a device gets them on
        the host, and so are its results.  Raises ValueError for a `gpu_transport` other than "none"
        and the component's own.
        """
        known = self._client.gpu_transport
        if gpu_transport not in (None, "none", known):
            raise ValueError(
                f"gpu_transport={gpu_transport!r} needs a component that was opened with it; this "
                f"one was opened with {known!r}"
            )
        before = self._encoding
        encoding = RequestedEncoding(
            output_format or before.output_format,
            gpu_transport or before.gpu_transport,
            compression or before.compression,
        )
        staged = encoding.gpu_transport == "none" and known != "none"
        return self._view(self._client, encoding, dataclasses.replace(self._way, staged=staged))

    def with_calls(self, *, stream: int | None = None, allow_copy: bool | None = None) -> Tesseract:
        """A view of the same native component, for calls that are made another way.

        Args:
            stream: the CUDA stream that calls with arrays on a device run on and that their results
                are ready on: 1 for the legacy default, 2 for the per-thread default, or a handle.
                It waits for the streams that the arrays publish.  0: as at first, the stream that
                all arrays which publish one publish, else 1.
            allow_copy: False if a call fails rather than copy an array, for its dtype, its layout
                or its device.

            None leaves as it is.  Raises NotImplementedError for components in Python, which are
            given objects as they are, and ValueError for an impossible stream.
        """
        if not isinstance(self._client, NativeClient):
            raise NotImplementedError(
                f"with_calls: {self._client.name} is a component in Python, which gets arrays as "
                "they are"
            )
        way = self._way
        if stream is not None:
            if not 0 <= stream < 2**64:
                raise ValueError(f"stream must be 0, 1, 2 or a handle, not {stream}")
            way = dataclasses.replace(way, stream=stream)
        if allow_copy is not None:
            way = dataclasses.replace(way, allow_copy=bool(allow_copy))
        return self._view(self._client, self._encoding, way)

    def statistics(self) -> dict[str, int]:
        """Counts since the component was opened: `calls`, signatures `prepared`, and arrays that
        the host had to copy with their bytes, by reason: `layout_copies`, `layout_bytes`, and so on
        for `dtype`, `device` (to and from one) and `owned` (kept by the component).

        Of a component in Python what the host does is counted, calls from JAX or C in this process;
        calls by this object are none of the host's.
        """
        return self._client.host().statistics()

    def resolve_gpu_transport(self) -> str:
        """Whether device arrays may be given and returned as they are: "cuda_ipc", else "none"."""
        return self._encoding.gpu_transport or self._client.gpu_transport

    # ---- Servers, which this is none of --------------------------------------------------------

    def serve(self) -> NoReturn:
        """RuntimeError: there is nothing to start."""
        raise _no_server("serve")

    def teardown(self) -> NoReturn:
        """RuntimeError: there is nothing to stop; drop the object to be rid of the component."""
        raise _no_server("teardown")

    def server_logs(self) -> NoReturn:
        """RuntimeError: see `output_path` and `stream_logs` of `from_tesseract_api`."""
        raise _no_server("server_logs")

    def container_info(self) -> NoReturn:
        """RuntimeError: there is no container."""
        raise _no_server("container_info")

    def __enter__(self) -> Tesseract:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        """Does nothing: the component can be called afterwards too."""

    def __repr__(self) -> str:
        return f"<Tesseract {self._client.name!r} in this process>"

    def __copy__(self) -> Tesseract:
        return self._view(self._client, self._encoding, self._way)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Tesseract can't be pickled or deeply copied; open it again by its path")


def _elsewhere(name: str, where: str) -> NotImplementedError:
    return NotImplementedError(
        f"tesseract_host runs components in this process only: for one {where} use tesseract-core, "
        f"tesseract_core.Tesseract.{name}"
    )


def _no_server(name: str) -> RuntimeError:
    return RuntimeError(f"{name}() is for servers; this component runs in this process")
