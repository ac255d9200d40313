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


def call(component: Component, endpoint: str, payload: dict[str, Any]) -> Any:
    """The result of an endpoint as plain dicts, lists, arrays and NumPy scalars.

    `payload` has the arguments by the names that the module's function takes: "inputs", and for
    derivatives the lists of paths and the vector.  Raises NotImplementedError if the module lacks
    the endpoint, pydantic's ValidationError for a bad payload, and EndpointError for everything
    that the module does wrong.
    """
    with warning_log.to_log(component.output.log):
        return _call(component, endpoint, payload)


def _call(component: Component, endpoint: str, payload: dict[str, Any]) -> Any:
    function = component.function(endpoint)
    context = {"base_dir": component.settings.get_config().input_path}
    request = _validated(component, endpoint, payload, context)
    with _running(component), failures(component, endpoint):
        if endpoint in ("apply", "abstract_eval"):
            return outputs(component, endpoint, function(request.inputs), context)
        arguments = {name: getattr(request, name) for name in type(request).model_fields}
        types = component.schemas.derivatives
        # The module may change the sets it gets, so what it must return is taken from them before.
        if endpoint == "jacobian":
            ins, outs = frozenset(request.jac_inputs), frozenset(request.jac_outputs)
            return types.jacobian_result(function(**arguments), outs, ins, context)
        if endpoint == "jvp":
            outs = frozenset(request.jvp_outputs)
            return types.jvp_result(function(**arguments), outs, context)
        ins = frozenset(request.vjp_inputs)
        return types.vjp_result(function(**arguments), ins, context)


def _validated(
    component: Component, endpoint: str, payload: dict[str, Any], context: dict[str, Any]
) -> Any:
    try:
        return component.schemas.requests[endpoint].model_validate(payload, context=context)
    except ValidationError as error:
        remember(error, component.schemas.inputs)
        raise


def outputs(component: Component, endpoint: str, returned: Any, context: dict[str, Any]) -> Any:
    """What "apply" or "abstract_eval" returned, checked."""
    schemas = component.schemas
    if endpoint == "apply" and isinstance(schemas.outputs, type):
        if isinstance(returned, schemas.outputs) and isinstance(returned, BaseModel):
            returned = returned.model_dump()
    result = schemas.results[endpoint].model_validate(returned, context=context)
    return result.model_dump()


@contextlib.contextmanager
def _running(component: Component) -> Iterator[None]:
    isolation = component.isolation
    runs = isolation.runs.call() if isolation.served.uses_runs else contextlib.nullcontext()
    try:
        with runs:
            yield
    finally:
        component.output.finish()


@contextlib.contextmanager
def failures(component: Component, endpoint: str) -> Iterator[None]:
    """What is raised meanwhile becomes the failure of the endpoint."""
    try:
        yield
    except Exception as error:
        outside = component.isolation.served.is_out_of_domain(error)
        raise EndpointError(FUNCTIONS[endpoint], error, outside) from None
