"""The primitives: one for each endpoint, and one for tangents that don't exist.

Parameters of all four: `spec` says what is called; `wrt` lists the operands that are derived by,
`outs` the outputs that are asked for; `batch` has one tuple for each mapped axis, outermost first,
that says of each operand whether it has the axis, in front.  Results have all of them.

| primitive | operands | results |
|---|---|---|
| apply | inputs | all array outputs |
| jvp | inputs, then tangents of `wrt` | tangents of `outs` |
| vjp | inputs, then cotangents of `outs` | gradients by `wrt` |
| jacobian | inputs | for each of `outs`, for each of `wrt`, a block |
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
from jax.interpreters import xla

from tesseract_host.jax import _compat
from tesseract_host.jax._compat import Primitive, alike
from tesseract_host.jax._outputs import Type
from tesseract_host.jax._spec import Spec

__all__ = ["ENDPOINTS", "alike", "apply_p", "jacobian_p", "jvp_p", "missing_p", "vjp_p"]

Batch = tuple[tuple[bool, ...], ...]

apply_p = Primitive("tesseract_apply")
jvp_p = Primitive("tesseract_jvp")
vjp_p = Primitive("tesseract_vjp")
jacobian_p = Primitive("tesseract_jacobian")

# Tangents of outputs that aren't differentiable: NaN, an error if a gradient is to come out of
# them.  Operands: the tangents they would depend on.
missing_p = Primitive("tesseract_missing_tangent")

ENDPOINTS = {apply_p: "apply", jvp_p: "jvp", vjp_p: "vjp", jacobian_p: "jacobian"}


def batch_sizes(shapes: Sequence[tuple[Any, ...]], batch: Batch) -> tuple[Any, ...]:
    """The lengths of the mapped axes."""
    sizes = []
    before = [0] * len(shapes)
    for flags in batch:
        sizes.append(next(s[n] for s, n, f in zip(shapes, before, flags, strict=True) if f))
        before = [n + flag for n, flag in zip(before, flags, strict=True)]
    return tuple(sizes)


def result_types(
    endpoint: str, spec: Spec, wrt: tuple[int, ...], outs: tuple[int, ...], forward: bool = True
) -> tuple[Type, ...]:
    """Shapes and dtypes of what an endpoint gives, without mapped axes."""
    types = spec.outputs.types
    if endpoint in ("apply", "jvp"):
        return tuple(types[o] for o in outs)
    if endpoint == "vjp":
        return tuple(spec.types[i] for i in wrt)
    return tuple(
        (types[o][0] + spec.types[i][0], (types[o] if forward else spec.types[i])[1])
        for o in outs
        for i in wrt
    )


def _abstract(
    endpoint: str,
    *avals: Any,
    spec: Spec,
    wrt: tuple[int, ...],
    outs: tuple[int, ...],
    batch: Batch,
    forward: bool = True,
) -> tuple[list[Any], Any]:
    sizes = batch_sizes([aval.shape for aval in avals], batch)
    results = [
        _compat.result_aval(avals, sizes + shape, dtype)
        for shape, dtype in result_types(endpoint, spec, wrt, outs, forward)
    ]
    return results, _compat.call_effect() if spec.options.stateful else frozenset()


def _abstract_missing(*avals: Any, spec: Spec, outs: tuple[int, ...], batch: Batch) -> list[Any]:
    sizes = batch_sizes([aval.shape for aval in avals], batch)
    types = [spec.outputs.types[o] for o in outs]
    return [_compat.result_aval(avals, sizes + shape, dtype) for shape, dtype in types]


_wait: Any = jax.block_until_ready
_applied: Any = xla.apply_primitive


def _eager(primitive: Any, *operands: Any, spec: Spec, **parameters: Any) -> Any:
    """Waits for the operands of a Python module.

    Else it might be called on a thread of JAX's pool; if it uses JAX, that may wait for ever for
    one of the 32 places of a device that the caller has filled meanwhile with what waits for this
    very call.
    """
    if spec.handle.kind != "native":
        _wait(operands)
    return _applied(primitive, *operands, spec=spec, **parameters)


for _primitive, _endpoint in ENDPOINTS.items():
    _primitive.multiple_results = True
    _primitive.def_impl(functools.partial(_eager, _primitive))
    _primitive.def_effectful_abstract_eval(functools.partial(_abstract, _endpoint))

missing_p.multiple_results = True
missing_p.def_impl(functools.partial(xla.apply_primitive, missing_p))
missing_p.def_abstract_eval(_abstract_missing)
