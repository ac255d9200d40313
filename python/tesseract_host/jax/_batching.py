"""`vmap`: a loop inside of one call, one call on longer arrays, or a Jacobian and products.

One call on longer arrays is what a component's own batch axis allows, see _rows.py, or what the
caller asks for by `vmap_method`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import batching

from tesseract_host.jax._compat import alike
from tesseract_host.jax._primitives import (
    ENDPOINTS,
    Batch,
    jacobian_p,
    missing_p,
    result_types,
)
from tesseract_host.jax._rows import Folding
from tesseract_host.jax._spec import Spec

Indices = tuple[int, ...]
Batched = tuple[Sequence[Any], Sequence[int | None]]

VECTORISED = ("expand_dims", "broadcast_all", "auto_experimental")


def _rule(
    primitive: Any,
    arguments: Sequence[Any],
    axes: Sequence[int | None],
    *,
    spec: Spec,
    wrt: Indices,
    outs: Indices,
    batch: Batch,
    **forward: bool,
) -> Batched:
    flags = tuple(axis is not None for axis in axes)
    operands = _in_front(arguments, axes)
    endpoint = ENDPOINTS[primitive]
    count = len(spec.types)
    size = next(o.shape[0] for o, flag in zip(operands, flags, strict=True) if flag)
    if endpoint in ("jvp", "vjp") and not any(flags[:count]):
        if _materializes(spec, endpoint, wrt, outs, size):
            products = _contracted(endpoint, operands, flags, spec, wrt, outs, batch, size)
            return products, (0,) * len(products)
    if any(spec.options.rows):
        folding = Folding(spec, endpoint, wrt, outs, batch, size)
        if folding.is_possible(operands, flags):
            return folding.bound(primitive, operands, flags)
    found: Sequence[Any]
    if not batch and _vectorises(spec, endpoint, flags):
        found = _vectorised(primitive, endpoint, operands, flags, spec, wrt, outs, size)
    else:
        found = primitive.bind(
            *alike(operands), spec=spec, wrt=wrt, outs=outs, batch=(flags, *batch), **forward
        )
    return found, (0,) * len(found)


def _in_front(arguments: Sequence[Any], axes: Sequence[int | None]) -> list[Any]:
    return [
        argument if axis is None or axis == 0 else jnp.moveaxis(argument, axis, 0)
        for argument, axis in zip(arguments, axes, strict=True)
    ]


def _missing_rule(
    arguments: Sequence[Any],
    axes: Sequence[int | None],
    *,
    spec: Spec,
    outs: Indices,
    batch: Batch,
) -> Batched:
    flags = tuple(axis is not None for axis in axes)
    operands = _in_front(arguments, axes)
    found = missing_p.bind(*operands, spec=spec, outs=outs, batch=(flags, *batch))
    return found, (0,) * len(found)


# ---- Many vectors at one point ------------------------------------------------------------------


def _materializes(spec: Spec, endpoint: str, wrt: Indices, outs: Indices, size: Any) -> bool:
    wanted = spec.options.materialize
    offered = spec.handle.offers("jacobian")
    if wanted and not offered:
        raise RuntimeError(
            f"{spec.handle.name} has no jacobian endpoint, which materialize_jacobian=True needs"
        )
    if wanted is not None:
        return wanted
    if not offered:
        return False
    if not spec.handle.offers(endpoint):
        return True
    types = (
        [spec.types[i] for i in wrt] if endpoint == "jvp" else [spec.outputs.types[o] for o in outs]
    )
    lengths = [*(n for shape, _dtype in types for n in shape), size]
    if not all(isinstance(n, int) for n in lengths):
        return True
    return bool(size >= sum(math.prod(shape) for shape, _dtype in types))


def _contracted(
    endpoint: str,
    operands: Sequence[Any],
    flags: tuple[bool, ...],
    spec: Spec,
    wrt: Indices,
    outs: Indices,
    batch: Batch,
    size: Any,
) -> list[Any]:
    """The products of the blocks of one Jacobian with all vectors."""
    count = len(spec.types)
    forward = endpoint == "jvp"
    of_inputs = [n for n, level in enumerate(batch) if any(level[:count])]
    blocks = jacobian_p.bind(
        *alike(operands[:count]),
        spec=spec,
        wrt=wrt,
        outs=outs,
        batch=tuple(batch[n][:count] for n in of_inputs),
        forward=forward,
    )
    levels = len(batch)
    sizes = _sizes(operands, flags, batch)
    results = result_types(endpoint, spec, wrt, outs)
    found = []
    for r, (shape, dtype) in enumerate(results):
        total: Any = None
        for k in range(len(operands) - count):
            o, i = (r, k) if forward else (k, r)
            block = blocks[o * len(wrt) + i]
            ranks = len(spec.outputs.types[outs[o]][0]), len(spec.types[wrt[i]][0])
            own = [n for n, level in enumerate(batch) if level[count + k]]
            term = _product(
                block, operands[count + k], flags[count + k], of_inputs, own, levels, ranks, forward
            )
            total = term if total is None else total + term
        found.append(jnp.broadcast_to(total.astype(dtype), (size, *sizes, *shape)))
    return found


def _product(
    block: Any,
    vector: Any,
    mapped: bool,
    of_inputs: list[int],
    own: list[int],
    levels: int,
    ranks: tuple[int, int],
    forward: bool,
) -> Any:
    """One block by one vector: with an axis for `size` and each level, of length 1 if absent."""
    first = levels + 1
    of_out = list(range(first, first + ranks[0]))
    of_in = list(range(first + ranks[0], first + sum(ranks)))
    kept, summed = (of_out, of_in) if forward else (of_in, of_out)
    present = sorted({*of_inputs, *own})
    axes_vector = ([levels] if mapped else []) + own + summed
    axes_result = ([levels] if mapped else []) + present + kept
    found = jnp.einsum(
        block,
        of_inputs + of_out + of_in,
        vector.astype(block.dtype),
        axes_vector,
        axes_result,
        precision=jax.lax.Precision.HIGHEST,
    )
    absent = ([] if mapped else [0]) + [n + 1 for n in range(levels) if n not in present]
    return jnp.expand_dims(found, absent) if absent else found


def _sizes(operands: Sequence[Any], flags: tuple[bool, ...], batch: Batch) -> list[Any]:
    sizes = []
    before = [int(flag) for flag in flags]
    for level in batch:
        rows = zip(operands, before, level, strict=True)
        sizes.append(next(operand.shape[n] for operand, n, flag in rows if flag))
        before = [n + flag for n, flag in zip(before, level, strict=True)]
    return sizes


# ---- One call on longer arrays ------------------------------------------------------------------


def _vectorises(spec: Spec, endpoint: str, flags: tuple[bool, ...]) -> bool:
    method = spec.options.vmap_method
    count = len(spec.types)
    if method not in VECTORISED or endpoint == "jacobian":
        return False
    if endpoint == "vjp" and any(flags[count:]):
        return False
    if method != "auto_experimental":
        return True
    mapped = [i for i in range(count) if flags[i]]
    return all(spec.leaves[i].differentiable and spec.leaves[i].shape is None for i in mapped)


def _vectorised(
    primitive: Any,
    endpoint: str,
    operands: Sequence[Any],
    flags: tuple[bool, ...],
    spec: Spec,
    wrt: Indices,
    outs: Indices,
    size: Any,
) -> Sequence[Any]:
    count = len(spec.types)
    whole = [spec.options.vmap_method == "broadcast_all"] * len(operands)
    if endpoint == "jvp":  # a point and its tangent have one shape
        for k, i in enumerate(wrt):
            whole[i] |= flags[count + k]
            whole[count + k] |= flags[i]
    elif endpoint == "vjp":  # a gradient for each element, and a cotangent of each
        for i in (*wrt, *range(count, len(operands))):
            whole[i] = True
    longer = [
        operand if flag else jnp.broadcast_to(operand, (size if all_ else 1, *operand.shape))
        for operand, flag, all_ in zip(operands, flags, whole, strict=True)
    ]
    types = tuple((tuple(o.shape), t[1]) for o, t in zip(longer, spec.types, strict=False))
    results = tuple(((size, *shape), dtype) for shape, dtype in spec.outputs.types)
    _check_ranks(spec, types, results)
    found: Sequence[Any] = primitive.bind(
        *alike(longer), spec=spec.of_shapes(types, results), wrt=wrt, outs=outs, batch=()
    )
    return found


def _check_ranks(spec: Spec, types: Sequence[Any], results: Sequence[Any]) -> None:
    """Raises ValueError where the schema has no room for one axis more."""
    places = [("input", p, spec.leaves[i], types[i][0]) for i, p in enumerate(spec.paths)]
    for path, leaf, (shape, _dtype) in zip(
        spec.outputs.paths, spec.outputs.leaves, results, strict=True
    ):
        places.append(("output", path, leaf, shape))
    for kind, path, leaf, shape in places:
        if leaf.shape is not None and leaf.is_array and len(leaf.shape) != len(shape):
            raise ValueError(
                f"{spec.handle.name}: vmap_method={spec.options.vmap_method!r} gives {kind} "
                f"{path!r} rank {len(shape)}, but the component's schema has {len(leaf.shape)}: "
                "use vmap_method='sequential', or Array[..., dtype] in the schema"
            )


def _with(primitive: Any) -> Any:
    def bound(arguments: Any, axes: Any, **parameters: Any) -> Any:
        return _rule(primitive, arguments, axes, **parameters)

    return bound


_batchers: Any = batching.primitive_batchers
for _primitive in ENDPOINTS:
    _batchers[_primitive] = _with(_primitive)
_batchers[missing_p] = _missing_rule
