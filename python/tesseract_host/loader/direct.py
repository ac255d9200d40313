"""The endpoints of a component that the compiled engine calls, and why others are not."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from tesseract_host import _engine
from tesseract_host.loader import calls, compiler, derivatives
from tesseract_host.loader.streams import LEVEL_WARNING
from tesseract_host.runtime._check import ArrayCheck, compiled

if TYPE_CHECKING:
    from tesseract_host.loader.component import Component


class Caller(NamedTuple):
    """An endpoint of the engine's."""

    function: Callable[..., Any]
    payload: Callable[[Any], Any]  # the same for a dict of what it takes
    inputs: Any  # compiled schema
    outputs: Any  # compiled schema of the result of apply, or None
    reasons: tuple[str, ...]  # what is left to pydantic


def callers(component: Component) -> dict[str, Caller]:
    """Those of a component's endpoints that the engine can begin."""
    if _engine.native is None:
        return {}
    made = {}
    for endpoint in component.endpoints:
        caller = _caller(component, endpoint) if endpoint != "abstract_eval" else None
        if caller is not None:
            made[endpoint] = caller
    return made


def reasons(component: Component, made: dict[str, Caller]) -> dict[str, tuple[str, ...]]:
    """For each endpoint what is left to pydantic and why."""
    found: dict[str, tuple[str, ...]] = {}
    for endpoint in sorted(component.endpoints):
        if _engine.native is None:
            found[endpoint] = (f"no engine: {_engine.missing}",)
        elif endpoint == "abstract_eval":
            found[endpoint] = ("shapes and dtypes are always checked by pydantic",)
        elif endpoint in made:
            found[endpoint] = made[endpoint].reasons
        else:
            found[endpoint] = ("the inputs are checked by pydantic",)
    return found


def general(component: Component, endpoint: str) -> Callable[..., Any]:
    """The endpoint as a function of what its payload has, by position, all by pydantic."""
    names = calls.parameters(endpoint)

    def call(*given: Any) -> Any:
        return calls.call(component, endpoint, dict(zip(names, given, strict=True)))

    return call


def _surrounded(component: Component, resume: Callable[[Any], Any], request: Any) -> Any:
    with calls.running(component):
        return resume(request)


def _caller(component: Component, endpoint: str) -> Caller | None:
    native = _engine.native
    name = calls.FUNCTIONS[endpoint]
    namespace = vars(component.module)
    model = component.schemas.requests[endpoint].model_fields["inputs"].annotation
    inputs = compiler.inputs(model)
    if native is None or inputs.description is None or name not in namespace:
        return None
    schema = native.compile(inputs.description)
    if inputs.description[0] != "foreign" and compiler.differs(model, inputs.description, schema):
        _log(component, f"{name}: a sample of the inputs differs from pydantic's")
        return None
    why = inputs.reasons
    outputs = None
    if endpoint == "apply":
        outputs, reasons = _outputs(component)
        why = (*why, *reasons)
    names = calls.parameters(endpoint)
    function = native.Endpoint(
        endpoint,
        component.output.state,
        inputs=schema,
        outputs=outputs,
        namespace=namespace,
        name=name,
        names=None if endpoint == "apply" else names,
        keys=names,
        whole=functools.partial(calls.call, component, endpoint),
        log=component.output.log,
        make_context=component.context,
        general=general(component, endpoint),
        checked=functools.partial(calls.checked, component, endpoint),
        failed=functools.partial(calls.failed, component, endpoint),
        surround=functools.partial(_surrounded, component),
        finish=component.output.finish,
        **_for_derivatives(component, endpoint),
    )
    return Caller(function, function.payload, schema, outputs, why)


def _outputs(component: Component) -> tuple[Any, tuple[str, ...]]:
    """The compiled schema of the results of apply, or None and why."""
    assert _engine.native is not None
    model = component.schemas.results["apply"].model_fields["root"].annotation
    result = compiler.result(model)
    if result.description is None:
        return None, result.reasons
    schema = _engine.native.compile(result.description)
    if os.environ.get("TESSERACT_HOST_FAST_CONSTRUCTOR") != "0":
        _engine.native.quicken(schema)
    return schema, ()


def _for_derivatives(component: Component, endpoint: str) -> dict[str, Any]:
    if endpoint == "apply":
        return {}
    return {
        "resolve": component.schemas.derivatives.path_set,
        "exact": derivatives.exact_check,
        "any": compiled(ArrayCheck(..., None)),
    }


def _log(component: Component, text: str) -> None:
    if component.output.log is not None:
        component.output.log(LEVEL_WARNING, text)
