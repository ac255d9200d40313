"""Differentiation: apply gives jvp, jvp and vjp are each other's transpose.

Only what has a tangent is derived by, only what has a cotangent is asked for, and zeros stay
symbolic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax.interpreters import ad

from tesseract_host.jax import _compat
from tesseract_host.jax._compat import alike, is_zero
from tesseract_host.jax._primitives import (
    Batch,
    apply_p,
    jacobian_p,
    jvp_p,
    missing_p,
    vjp_p,
)
from tesseract_host.jax._spec import Spec

Indices = tuple[int, ...]


def _apply_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    spec: Spec,
    wrt: Indices,
    outs: Indices,
    batch: Batch,
) -> tuple[Any, Any]:
    results = apply_p.bind(*alike(primals), spec=spec, wrt=wrt, outs=outs, batch=batch)
    given = tuple(i for i, tangent in enumerate(tangents) if not is_zero(tangent))
    zeros = [_compat.zero_tangent(result) for result in results]
    if not given:
        return results, zeros
    for i in given:
        if not spec.leaves[i].differentiable:
            raise _not_differentiable_input(spec, i)
    vectors = [tangents[i] for i in given]
    flags = tuple(tuple(level[i] for i in given) for level in batch)
    floats = [o for o in outs if spec.outputs.types[o][1].kind in "fc" or _is_inexact(spec, o)]
    asked = tuple(o for o in floats if spec.outputs.differentiable[o])
    lost = tuple(o for o in floats if not spec.outputs.differentiable[o])
    if asked:
        both = tuple(a + b for a, b in zip(batch, flags, strict=True))
        operands = alike([*primals, *vectors])
        found = jvp_p.bind(*operands, spec=spec, wrt=given, outs=asked, batch=both)
        for o, tangent in zip(asked, found, strict=True):
            zeros[outs.index(o)] = tangent
    if lost and not spec.options.zero_tangents:
        found = missing_p.bind(*alike(vectors), spec=spec, outs=lost, batch=flags)
        for o, tangent in zip(lost, found, strict=True):
            zeros[outs.index(o)] = tangent
    return results, zeros


def _is_inexact(spec: Spec, out: int) -> bool:
    return bool(jnp.issubdtype(spec.outputs.types[out][1], jnp.inexact))


def _linear_jvp(
    endpoint: Any,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    spec: Spec,
    wrt: Indices,
    outs: Indices,
    batch: Batch,
) -> tuple[Any, Any]:
    """Of jvp and vjp, which are linear in the vectors behind the inputs."""
    count = len(spec.types)
    for i, tangent in enumerate(tangents[:count]):
        if not is_zero(tangent):
            raise second_order(spec, i)
    results = endpoint.bind(*alike(primals), spec=spec, wrt=wrt, outs=outs, batch=batch)
    given = [k for k, tangent in enumerate(tangents[count:]) if not is_zero(tangent)]
    if not given:
        return results, [_compat.zero_tangent(result) for result in results]
    kept = tuple((wrt if endpoint is jvp_p else outs)[k] for k in given)
    vectors = [tangents[count + k] for k in given]
    chosen = tuple(level[:count] + tuple(level[count + k] for k in given) for level in batch)
    changed = endpoint.bind(
        *alike([*primals[:count], *vectors]),
        spec=spec,
        wrt=kept if endpoint is jvp_p else wrt,
        outs=outs if endpoint is jvp_p else kept,
        batch=chosen,
    )
    return results, changed


def _linear_transpose(
    endpoint: Any,
    cotangents: Sequence[Any],
    *operands: Any,
    spec: Spec,
    wrt: Indices,
    outs: Indices,
    batch: Batch,
) -> list[Any]:
    """Of jvp by vjp and the other way round."""
    count = len(spec.types)
    for i, operand in enumerate(operands[:count]):
        if _compat.is_undefined(operand):
            raise ValueError(
                f"{spec.handle.name}: a derivative is not linear in input {spec.paths[i]!r}, so it "
                "can't be transposed by it; this would need a second derivative"
            )
    forward = endpoint is jvp_p
    vectors, results = (wrt, outs) if forward else (outs, wrt)
    open_ = [k for k in range(len(vectors)) if _compat.is_undefined(operands[count + k])]
    given = [k for k, cotangent in enumerate(cotangents) if not is_zero(cotangent)]
    gradients: list[Any] = [None] * len(operands)
    for k in open_:
        gradients[count + k] = _compat.zero_cotangent(operands[count + k].aval)
    if not given or not open_:
        return gradients
    kept = tuple(results[k] for k in given)
    sought = tuple(vectors[k] for k in open_)
    other = vjp_p if forward else jvp_p
    found = other.bind(
        *alike([*operands[:count], *(cotangents[k] for k in given)]),
        spec=spec,
        wrt=sought if forward else kept,
        outs=kept if forward else sought,
        batch=tuple(level[:count] + (True,) * len(given) for level in batch),
    )
    for k, gradient in zip(open_, found, strict=True):
        axes = tuple(n for n, level in enumerate(batch) if not level[count + k])
        whole = jnp.sum(gradient, axes) if axes else gradient
        gradients[count + k] = _compat.as_cotangent(whole, operands[count + k].aval)
    return gradients


def _jacobian_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, spec: Spec, **parameters: Any
) -> tuple[Any, Any]:
    for i, tangent in enumerate(tangents):
        if not is_zero(tangent):
            raise second_order(spec, i)
    results = jacobian_p.bind(*primals, spec=spec, **parameters)
    return results, [_compat.zero_tangent(result) for result in results]


def _missing_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, spec: Spec, outs: Indices, batch: Batch
) -> tuple[Any, Any]:
    results = missing_p.bind(*primals, spec=spec, outs=outs, batch=batch)
    return results, [_compat.zero_tangent(result) for result in results]


def _missing_transpose(
    cotangents: Sequence[Any], *operands: Any, spec: Spec, outs: Indices, batch: Batch
) -> list[Any]:
    for o, cotangent in zip(outs, cotangents, strict=True):
        if not is_zero(cotangent):
            path = spec.outputs.paths[o]
            raise ValueError(
                f"{spec.handle.name}: output {path!r} is not differentiable, but a gradient is to "
                "be taken through it: mark it Differentiable in the component's schema, or put "
                "jax.lax.stop_gradient around it"
            )
    return [_compat.zero_cotangent(o.aval) if _compat.is_undefined(o) else None for o in operands]


def _apply_transpose(_cotangents: Any, *_operands: Any, spec: Spec, **_parameters: Any) -> Any:
    raise ValueError(
        f"{spec.handle.name}: a component is not known to be linear, so a call can't be "
        "transposed; transpose its jvp or vjp by the vector"
    )


def second_order(spec: Spec, operand: int) -> RuntimeError:
    """The error of a derivative of a derivative."""
    return RuntimeError(
        f"{spec.handle.name}: a second derivative by input {spec.paths[operand]!r} was asked for: "
        "a higher-order derivative of a component can't be taken, since there is no endpoint for "
        "it; put jax.lax.stop_gradient around the input, or use the gradient alone"
    )


def _not_differentiable_input(spec: Spec, operand: int) -> ValueError:
    return ValueError(
        f"{spec.handle.name}: input {spec.paths[operand]!r} is not differentiable, but a "
        "derivative by it was asked for: mark it Differentiable in the component's schema, leave "
        "it out by argnums, or put jax.lax.stop_gradient around it"
    )


def _with(endpoint: Any, rule: Any) -> Any:
    def bound(*arguments: Any, **parameters: Any) -> Any:
        return rule(endpoint, *arguments, **parameters)

    return bound


ad.primitive_jvps[apply_p] = _apply_jvp
ad.primitive_transposes[apply_p] = _apply_transpose
for _endpoint in (jvp_p, vjp_p):
    ad.primitive_jvps[_endpoint] = _with(_endpoint, _linear_jvp)
    ad.primitive_transposes[_endpoint] = _with(_endpoint, _linear_transpose)
ad.primitive_jvps[jacobian_p] = _jacobian_jvp
ad.primitive_transposes[jacobian_p] = _apply_transpose
ad.primitive_jvps[missing_p] = _missing_jvp
ad.primitive_transposes[missing_p] = _missing_transpose
