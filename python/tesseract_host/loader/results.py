"""From what an endpoint returned to tensors by path and one JSON document."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from pydantic_core import to_json

from tesseract_host.loader import walk
from tesseract_host.loader.failures import RequestError
from tesseract_host.runtime import _paths
from tesseract_host.runtime._check import ArrayCheck, is_device_object
from tesseract_host.runtime._encoding import encode

# The results by position, None for an optional one that is not there; all outputs that are no
# arrays as JSON; and, where there are containers of arrays, their other elements by path.
Answer = tuple[list[Any], str] | tuple[list[Any], str, list[tuple[str, Any]]]

SEQUENCES = (list, tuple, set, frozenset, deque)

_REMOVED = object()


class Place(NamedTuple):
    """Where a leaf, or the leaves of a pattern, are in a dumped result."""

    steps: walk.Pattern  # in the schema, as paths write them
    levels: tuple[bool, ...]  # for each step, whether it is one in the data, as roots are not
    optional: bool  # the leaf, or what it stands in, may be None or another member of a union

    @property
    def data(self) -> walk.Pattern:
        """The steps in the data."""
        return tuple(itertools.compress(self.steps, self.levels))


class Extractor:
    """Takes the wanted tensors out of a dumped result; the rest becomes JSON.

    `paths` name the wanted leaves, `wanted` has their places, in the same order; `arrays` has the
    places of all leaves that the description calls arrays.
    """

    def __init__(
        self,
        paths: Sequence[str],
        wanted: Sequence[Place],
        arrays: Sequence[Place],
        has_root: bool,
    ) -> None:
        self._wanted = [
            (path, place.data, place.optional) for path, place in zip(paths, wanted, strict=True)
        ]
        self._taken = [place.data for place in wanted]
        self._arrays = tuple(place.data for place in arrays)
        self._patterns = [
            tuple(zip(place.steps, place.levels, strict=True))
            for place in arrays
            if walk.ANY_INDEX in place.steps or walk.ANY_KEY in place.steps
        ]
        self._has_root = has_root

    def tensors(self, tree: Any) -> Answer:
        """What `Plan.run` returns of a result: arrays, NumPy scalars, device objects."""
        return self._answer(tree, _tensor)

    def shapes(self, tree: Any) -> Answer:
        """The same of an abstract result: pairs of shape and dtype name."""
        return self._answer(tree, _shape)

    def _answer(self, tree: Any, read: Callable[[Any, str], Any]) -> Answer:
        found = [
            None if value is None else read(value, path)
            for path, steps, optional in self._wanted
            for value in [_at(tree, steps, path, optional)]
        ]
        if not self._patterns:
            return found, self._json(tree)
        named = {path for path, _, _ in self._wanted}
        others = [
            (path, read(value, path))
            for pattern in self._patterns
            for path, value in _elements(tree, pattern, ())
            if value is not None and path not in named
        ]
        return found, self._json(tree), others

    def _json(self, tree: Any) -> str:
        """What is no array, as a JSON object; containers of arrays only are left out."""
        rest = _without(tree, (), self._arrays, self._taken)
        if rest is _REMOVED:
            return "{}"
        document = {"root": rest} if self._has_root else rest
        return encode_rest(document)

    @property
    def steps(self) -> list[tuple[str, ...]]:
        """The steps to the wanted leaves in the data."""
        return [tuple(str(step.value) for step in place) for place in self._taken]


def encode_rest(document: Any) -> str:
    """JSON text of what is no array."""
    return to_json(
        document, inf_nan_mode="constants", bytes_mode="base64", fallback=_encoded
    ).decode()


def _at(tree: Any, steps: walk.Pattern, path: str, optional: bool) -> Any:
    node = tree
    for step in steps:
        found = _child(node, step.kind, step.value)
        if found is _REMOVED:
            if optional and (node is None or step.kind == "name"):
                return None
            raise RequestError("the result has no such output", path)
        node = found
    return node


def _child(node: Any, kind: str, value: str | int) -> Any:
    if kind == "index":
        if isinstance(node, SEQUENCES) and int(value) < len(node):
            return list(node)[int(value)]
    elif isinstance(node, Mapping):
        if value in node:
            return node[value]
        for key in node:  # keys that are no text
            if str(key) == value:
                return node[key]
    return _REMOVED


def _elements(
    node: Any, pattern: Sequence[tuple[_paths.Step, bool]], done: walk.Pattern
) -> Iterator[tuple[str, Any]]:
    """The path and value of each leaf of a pattern."""
    if not pattern:
        yield _paths.join(done), node
        return
    (step, is_level), rest = pattern[0], pattern[1:]
    children: Iterable[tuple[_paths.Step, Any]] = ()
    if not is_level:
        children = [(step, node)]
    elif step == walk.ANY_INDEX:
        if isinstance(node, SEQUENCES):
            children = [(step._replace(value=i), item) for i, item in enumerate(node)]
    elif step == walk.ANY_KEY:
        if isinstance(node, Mapping):
            if any(str(key) == "" for key in node):
                raise RequestError(
                    "the dictionary has an empty key, which no output's path can name",
                    _paths.join(done),
                )
            children = [(step._replace(value=str(key)), item) for key, item in node.items()]
    else:
        found = _child(node, step.kind, step.value)
        children = [] if found is _REMOVED else [(step, found)]
    for below, item in children:
        yield from _elements(item, rest, (*done, below))


def _shape(value: Any, path: str) -> tuple[tuple[int, ...], str]:
    if not (isinstance(value, Mapping) and set(value) == {"shape", "dtype"}):
        raise RequestError("the component gives no shape and dtype for it", path)
    return tuple(value["shape"]), value["dtype"]


def _tensor(value: Any, path: str) -> Any:
    if value is None or isinstance(value, np.ndarray | np.generic) or is_device_object(value):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise RequestError(f"the output is no tensor but {type(value).__name__}", path)
    return array[()]


def _without(
    node: Any,
    place: walk.Pattern,
    arrays: Sequence[walk.Pattern],
    taken: Sequence[walk.Pattern],
) -> Any:
    """The tree without its arrays and what was taken; null in lists that hold both, and for
    elements that are None.
    """
    if any(walk.matches(pattern, place) for pattern in (*arrays, *taken)):
        is_element = bool(place) and place[-1].kind != "name"
        return None if node is None and is_element else _REMOVED
    if isinstance(node, Mapping):
        entries = {
            key: _without(value, _below(place, key, arrays, taken), arrays, taken)
            for key, value in node.items()
        }
        kept = {key: value for key, value in entries.items() if value is not _REMOVED}
        return kept if kept or not node else _REMOVED
    if isinstance(node, SEQUENCES):
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
