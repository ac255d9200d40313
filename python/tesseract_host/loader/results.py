"""From what an endpoint returned to tensors by path and one JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic_core import to_json

from tesseract_host.loader import walk
from tesseract_host.loader.failures import RequestError
from tesseract_host.runtime._check import ArrayCheck, is_device_object
from tesseract_host.runtime._encoding import encode

_REMOVED = object()


class Extractor:
    """Takes the wanted tensors out of a dumped result; the rest becomes JSON.

    `wanted` are (path, steps in the data); `arrays` the patterns, in the data, of all array leaves.
    """

    def __init__(
        self,
        wanted: Sequence[tuple[str, walk.Pattern]],
        arrays: Sequence[walk.Pattern],
        has_root: bool,
    ) -> None:
        self._wanted = wanted
        self._arrays = tuple(dict.fromkeys(arrays))
        self._has_root = has_root

    def tensors(self, tree: Any) -> list[Any]:
        """The wanted leaves in order: arrays, NumPy scalars, device objects; None for a leaf that
        is None."""
        return [_tensor(_at(tree, steps, path), path) for path, steps in self._wanted]

    def shapes(self, tree: Any) -> list[tuple[tuple[int, ...], str]]:
        """Of an abstract result: shape and dtype of the wanted leaves."""
        found = []
        for path, steps in self._wanted:
            value = _at(tree, steps, path)
            if not _is_shape(value):
                raise RequestError("the component gives no shape and dtype for it", path)
            found.append((tuple(value["shape"]), value["dtype"]))
        return found

    def json(self, tree: Any) -> str:
        """What is no array, as a JSON object; containers of arrays only are left out."""
        taken = [steps for _, steps in self._wanted]
        rest = _without(tree, (), self._arrays, taken)
        if rest is _REMOVED:
            return "{}"
        document = {"root": rest} if self._has_root else rest
        return to_json(
            document, inf_nan_mode="constants", bytes_mode="base64", fallback=_encoded
        ).decode()


def _at(tree: Any, steps: walk.Pattern, path: str) -> Any:
    node = tree
    for step in steps:
        found = _child(node, step.kind, step.value)
        if found is _REMOVED:
            raise RequestError("the result has no such output", path)
        node = found
    return node


def _child(node: Any, kind: str, value: str | int) -> Any:
    if kind == "index":
        if isinstance(node, list | tuple) and int(value) < len(node):
            return node[int(value)]
    elif isinstance(node, Mapping):
        if value in node:
            return node[value]
        for key in node:  # keys that are no text
            if str(key) == value:
                return node[key]
    return _REMOVED


def _tensor(value: Any, path: str) -> Any:
    if value is None or isinstance(value, np.ndarray | np.generic) or is_device_object(value):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise RequestError(f"the output is no tensor but {type(value).__name__}", path)
    return array[()]


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic) or is_device_object(value) or _is_shape(value)


def _is_shape(value: Any) -> bool:
    return isinstance(value, Mapping) and set(value) == {"shape", "dtype"}


def _without(
    node: Any,
    place: walk.Pattern,
    arrays: Sequence[walk.Pattern],
    taken: Sequence[walk.Pattern],
) -> Any:
    """The tree without its arrays and what was taken; null in lists that hold both."""
    if any(place == steps for steps in taken) and node is not None:
        return _REMOVED
    if any(walk.matches(pattern, place) for pattern in arrays) and _is_array(node):
        return _REMOVED
    if isinstance(node, Mapping):
        entries = {
            key: _without(value, _below(place, key, arrays, taken), arrays, taken)
            for key, value in node.items()
        }
        kept = {key: value for key, value in entries.items() if value is not _REMOVED}
        return kept if kept or not node else _REMOVED
    if isinstance(node, list | tuple):
        items = [
            _without(value, (*place, walk.ANY_INDEX._replace(value=i)), arrays, taken)
            for i, value in enumerate(node)
        ]
        if items and all(item is _REMOVED for item in items):
            return _REMOVED
        return [None if item is _REMOVED else item for item in items]
    return node


def _below(
    place: walk.Pattern,
    key: Any,
    arrays: Sequence[walk.Pattern],
    taken: Sequence[walk.Pattern],
) -> walk.Pattern:
    """The place of a key: that of a dictionary where a pattern says so, else of a model."""
    depth = len(place)
    for pattern in (*arrays, *taken):
        if len(pattern) > depth and pattern[depth].kind == "key":
            if walk.matches(pattern[:depth], place):
                return (*place, walk.ANY_KEY._replace(value=str(key)))
    return (*place, walk.ANY_KEY._replace(kind="name", value=key))


def _encoded(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return encode(ArrayCheck(..., None), value, {})
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, complex):
        return str(value).strip("()")
    raise TypeError(f"{type(value).__name__} has no JSON form")
