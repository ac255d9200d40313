"""Inputs as a caller gives them: which leaves are arrays, where they are, what is static."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tesseract_host.jax import _compat
from tesseract_host.jax._compat import Tracer
from tesseract_host.jax._schema import Leaf, Node, unknown_step

Tree = Any

# Where equal values may differ in what a module sees of them.
_MANY_FORMS = frozenset(("builtins", "datetime", "decimal"))

_UNKNOWN = Leaf(is_array=False, open=True, known=False)

ARRAYS = (jax.Array, np.ndarray)  # tracers are jax.Array too


@dataclass(frozen=True)
class Place:
    """A leaf of given inputs."""

    path: str
    leaf: Leaf


class Layout:
    """Where the leaves of one structure of inputs stand; made once for each structure."""

    def __init__(self, treedef: Any, root: Node, name: str) -> None:
        self.treedef = treedef
        self.name = name
        tree = jax.tree.unflatten(treedef, range(treedef.num_leaves))
        found: dict[int, Place] = {}
        self._walk(tree, root, "", found)
        _find_others(treedef, found)
        self.places = tuple(found[i] for i in range(treedef.num_leaves))

    def _walk(self, value: Any, node: Node | None, path: str, found: dict[int, Place]) -> None:
        leaf = node.leaf if node is not None else None
        if leaf is not None and leaf.converts and not isinstance(value, int) and value is not None:
            raise TypeError(
                f"{self.name}: input {path!r} expects an array, but got "
                f"{type(value).__name__}: convert it first, by jnp.asarray or np.asarray"
            )
        if isinstance(value, Mapping):
            for key, item in value.items():
                step, inner = node.under_key(key) if node else (unknown_step(key), None)
                self._walk(item, inner, _joined(path, step), found)
        elif isinstance(value, list | tuple):
            for index, item in enumerate(value):
                step, inner = node.under_index(index) if node else (f"[{index}]", None)
                self._walk(item, inner, _joined(path, step), found)
        elif type(value) is int:
            found[value] = Place(path, leaf or _UNKNOWN)

    def filled(self, mask: Sequence[bool], statics: Sequence[Any], arrays: Sequence[Any]) -> Tree:
        """The tree with these leaves: arrays, or what stands for them, where the mask says so."""
        if not statics:
            return jax.tree.unflatten(self.treedef, arrays)
        taken, values = iter(arrays), iter(statics)
        leaves = [next(taken) if array else next(values) for array in mask]
        return jax.tree.unflatten(self.treedef, leaves)

    def split(self, leaves: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...], tuple[bool, ...]]:
        """The operands, the static values, and of each leaf whether it is an operand.

        Raises TypeError for what can't be an array where the schema has one, and for a traced
        value where it has none.
        """
        operands: list[Any] = []
        statics: list[Any] = []
        mask: list[bool] = []
        for leaf, place in zip(leaves, self.places, strict=True):
            known = place.leaf
            if isinstance(leaf, ARRAYS):
                if not (known.is_array or known.open):
                    raise self._not_an_array(place, leaf)
                if isinstance(leaf, np.ndarray):
                    if leaf.dtype.kind in "OSUMm":
                        raise self._no_numbers(place, leaf.dtype)
                    leaf = _as_jax_has_it(leaf)
                operands.append(leaf)
                mask.append(True)
            elif known.converts:
                operands.append(self._converted(leaf, place))
                mask.append(True)
            else:
                statics.append(leaf)
                mask.append(False)
        return operands, tuple(statics), tuple(mask)

    def _converted(self, value: Any, place: Place) -> Any:
        if isinstance(value, int):
            self._check_width(value, place)
        if isinstance(value, numbers.Number | np.generic):
            array = np.asarray(value)
            if array.dtype.kind in "biufc":
                return _as_jax_has_it(array)
        if hasattr(value, "__array__") or hasattr(value, "__jax_array__"):
            return jnp.asarray(value)
        raise TypeError(
            f"{self.name}: input {place.path!r} expects an array, but got "
            f"{type(value).__name__}; arrays of JAX and NumPy and numbers are taken"
        )

    def _check_width(self, value: int, place: Place) -> None:
        """Raises OverflowError for an integer that JAX would cut off, now."""
        wide = _compat.config.jax_enable_x64
        if not -(2 ** (63 if wide else 31)) <= value < 2 ** (64 if wide else 31):
            hint = (
                "give a float"
                if wide
                else "give a float, or set jax_enable_x64, without which integers have 32 bits"
            )
            raise OverflowError(
                f"{self.name}: input {place.path!r}: an integer of {value.bit_length()} bits is "
                f"too large for JAX: {hint}"
            )

    def _no_numbers(self, place: Place, dtype: Any) -> TypeError:
        return TypeError(
            f"{self.name}: input {place.path!r} is an array of {dtype}, which JAX doesn't have"
        )

    def _not_an_array(self, place: Place, value: Any) -> TypeError:
        kind = (
            "a traced value" if isinstance(value, Tracer) else f"an array ({type(value).__name__})"
        )
        return TypeError(
            f"{self.name}: input {place.path!r} is no array in the component's schema, but got "
            f"{kind}: give it as a plain Python value from outside of jit (close over it or use "
            "static_argnames), or make it an array in the schema"
        )


def _as_jax_has_it(array: np.ndarray[Any, Any]) -> Any:
    """A NumPy array in a dtype that JAX has now; the same one where that is so already."""
    dtype = array.dtype
    if not dtype.isnative:
        array = array.astype(dtype.newbyteorder("="))
        dtype = array.dtype
    if not _compat.is_wide(dtype):
        return array
    return jnp.asarray(array)


def _joined(path: str, step: str) -> str:
    return f"{path}.{step}" if path else step


def _find_others(treedef: Any, found: dict[int, Place]) -> None:
    """Leaves inside of pytree nodes that are neither mappings nor sequences."""
    if len(found) == treedef.num_leaves:
        return
    tree = jax.tree.unflatten(treedef, range(treedef.num_leaves))
    for keys, index in jax.tree_util.tree_flatten_with_path(tree)[0]:
        path = ".".join(_step(key) for key in keys)
        found.setdefault(index, Place(path, _UNKNOWN))


def _step(key: Any) -> str:
    for attribute in ("key", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return f"[{key.idx}]" if hasattr(key, "idx") else str(key)


def static_key(values: Sequence[Any]) -> tuple[Any, ...]:
    """What tells static values apart: 1, 1.0 and True differ, as do 0.0 and -0.0."""
    return tuple([_one_key(value) for value in values])


def _one_key(value: Any) -> Any:
    kind = type(value)
    if kind is float:
        return (float, value.hex())
    if kind is str or kind is int or kind is bool:
        return (kind, value)
    if isinstance(value, np.generic):
        return (kind, value.dtype, value.tobytes())
    try:
        hash(value)
    except TypeError:
        return _Same(value)
    if kind.__module__ in _MANY_FORMS:  # 0j and -0j, 1.0 and 1.00, one time in two zones
        return (kind, value, repr(value))
    return (kind, value)


class _Same:
    """Equal to what holds the same object; keeps it, so that its address is not used again."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __hash__(self) -> int:
        return id(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._value is other._value
