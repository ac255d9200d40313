"""The C interface of the host for Python: components as C, C++, Fortran and XLA see them."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from tesseract_host import _native
from tesseract_host._failures import exception
from tesseract_host.loader import Component, live

NAME = "tesseract_host._native._host"
REVISION = 3

Arrays: TypeAlias = Mapping[str, Any]  # NumPy's or other libraries', by leaf path

# TESSERACT_TEXT_…
DESCRIPTION = 1
OPENAPI = 2
COMPONENT_NAME = 3

# TESSERACT_NO_COPY, TESSERACT_STAGED
NO_COPY = 1
STAGED = 2


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

    # ---- Calls: arrays by path, and a JSON document ----------------------------------------------

    def apply(
        self, inputs: Arrays, json: str = "{}", of: Collection[str] | None = None
    ) -> tuple[dict[str, Any], str]:
        """Evaluates the component.

        Args:
            inputs: arrays by leaf path, not copied: NumPy's, or with `__dlpack__` or
                `__cuda_array_interface__`.
            json: all other inputs, a JSON object.
            of: the paths of the outputs that are wanted; None: all.

        Returns:
            Arrays by path, which own their memory, scalars at rank 0, None for an output that the
            component left out; and the outputs that are no arrays, as a JSON object.  Where the
            component takes CUDA arrays and was given one, DeviceArray on its device.
        """
        call = self._prepare(1, inputs, json, of, None)
        values, document, others = call.run(tuple(inputs.values()))
        return dict([*zip(call.of, values, strict=True), *others]), document

    def jvp(
        self,
        inputs: Arrays,
        tangents: Arrays,
        json: str = "{}",
        of: Collection[str] | None = None,
    ) -> dict[str, Any]:
        """Tangents of outputs by path, of tangents by the paths of inputs."""
        call = self._prepare(2, inputs, json, of, tuple(tangents), tangents)
        return self._derived(call, call.of, inputs, tangents)

    def vjp(
        self,
        inputs: Arrays,
        cotangents: Arrays,
        json: str = "{}",
        wrt: Collection[str] | None = None,
    ) -> dict[str, Any]:
        """Gradients by the paths of inputs, of cotangents by the paths of outputs."""
        call = self._prepare(3, inputs, json, tuple(cotangents), wrt, cotangents)
        return self._derived(call, call.wrt, inputs, cotangents)

    def jacobian(
        self,
        inputs: Arrays,
        json: str = "{}",
        of: Collection[str] | None = None,
        wrt: Collection[str] | None = None,
    ) -> dict[str, dict[str, Any]]:
        """Derivatives by output path and input path, of shape `(*output, *input)`."""
        call = self._prepare(4, inputs, json, of, wrt)
        values = iter(call.run(tuple(inputs.values()))[0])
        return {row: {column: next(values) for column in call.wrt} for row in call.of}

    def abstract_eval(self, inputs: Arrays, json: str = "{}") -> tuple[dict[str, Any], str]:
        """Shapes and dtypes of the outputs: `{"shape": …, "dtype": …}` by path.

        Of the arrays given only shape and dtype are looked at; a length that can't be told is None.
        """
        call = self._prepare(5, inputs, json, None, None)
        values, document, others = call.run(tuple(inputs.values()))
        return dict([*zip(call.of, values, strict=True), *others]), document

    def _prepare(
        self,
        endpoint: int,
        inputs: Arrays,
        json: str,
        of: Collection[str] | None,
        wrt: Collection[str] | None,
        seeds: Arrays | None = None,
    ) -> Any:
        return self._native.prepare(
            endpoint,
            tuple(inputs),
            tuple(inputs.values()),
            json,
            None if of is None else tuple(of),
            None if wrt is None else tuple(wrt),
            tuple((seeds or {}).values()),
        )

    def _derived(
        self, call: Any, names: tuple[str, ...], inputs: Arrays, seeds: Arrays
    ) -> dict[str, Any]:
        values, _, _ = call.run((*inputs.values(), *seeds.values()))
        return dict(zip(names, values, strict=True))

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
    turns: Any = None,
    run: Callable[..., Any] | None = None,
    life: object = None,
) -> HostComponent:
    """The very instance that this process has opened, seen by the host.

    Calls by the host are made in `turns`, those of the compiled loader, unless it is None; and by
    `run(function)`, unless that is None.  The host keeps `life` alive, and never closes the
    component.
    """
    offer = live.Live(component, turns, run, life)
    with live.offered(offer) as key:
        options = {"loader": "python", "live": key}
        return HostComponent(_opened(component.name, options, None))


def _opened(source: str, options: dict[str, Any], log: Callable[[int, str], Any] | None) -> Any:
    text = json.dumps(options, default=os.fspath)
    return binding().open(os.fsencode(source), text.encode(), log)
