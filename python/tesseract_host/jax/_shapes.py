"""What a component's outputs are, found before it is called."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tesseract_host.jax._compat import Tracer
from tesseract_host.jax._layout import Layout
from tesseract_host.jax._outputs import Outputs, Type, from_abstract, from_result
from tesseract_host.jax._schema import Leaf
from tesseract_host.jax._spec import Handle

# What stands for symbolic lengths in calls of abstract_eval: two values each, unlikely lengths.
_STANDINS = ((1009, 1013, 1019, 1021, 1031, 1033), (2003, 2011, 2017, 2027, 2029, 2039))


def outputs_of(
    handle: Handle,
    layout: Layout,
    mask: tuple[bool, ...],
    statics: Sequence[Any],
    operands: Sequence[Any],
    types: tuple[Type, ...],
) -> Outputs:
    """The outputs of a call.

    Raises what `abstract_eval` raises; without it ValueError, if nothing else tells the shapes.
    """
    if handle.offers("abstract_eval"):
        return _abstract(handle, layout, mask, statics, types)
    if not any(isinstance(operand, Tracer) for operand in operands):
        result = call(handle, layout, mask, statics, [np.asarray(o) for o in operands])
        return from_result(result, handle.outputs, handle.name)
    declared = _declared(handle)
    if declared is not None:
        return declared
    raise ValueError(
        f"{handle.name} does not support abstract_eval, and its schema doesn't say the shapes of "
        "all outputs, which JAX needs before a transformed call: add an abstract_eval endpoint, "
        "give the outputs fixed shapes in the schema, or make one call outside of "
        "transformations with arrays of these shapes first"
    )


def call(
    handle: Handle,
    layout: Layout,
    mask: tuple[bool, ...],
    statics: Sequence[Any],
    arrays: Sequence[Any],
) -> Any:
    """What `apply` returns for these arrays."""
    return handle.client.call("apply", {"inputs": layout.filled(mask, statics, arrays)})


def _abstract(
    handle: Handle,
    layout: Layout,
    mask: tuple[bool, ...],
    statics: Sequence[Any],
    types: tuple[Type, ...],
) -> Outputs:
    symbols = list(
        dict.fromkeys(n for shape, _dtype in types for n in shape if not isinstance(n, int))
    )
    if not symbols:
        return from_abstract(
            _evaluated(handle, layout, mask, statics, types, {}), handle.outputs, handle.name
        )
    first, second = (
        from_abstract(
            _evaluated(handle, layout, mask, statics, types, standins),
            handle.outputs,
            handle.name,
        )
        for standins in (dict(zip(symbols, numbers, strict=False)) for numbers in _STANDINS)
    )
    return _symbolic(first, second, symbols, handle)


def _evaluated(
    handle: Handle,
    layout: Layout,
    mask: tuple[bool, ...],
    statics: Sequence[Any],
    types: tuple[Type, ...],
    lengths: dict[Any, int],
) -> Any:
    abstract = [
        {"shape": tuple(lengths.get(n, n) for n in shape), "dtype": dtype.name}
        for shape, dtype in types
    ]
    inputs = layout.filled(mask, statics, abstract)
    return handle.client.call("abstract_eval", {"inputs": inputs})


def _symbolic(first: Outputs, second: Outputs, symbols: list[Any], handle: Handle) -> Outputs:
    """The outputs with symbols in their shapes, from those for two sets of stand-ins."""
    if len(symbols) > len(_STANDINS[0]) or len(first.types) != len(second.types):
        raise ValueError(f"{handle.name}: the outputs' shapes can't be told for symbolic lengths")
    pairs = {
        pair: symbol for symbol, pair in zip(symbols, zip(*_STANDINS, strict=True), strict=False)
    }

    def axis(a: int, b: int, path: str) -> Any:
        if a == b:
            return a
        if (a, b) in pairs:
            return pairs[a, b]
        raise ValueError(
            f"{handle.name}: output {path!r} has an axis whose length depends on symbolic lengths "
            f"of the inputs in another way than being equal to one of them ({symbols})"
        )

    types = tuple(
        (tuple(itertools.starmap(axis, ((a, b, path) for a, b in zip(s, t, strict=True)))), dtype)
        for (s, dtype), (t, _), path in zip(first.types, second.types, first.paths, strict=True)
    )
    return dataclasses.replace(first, types=types)


def _declared(handle: Handle) -> Outputs | None:
    """The outputs, if the schema alone says everything: fields with arrays of fixed shapes."""
    tree: dict[str, Any] = {}
    for path, leaf in handle.outputs.leaves():
        if not _is_fixed(leaf) or "[]" in path or "{}" in path:
            return None
        place = tree
        *outer, last = path.split(".")
        for step in outer:
            place = place.setdefault(step, {})
        place[last] = {"shape": leaf.shape, "dtype": leaf.dtype}
    return from_abstract(tree, handle.outputs, handle.name)


def _is_fixed(leaf: Leaf) -> bool:
    return (
        leaf.converts
        and leaf.dtype is not None
        and leaf.shape is not None
        and all(isinstance(n, int) for n in leaf.shape)
    )
