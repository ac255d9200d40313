"""Lowering: how compiled programs call components, in one of three lanes.

| lane | for | form |
|---|---|---|
| native | shared libraries | a foreign call, on any thread of XLA's |
| python | modules that don't use JAX | the same, in a program that runs on its caller's thread |
| carrier | modules that use JAX; whatever the others can't take | JAX's callback on buffers |

On CUDA the handler gets XLA's stream and pointers to the device; the host hands them on, or copies
what they point to, as the component's description says.
"""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.experimental.buffer_callback import buffer_callback
from jax.interpreters import mlir

from tesseract_host.jax import _adapter, _compat, _ending, _in_place
from tesseract_host.jax._call_text import NotText, spec_text
from tesseract_host.jax._carrier import Carrier
from tesseract_host.jax._host_carrier import host_carrier
from tesseract_host.jax._outputs import Type
from tesseract_host.jax._primitives import ENDPOINTS, Batch, missing_p, result_types
from tesseract_host.jax._spec import LONG, Lane, Spec

Indices = tuple[int, ...]


def _lower(
    endpoint: str,
    platform: str,
    context: Any,
    *operands: Any,
    spec: Spec,
    wrt: Indices,
    outs: Indices,
    batch: Batch,
    forward: bool = True,
) -> Any:
    _check_offered(spec, endpoint)
    if spec.options.stateful and _compat.is_divided(context):
        raise _is_divided(spec)
    types = result_types(endpoint, spec, wrt, outs, forward)
    own = _own_types(endpoint, spec, wrt, outs, types)
    prepared = _prepared(endpoint, spec, wrt, outs, batch, own)
    aliases = _in_place.aliases(spec) if endpoint == "apply" and not batch else {}
    options: dict[str, Any] = {"has_side_effect": spec.options.stateful}
    if prepared is None:
        if _compat.for_export(context):
            raise _not_exported(spec)
        if platform != "cpu":
            raise _not_on_device(spec)
        _ending.watch(spec.handle.client, _compat.CALLBACKS_KEEP_ON_CALLER)
        carrier = Carrier(endpoint, spec, wrt, outs, batch, types)
        return _by_callback(context, operands, carrier, types, options)
    lane = lane_of(spec)
    if lane == "carrier" and not _compat.for_export(context):
        _ending.watch(spec.handle.client, _compat.CALLBACKS_KEEP_ON_CALLER)
        on_device = platform != "cpu"
        callback = host_carrier(prepared, spec.handle.kind != "native" and not on_device, on_device)
        options["input_output_aliases"] = aliases
        return _by_callback(context, operands, callback, own, options)
    inline = lane == "python" and platform == "cpu" and _compat.keep_on_caller(context)
    _ending.watch(spec.handle.client, inline)
    target = _adapter.CAPTURED if platform == "cuda" and _is_captured(spec) else _adapter.TARGET
    return _foreign(target, context, operands, prepared, own, options, aliases)


def _prepared(
    endpoint: str,
    spec: Spec,
    wrt: Indices,
    outs: Indices,
    batch: Batch,
    types: tuple[Type, ...],
) -> _adapter.Prepared | None:
    """The call as the adapter has it; None if it can't have it, and the client must be called."""
    is_native = spec.handle.kind == "native"
    if _adapter.missing():
        if is_native:
            raise RuntimeError(f"{spec.handle.name} can't be called from JAX: {_adapter.missing()}")
        return None
    try:
        text = spec_text(endpoint, spec, wrt, outs, batch, types)
    except NotText as error:
        if is_native:
            raise TypeError(f"{spec.handle.name}: {error}") from None
        return None
    return _adapter.prepare(spec.handle.client, endpoint, text)


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


def _is_captured(spec: Spec) -> bool:
    """Whether XLA may make the calls a part of a graph, which is replayed without calling again.

    Not where outputs that are no arrays are compared, which would be those of the first time.
    """
    options = spec.options
    if spec.handle.kind != "native" or options.stateful or options.staged or spec.outputs.statics:
        return False
    description = spec.handle.client.description
    return (
        description.get("capture_safe") is True
        and description.get("stream_ordered", True) is True
        and "cuda" in description.get("devices", ())
    )


def _check_offered(spec: Spec, endpoint: str) -> None:
    if not spec.handle.offers(endpoint):
        names = ", ".join(spec.handle.client.names)
        raise NotImplementedError(
            f"{spec.handle.name} has no {LONG[endpoint]} endpoint, which this derivative needs; "
            f"it has {names}"
        )


