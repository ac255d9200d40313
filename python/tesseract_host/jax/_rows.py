"""Components with a batch axis of their own, whose mapped calls are one call with more rows.

The first axis of some leaves are rows, computed independently; all others are shared by the rows.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import jax.numpy as jnp

from tesseract_host.jax import _compat, _schema
from tesseract_host.jax._compat import alike
from tesseract_host.jax._outputs import Type
from tesseract_host.jax._primitives import Batch
from tesseract_host.jax._schema import Leaf
from tesseract_host.jax._spec import Handle, Rows, Spec, described_rows
from tesseract_host.runtime import _paths

Indices = tuple[int, ...]

# ---- Which leaves have them ---------------------------------------------------------------------


def registered(handle: Handle, batched: Iterable[str] | None) -> Rows:
    """The leaves with rows as `register` has them; ValueError for what can't have any."""
    if batched is None:
        return described_rows(handle)
    if isinstance(batched, str):
        raise TypeError(f"batched is a text, {batched!r}; must be a list of paths")
    found: tuple[set[str], set[str]] = (set(), set())
    roots = (handle.inputs, handle.outputs)
    for path in batched:
        places = [_schema.array_at(root, path) for root in roots]
        if not any(places):
            raise ValueError(
                f"{handle.name} has no input or output {path!r} that is an array; it has "
                + _schema.array_paths(*roots)
            )
        for leaf, paths in zip(places, found, strict=True):
            if leaf is not None:
                _check(handle, path, leaf)
                paths.add(path)
    return frozenset(found[0]), frozenset(found[1])


def _check(handle: Handle, path: str, leaf: Leaf) -> None:
    if leaf.shape is None or (leaf.shape and not isinstance(leaf.shape[0], int)):
        return
    has = f"a first axis of {leaf.shape[0]}" if leaf.shape else "rank 0"
    raise ValueError(
        f"{handle.name}: {path!r} has {has} in the component's schema, so it can't have any "
        "number of rows: leave it out of batched, or make the axis None in the schema"
    )


def _has(paths: frozenset[str], path: str) -> bool:
    if path in paths:
        return True
    marks = {"[": "[]", "{": "{}"}
    return ".".join(marks.get(step[:1], step) for step in _paths.split(path)) in paths


# ---- Calls --------------------------------------------------------------------------------------


class Folding:
    """How a call is mapped over `size` elements by giving it `size` times as many rows."""

    def __init__(
        self, spec: Spec, endpoint: str, wrt: Indices, outs: Indices, batch: Batch, size: Any
    ) -> None:
        inputs, outputs = spec.options.rows
        self.spec, self.endpoint, self.size = spec, endpoint, size
        self.wrt, self.outs, self.batch = wrt, outs, batch
        self._in = [_has(inputs, path) for path in spec.paths]
        self._out = [_has(outputs, path) for path in spec.outputs.paths]
        vectors = {"jvp": [self._in[i] for i in wrt], "vjp": [self._out[o] for o in outs]}
        # Of operands and of results, whether they have rows.
        self.operands = self._in + vectors.get(endpoint, [])
        self.results = (
            [self._in[i] for i in wrt] if endpoint == "vjp" else [self._out[o] for o in outs]
        )

    def is_possible(self, operands: Sequence[Any], flags: Sequence[bool]) -> bool:
        """Whether one call gives what a call for each element does."""
        if self.spec.options.vmap_method is not None or self.endpoint == "jacobian":
            return False
        if not all(rows for rows, flag in zip(self.operands, flags, strict=True) if flag):
            return False
        # The gradient by what the rows share would be one sum over all elements.
        if self.endpoint == "vjp" and not all(self.results):
            return False
        if isinstance(self.size, int) and self.size == 0:  # the loop makes no call
            return False
        if self._rows is None:
            return False
        return not any(_compat.is_explicitly_divided(o) for o in operands)

    @functools.cached_property
    def _rows(self) -> Any:
        """How many rows all leaves with rows have; None if they differ."""
        types = [t for t, rows in zip(self.spec.types, self._in, strict=True) if rows]
        types += [t for t, rows in zip(self.spec.outputs.types, self._out, strict=True) if rows]
        shapes = [shape for shape, _dtype in types]
        if not shapes or not all(shapes):
            return None
        return shapes[0][0] if all(shape[0] == shapes[0][0] for shape in shapes) else None

    def bound(
        self, primitive: Any, operands: Sequence[Any], flags: Sequence[bool]
    ) -> tuple[Sequence[Any], Sequence[int | None]]:
        """The results, and where each has its mapped axis; operands have it in front."""
        levels = [sum(level[k] for level in self.batch) for k in range(len(operands))]
        longer = [
            self._folded(operand, flag, n) if rows else operand
            for operand, flag, n, rows in zip(operands, flags, levels, self.operands, strict=True)
        ]
        spec = self.spec.of_shapes(
            self._longer(self.spec.types, self._in),
            self._longer(self.spec.outputs.types, self._out),
        )
        found = primitive.bind(
            *alike(longer), spec=spec, wrt=self.wrt, outs=self.outs, batch=self.batch
        )
        depth = len(self.batch)
        results = [
            self._unfolded(result, depth) if rows else result
            for result, rows in zip(found, self.results, strict=True)
        ]
        return results, tuple(depth if rows else None for rows in self.results)

    def _longer(self, types: Sequence[Type], rows: Sequence[bool]) -> tuple[Type, ...]:
        return tuple(
            ((shape[0] * self.size, *shape[1:]), dtype) if has else (shape, dtype)
            for (shape, dtype), has in zip(types, rows, strict=True)
        )

    def _folded(self, operand: Any, mapped: bool, levels: int) -> Any:
        """The operand with the rows of one element behind those of another."""
        if not mapped:
            operand = jnp.broadcast_to(operand, (self.size, *operand.shape))
        if levels:
            operand = jnp.moveaxis(operand, 0, levels)
        shape = operand.shape
        rows = shape[levels] * shape[levels + 1]
        return jnp.reshape(operand, (*shape[:levels], rows, *shape[levels + 2 :]))

    def _unfolded(self, result: Any, levels: int) -> Any:
        shape = result.shape
        return jnp.reshape(result, (*shape[:levels], self.size, self._rows, *shape[levels + 1 :]))
