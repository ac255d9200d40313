"""Lowering: how compiled programs call components, in one of three lanes.

| lane | for | form |
|---|---|---|
| native | shared libraries | a foreign call, on any thread of XLA's |
| python | modules that don't use JAX | a foreign call, in a program that runs on its caller's thread |
| carrier | modules that use JAX; whatever the others can't take | JAX's callback on buffers |
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.buffer_callback import buffer_callback
from jax.interpreters import mlir

from tesseract_host.jax import _adapter, _compat
from tesseract_host.jax._call_text import NotText, spec_text
from tesseract_host.jax._carrier import Carrier
from tesseract_host.jax._outputs import Type
from tesseract_host.jax._primitives import ENDPOINTS, Batch, missing_p, result_types
from tesseract_host.jax._spec import LONG, Lane, Spec

Indices = tuple[int, ...]

# TESSERACT_ERROR_… of a call that can't be prepared.
_INVALID = (1, 2, 3)


def _lower(
    endpoint: str,
    context: Any,
    *operands: Any,
    spec: Spec,
    wrt: Indices,
    outs: Indices,
    batch: Batch,
    forward: bool = True,
) -> Any:
    _check_offered(spec, endpoint)
    types = result_types(endpoint, spec, wrt, outs, forward)
    lane = lane_of(spec)
    if lane == "carrier" and _compat.for_export(context) and not _adapter.missing():
        lane = "python"
    if lane != "carrier":
        own = _own_types(endpoint, spec, wrt, outs, types)
        try:
            text = spec_text(endpoint, spec, wrt, outs, batch, own)
        except NotText as error:
            if spec.handle.kind == "native":
                raise TypeError(f"{spec.handle.name}: {error}") from None
        else:
            return _foreign(context, operands, spec, endpoint, text, lane, own)
    carrier = Carrier(endpoint, spec, wrt, outs, batch, types)
    return _by_callback(context, operands, carrier, spec.options.stateful)


def lane_of(spec: Spec) -> Lane:
    """The lane that was asked for, else the one for what the component is."""
    if spec.options.lane is not None:
        return spec.options.lane
    handle = spec.handle
    if handle.kind == "native":
        return "native"
    if handle.client.uses_jax or _adapter.missing():
        return "carrier"
    return "python"


def _check_offered(spec: Spec, endpoint: str) -> None:
    if not spec.handle.offers(endpoint):
        names = ", ".join(spec.handle.client.names)
        raise NotImplementedError(
            f"{spec.handle.name} has no {LONG[endpoint]} endpoint, which this derivative needs; "
            f"it has {names}"
        )


def _own_types(
    endpoint: str, spec: Spec, wrt: Indices, outs: Indices, types: tuple[Type, ...]
) -> tuple[Type, ...]:
    """The types of results as the component gives them, which may be others than JAX is to see."""
    if endpoint == "jacobian":
        return result_types(endpoint, spec, wrt, outs)
    if endpoint != "vjp":
        return types
    declared = [spec.leaf(i).dtype for i in wrt]
    return tuple(
        (shape, dtype if own is None else np.dtype(own))
        for (shape, dtype), own in zip(types, declared, strict=True)
    )


def _foreign(
    context: Any,
    operands: Any,
    spec: Spec,
    endpoint: str,
    text: str,
    lane: Lane,
    types: tuple[Type, ...],
) -> Any:
    """A call of the adapter's handler, which is told by texts what to call."""
    identity = _adapter.add(spec.handle.client)
    key = _adapter.key_of(identity, endpoint, text)
    status, message = _adapter.prepare(identity, endpoint, text, key)
    if status:
        raise _refused(status, message)
    if lane == "python":
        _compat.keep_on_caller(context)
    effect = spec.options.stateful
    attributes = {
        "endpoint": endpoint,
        "key": np.uint64(key),
        "spec": text,
        "tesseract": identity,
    }
    wanted = [aval.dtype for aval in context.avals_out]
    if wanted == [dtype for _shape, dtype in types]:
        rule = jax.ffi.ffi_lowering(_adapter.TARGET, has_side_effect=effect)
        return rule(context, *operands, **attributes)

    def converted(*arguments: Any) -> list[Any]:
        results = [
            jax.ShapeDtypeStruct(aval.shape, dtype)
            for aval, (_shape, dtype) in zip(context.avals_out, types, strict=True)
        ]
        call = jax.ffi.ffi_call(_adapter.TARGET, results, has_side_effect=effect)
        found = call(*arguments, **attributes)
        return [value.astype(dtype) for value, dtype in zip(found, wanted, strict=True)]

    return mlir.lower_fun(converted, multiple_results=True)(context, *operands)


def _refused(status: int, message: str) -> Exception:
    return (ValueError if status in _INVALID else RuntimeError)(message)


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
