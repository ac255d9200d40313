"""From a signature's paths and JSON document to the tree that the schema validates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tesseract_host.loader import walk
from tesseract_host.loader.failures import INVALID_ARGUMENT, RequestError
from tesseract_host.runtime import _paths

MAX_DEPTH = 200


class Slot:
    """The position of a tensor in a tree."""

    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position


class _Items(dict[int, Any]):
    """A list under construction."""


class Template:
    """A tree with slots; `fill` makes a fresh one with values in them.

    `tree` is not to be changed.
    """

    def __init__(self, schema: Any, paths: Sequence[str], document: str) -> None:
        tree = parse(document)
        if walk.is_root_model(schema):
            tree = _root(tree)
        holder = {"": tree}
        for position, path in enumerate(paths):
            _insert(holder, locate(schema, parse_path(path), True), Slot(position), path)
        self.tree = _finished(holder.get("", {}), ())

    def fill(self, values: Sequence[Any]) -> Any:
        """The tree with `values[i]` in slot i; all containers are new."""
        return _filled(self.tree, values)

    def map_leaf(self, pattern: walk.Pattern, change: Any) -> None:
        """Replaces every JSON value at the pattern by what `change(value)` returns."""
        self.tree = _mapped(self.tree, pattern, change)


def parse(document: str) -> dict[str, Any]:
    """The JSON object of a request; NaN and Infinity are accepted."""
    try:
        tree = json.loads(document) if document else {}
    except RecursionError:
        raise RequestError("the JSON is nested too deeply", status=INVALID_ARGUMENT) from None
    except ValueError as error:
        raise RequestError(f"the JSON is broken: {error}", status=INVALID_ARGUMENT) from None
    if not isinstance(tree, dict):
        raise RequestError("the JSON must be an object", status=INVALID_ARGUMENT)
    return tree


def _root(tree: dict[str, Any]) -> Any:
    unknown = sorted(set(tree) - {"root"})
    if unknown:
        raise RequestError(f"the inputs are a root model, so JSON may only hold 'root': {unknown}")
    return tree.get("root", walk.MISSING)


def parse_path(path: str) -> walk.Pattern:
    """The steps of a path; RequestError if it is malformed."""
    try:
        return _paths.parse(path)
    except ValueError as error:
        raise RequestError(str(error), path) from None


def locate(schema: Any, steps: walk.Pattern, given: bool) -> walk.Pattern:
    """The steps in the data to what these steps lead to in the schema.

    Root models are no level of the data.  Fields of inputs, `given`, are named by their alias.
    """
    nodes: list[Any] = [schema]
    located: list[_paths.Step] = []
    for step in steps:
        nodes = [member for node in nodes for member in walk.members(node)]
        key, nodes = _located_step(nodes, step, given)
        if key is not None:
            located.append(key)
    return tuple(located)


def _located_step(
    nodes: list[Any], step: _paths.Step, given: bool
) -> tuple[_paths.Step | None, list[Any]]:
    following: list[Any] = []
    key: _paths.Step | None = step
    for node in nodes:
        inside = walk.container(node)
        if inside is not None and inside[0].kind == step.kind:
            following.extend(inside[1])
        elif walk.is_model(node) and step.kind == "name" and step.value in node.model_fields:
            field = node.model_fields[str(step.value)]
            following.append(field.annotation)
            if walk.is_root_model(node):
                key = None
            elif key is not None and given:
                key = _paths.Step("name", _given_name(node, str(step.value)))
    return key, following


def _given_name(model: Any, name: str) -> str:
    """The key that a field is given by."""
    settings = model.model_config
    alias = model.model_fields[name].validation_alias
    if settings.get("populate_by_name") or settings.get("validate_by_name") or alias is None:
        return name
    choices = getattr(alias, "choices", [alias])
    return next((choice for choice in choices if isinstance(choice, str)), name)


def _insert(holder: dict[str, Any], steps: walk.Pattern, slot: Slot, path: str) -> None:
    node: Any = holder
    key: Any = ""
    for step in steps:
        child = node.get(key, walk.MISSING)
        if child is walk.MISSING or (child is None and isinstance(node, _Items)):
            child = _Items() if step.kind == "index" else {}
        elif isinstance(child, list):
            child = _Items(enumerate(child))
        wanted = _Items if step.kind == "index" else dict
        if not isinstance(child, wanted) or (wanted is dict and isinstance(child, _Items)):
            raise RequestError(f"there is no place for it at {step} in the other inputs", path)
        node[key] = child
        node, key = child, step.value
    present = node.get(key, walk.MISSING)
    if present is not walk.MISSING and not (present is None and isinstance(node, _Items)):
        raise RequestError("given twice, as a tensor and in the JSON or the paths", path)
    node[key] = slot


def _finished(node: Any, place: tuple[_paths.Step, ...]) -> Any:
    if len(place) > MAX_DEPTH:
        raise RequestError("the inputs are nested too deeply", status=INVALID_ARGUMENT)
    if isinstance(node, _Items):
        for index in range(len(node)):
            if index not in node:
                hole = _paths.join((*place, _paths.Step("index", index)))
                raise RequestError("missing, though later items of the list are given", hole)
        return [_finished(node[i], (*place, _paths.Step("index", i))) for i in range(len(node))]
    if isinstance(node, dict):
        return {k: _finished(v, (*place, _paths.Step("name", k))) for k, v in node.items()}
    if isinstance(node, list):
        return [_finished(v, (*place, _paths.Step("index", i))) for i, v in enumerate(node)]
    return node


def _filled(node: Any, values: Sequence[Any]) -> Any:
    if isinstance(node, Slot):
        return values[node.position]
    if isinstance(node, dict):
        return {key: _filled(value, values) for key, value in node.items()}
    if isinstance(node, list):
        return [_filled(value, values) for value in node]
    return node


def _mapped(node: Any, pattern: walk.Pattern, change: Any) -> Any:
    if isinstance(node, Slot):
        return node
    if not pattern:
        return change(node)
    step, rest = pattern[0], pattern[1:]
    if step is walk.ANY_INDEX and isinstance(node, list):
        return [_mapped(value, rest, change) for value in node]
    if step is walk.ANY_KEY and isinstance(node, dict):
        return {key: _mapped(value, rest, change) for key, value in node.items()}
    if step.kind == "name" and isinstance(node, dict) and step.value in node:
        return {**node, step.value: _mapped(node[step.value], rest, change)}
    return node
