"""Outputs of a component: their structure, the types of the arrays, the values of the rest."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from tesseract_host.jax import _compat
from tesseract_host.jax._schema import Leaf, Node

Type = tuple[tuple[Any, ...], np.dtype[Any]]

_UNKNOWN = Leaf(is_array=True, known=False)


@dataclass(frozen=True, eq=False)
class Outputs:
    """What `abstract_eval` said, or what a call returned."""

    treedef: Any
    paths: tuple[str, ...]  # of the arrays
    types: tuple[Type, ...]  # of the arrays
    differentiable: tuple[bool, ...]  # of the arrays
    statics: tuple[Any, ...]  # the values that are no arrays, in order
    static_paths: tuple[str, ...]
    is_array: tuple[bool, ...]  # of all leaves
    leaves: tuple[Leaf, ...]  # what the schema says of the arrays
    exact: bool = True  # False: learnt from a call, the next may return others

    def assembled(self, arrays: Any) -> Any:
        """The result as callers see it."""
        if self.statics:
            taken, values = iter(arrays), iter(self.statics)
            arrays = [next(taken) if array else next(values) for array in self.is_array]
        return jax.tree.unflatten(self.treedef, arrays)

    def taken_apart(self, result: Any) -> tuple[list[Any], list[Any]]:
        """The arrays and the others of what apply returned; ValueError if it nests otherwise."""
        leaves = self.treedef.flatten_up_to(result)
        arrays = [leaf for leaf, array in zip(leaves, self.is_array, strict=True) if array]
        others = [leaf for leaf, array in zip(leaves, self.is_array, strict=True) if not array]
        return arrays, others


def from_abstract(tree: Any, root: Node, name: str) -> Outputs:
    """Of a result of `abstract_eval`; ValueError for 64-bit outputs that JAX would narrow."""
    return _outputs(tree, _is_type, _as_type, root, name)


def from_result(tree: Any, root: Node, name: str) -> Outputs:
    """Of a result of `apply`."""
    learnt = _outputs(tree, _is_value, lambda a: (np.shape(a), np.asarray(a).dtype), root, name)
    return dataclasses.replace(learnt, exact=False)


def _is_type(value: Any) -> bool:
    return isinstance(value, dict) and "shape" in value and "dtype" in value


def _is_value(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic)


def _as_type(value: Any) -> Type:
    return tuple(value["shape"]), np.dtype(value["dtype"])


def _outputs(tree: Any, is_array: Any, type_of: Any, root: Node, name: str) -> Outputs:
    leaves, treedef = jax.tree.flatten(tree, is_leaf=is_array)
    places = _places(jax.tree.unflatten(treedef, range(len(leaves))), root, len(leaves))
    mask = tuple(bool(is_array(leaf)) for leaf in leaves)
    arrays = [i for i, array in enumerate(mask) if array]
    others = [i for i, array in enumerate(mask) if not array]
    types = tuple(type_of(leaves[i]) for i in arrays)
    for i, (shape, dtype) in zip(arrays, types, strict=True):
        what = f"{name}: output {places[i][0]!r}"
        check_width(dtype, what)
        _check_size(shape, dtype, what)
    return Outputs(
        treedef=treedef,
        paths=tuple(places[i][0] for i in arrays),
        types=types,
        differentiable=tuple(places[i][1].differentiable for i in arrays),
        statics=tuple(leaves[i] for i in others),
        static_paths=tuple(places[i][0] for i in others),
        is_array=mask,
        leaves=tuple(places[i][1] for i in arrays),
    )


def check_width(dtype: Any, what: str) -> None:
    """Raises ValueError for a dtype of 64 bits if JAX is not to use any."""
    if _compat.is_wide(dtype):
        raise ValueError(
            f"{what} is {dtype}, and jax can't return 64-bit values when `jax_enable_x64` is off: "
            "call jax.config.update('jax_enable_x64', True) first"
        )


def _check_size(shape: tuple[Any, ...], dtype: np.dtype[Any], what: str) -> None:
    """Raises ValueError for what can't be the shape of an array in memory."""
    if any(n < 0 for n in shape) or math.prod(shape) * dtype.itemsize >= 2**63:
        raise ValueError(
            f"{what} is to have the shape {list(shape)}, as abstract_eval says, which no array has"
        )


def _places(tree: Any, root: Node, count: int) -> list[tuple[str, Leaf]]:
    found: dict[int, tuple[str, Leaf]] = {}

    def walk(value: Any, node: Node | None, path: str) -> None:
        if isinstance(value, Mapping):
            for key, item in value.items():
                step, inner = node.under_key(key) if node else (str(key), None)
                walk(item, inner, f"{path}.{step}" if path else step)
        elif isinstance(value, list | tuple):
            for index, item in enumerate(value):
                step, inner = node.under_index(index) if node else (f"[{index}]", None)
                walk(item, inner, f"{path}.{step}" if path else step)
        elif type(value) is int:
            leaf = node.leaf if node is not None else None
            found[value] = (path, leaf or _UNKNOWN)

    walk(tree, root, "")
    return [found.get(i, (f"#{i}", _UNKNOWN)) for i in range(count)]