def _why_by_client() -> str:
    return _adapter.missing() or (
        "it is given static values that JSON doesn't hold (enums, bytes, paths), or has inputs "
        "with aliases or root models"
    )


def _not_exported(spec: Spec) -> NotImplementedError:
    return NotImplementedError(
        f"{spec.handle.name} can be called from this process alone, so the program can't be "
        f"exported: {_why_by_client()}"
    )


def _not_on_device(spec: Spec) -> NotImplementedError:
    return NotImplementedError(
        f"{spec.handle.name} can't be called in a program for a GPU, only for the CPU: "
        f"{_why_by_client()}; call it under jax.default_device(jax.devices('cpu')[0])"
    )


def _is_divided(spec: Spec) -> NotImplementedError:
    return NotImplementedError(
        f"{spec.handle.name} is stateful and called in a program that is divided over devices, "
        "where XLA can't tell which of them is to call it: call it inside of jax.shard_map, "
        "where each device makes its own call, or put its inputs on one device"
    )


def _own_types(
    endpoint: str, spec: Spec, wrt: Indices, outs: Indices, types: tuple[Type, ...]
) -> tuple[Type, ...]:
    """The types of results as the component gives them, which may be others than JAX is to see."""
    if endpoint == "jacobian":
        return result_types(endpoint, spec, wrt, outs)
    if endpoint != "vjp":
        return types
    declared = [spec.leaves[i].dtype for i in wrt]
    return tuple(
        (shape, dtype if own is None else np.dtype(own))
        for (shape, dtype), own in zip(types, declared, strict=True)
    )


def _foreign(
    target: str,
    context: Any,
    operands: Any,
    prepared: _adapter.Prepared,
    types: tuple[Type, ...],
    options: dict[str, Any],
    aliases: dict[int, int],
) -> Any:
    """A call of the adapter's handler, which is told by texts what to call."""
    attributes = {
        "endpoint": prepared.endpoint,
        "key": np.uint64(prepared.key),
        "spec": prepared.spec,
        "tesseract": prepared.identity,
    }
    if _as_wanted(context, types):
        rule = _compat.ffi.ffi_lowering(target, operand_output_aliases=aliases, **options)
        return rule(context, *operands, **attributes)
    results = _structures(context, types)
    call = _compat.ffi.ffi_call(target, results, **options)
    return _converted(context, operands, functools.partial(call, **attributes))


def _by_callback(
    context: Any, operands: Any, carrier: Any, types: tuple[Type, ...], options: dict[str, Any]
) -> Any:
    """By JAX's own callback on buffers, the one way on which modules may use JAX themselves."""
    results = _structures(context, types)
    return _converted(context, operands, buffer_callback(carrier, results, **options))


def _as_wanted(context: Any, types: tuple[Type, ...]) -> bool:
    return [aval.dtype for aval in context.avals_out] == [dtype for _shape, dtype in types]


def _structures(context: Any, types: tuple[Type, ...]) -> list[Any]:
    return [
        _compat.ShapeDtypeStruct(aval.shape, dtype)
        for aval, (_shape, dtype) in zip(context.avals_out, types, strict=True)
    ]


def _converted(context: Any, operands: Any, call: Any) -> Any:
    """The results of a call in the dtypes in which JAX is to see them."""

    def converted(*arguments: Any) -> list[Any]:
        found = call(*arguments)
        return [
            _as(value, aval.dtype) for value, aval in zip(found, context.avals_out, strict=True)
        ]

    return mlir.lower_fun(converted, multiple_results=True)(context, *operands)


def _as(value: Any, dtype: Any) -> Any:
    """In another dtype; the gradient by a real number given for a complex array is real."""
    if jnp.iscomplexobj(value) and not jnp.issubdtype(dtype, jnp.complexfloating):
        value = jnp.real(value)
    return value.astype(dtype)


def _lower_missing(context: Any, *_operands: Any, **_parameters: Any) -> Any:
    def fill() -> list[Any]:
        return [jnp.full(aval.shape, jnp.nan, aval.dtype) for aval in context.avals_out]

    inner = context.replace(avals_in=[])
    return mlir.lower_fun(fill, multiple_results=True)(inner)


for _primitive, _endpoint in ENDPOINTS.items():
    for _platform in ("cpu", "cuda"):
        _rule = functools.partial(_lower, _endpoint, _platform)
        mlir.register_lowering(_primitive, _rule, platform=_platform)
mlir.register_lowering(missing_p, _lower_missing)
