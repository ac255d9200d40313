"""Lowering: how compiled programs call components."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.buffer_callback import buffer_callback
from jax.interpreters import mlir

from tesseract_host.jax._carrier import Carrier
from tesseract_host.jax._primitives import (
    ENDPOINTS,
    Batch,
    missing_p,
    result_types,
)
from tesseract_host.jax._spec import LONG, Spec


def _lower(
    endpoint: str,
    context: Any,
    *operands: Any,
    spec: Spec,
    wrt: tuple[int, ...],
    outs: tuple[int, ...],
    batch: Batch,
    forward: bool = True,
) -> Any:
    _check_offered(spec, endpoint)
    types = result_types(endpoint, spec, wrt, outs, forward)
    carrier = Carrier(endpoint, spec, wrt, outs, batch, types)
    return _by_callback(context, operands, carrier, spec.options.stateful)


def _check_offered(spec: Spec, endpoint: str) -> None:
    if not spec.handle.offers(endpoint):
        names = ", ".join(spec.handle.client.names)
        raise NotImplementedError(
            f"{spec.handle.name} has no {LONG[endpoint]} endpoint, which this derivative needs; "
            f"it has {names}"
        )


def _by_callback(context: Any, operands: Any, carrier: Carrier, stateful: bool) -> Any:
    """By JAX's own callback on buffers, the one way on which modules may use JAX themselves."""
    results = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in context.avals_out]
    call = buffer_callback(carrier, results, has_side_effect=stateful)
    return mlir.lower_fun(call, multiple_results=True)(context, *operands)


def _lower_missing(context: Any, *_operands: Any, **_parameters: Any) -> Any:
    def fill() -> list[Any]:
        return [jnp.full(aval.shape, jnp.nan, aval.dtype) for aval in context.avals_out]

    inner = context.replace(avals_in=[])
    return mlir.lower_fun(fill, multiple_results=True)(inner)


for _primitive, _endpoint in ENDPOINTS.items():
    mlir.register_lowering(_primitive, functools.partial(_lower, _endpoint))
mlir.register_lowering(missing_p, _lower_missing)
