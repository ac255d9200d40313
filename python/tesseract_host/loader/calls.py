"""One call of an endpoint on Python values: check, call the module, check what it returned."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from tesseract_host.loader import warning_log
from tesseract_host.loader.failures import EndpointError, remember

if TYPE_CHECKING:
    from tesseract_host.loader.component import Component

FUNCTIONS = {
    "apply": "apply",
    "jvp": "jacobian_vector_product",
    "vjp": "vector_jacobian_product",
    "jacobian": "jacobian",
    "abstract_eval": "abstract_eval",
}

# What the loader calls the two whose functions have another name.
SHORT = {name: endpoint for endpoint, name in FUNCTIONS.items() if name != endpoint}

# What the names of a derivative's arguments begin with.
SHORT_NAMES = {"jvp": "jvp", "vjp": "vjp", "jacobian": "jac"}

VECTORS = {"jvp": "tangent_vector", "vjp": "cotangent_vector"}


def parameters(endpoint: str) -> tuple[str, ...]:
    """The names of what an endpoint takes, in order: also those of its payload."""
    if endpoint not in SHORT_NAMES:
        return ("inputs",)
    short = SHORT_NAMES[endpoint]
    names = ("inputs", f"{short}_inputs", f"{short}_outputs")
    return (*names, VECTORS[endpoint]) if endpoint in VECTORS else names


def call(
    component: Component, endpoint: str, payload: dict[str, Any], run_id: str | None = None
) -> Any:
    """The result of an endpoint as plain dicts, lists, arrays and NumPy scalars.

    `payload` has the arguments by the names that the module's function takes: "inputs", and for
    derivatives the lists of paths and the vector.  Raises NotImplementedError if the module lacks
    the endpoint, pydantic's ValidationError for a bad payload, and EndpointError for everything
    that the module does wrong.  `run_id` names the folder of the run.
    """
    with warning_log.to_log(component.output.log):
        return _call(component, endpoint, payload, run_id)


def _call(component: Component, endpoint: str, payload: dict[str, Any], run_id: str | None) -> Any:
    function = component.function(endpoint)
    context = component.context()
    request = _validated(component, endpoint, payload, context)
    with running(component, run_id), _failures(component, endpoint):
        if endpoint in ("apply", "abstract_eval"):
            return checked(component, endpoint, function(request.inputs), None, None, context)
        arguments = {name: getattr(request, name) for name in type(request).model_fields}
        # The module may change the sets it gets, so what it must return is taken from them before.
        short = SHORT_NAMES[endpoint]
        ins = tuple(arguments[f"{short}_inputs"])
        outs = tuple(arguments[f"{short}_outputs"])
        return checked(component, endpoint, function(**arguments), ins, outs, context)


def checked(
    component: Component,
    endpoint: str,
    returned: Any,
    ins: tuple[str, ...] | None,
    outs: tuple[str, ...] | None,
    context: dict[str, Any],
) -> Any:
    """What a module's function returned, validated and dumped; `ins` and `outs` are the paths of
    derivatives.
    """
    if ins is None or outs is None:
        return _outputs(component, endpoint, returned, context)
    types = component.schemas.derivatives
    if endpoint == "jacobian":
        return types.jacobian_result(returned, outs, ins, context)
    if endpoint == "jvp":
        return types.jvp_result(returned, outs, context)
    return types.vjp_result(returned, ins, context)


def failed(component: Component, endpoint: str, error: Exception) -> EndpointError:
    """The error of an endpoint whose module raised this, or returned what it must not."""
    outside = component.isolation.served.is_out_of_domain(error)
    failure = EndpointError(FUNCTIONS[endpoint], error, outside)
    failure.__context__ = error
    failure.__suppress_context__ = True
    return failure


def _validated(
    component: Component, endpoint: str, payload: dict[str, Any], context: dict[str, Any]
) -> Any:
    try:
        return component.schemas.requests[endpoint].model_validate(payload, context=context)
    except ValidationError as error:
        remember(error, component.schemas.inputs)
        raise


def _outputs(component: Component, endpoint: str, returned: Any, context: dict[str, Any]) -> Any:
    schemas = component.schemas
    if endpoint == "apply" and isinstance(schemas.outputs, type):
        if isinstance(returned, schemas.outputs) and isinstance(returned, BaseModel):
            returned = returned.model_dump()
    result = schemas.results[endpoint].model_validate(returned, context=context)
    return result.model_dump()


@contextlib.contextmanager
def running(component: Component, run_id: str | None = None) -> Iterator[None]:
    """What a component needs around a call of its module.

    Compiled endpoints enter it only where `component.output.state.surround` is set, and end lines
    only where `unfinished` is.
    """
    needs_run = run_id is not None or component.isolation.runs.needed
    try:
        with component.run(run_id) if needs_run else contextlib.nullcontext():
            yield
    finally:
        component.output.finish()


@contextlib.contextmanager
def _failures(component: Component, endpoint: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise failed(component, endpoint, error) from None
