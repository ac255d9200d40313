"""The leaves of a component as a tree, for finding that of a place in nested values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tesseract_host.runtime import _paths
from tesseract_host.runtime._paths import Step


class Node:
    """A place: a leaf, or what is inside of it by name, index and key."""

    __slots__ = ("any_index", "any_key", "inside", "leaf")

    def __init__(self) -> None:
        self.leaf: Mapping[str, Any] | None = None
        self.inside: dict[Step, Node] = {}
        self.any_index: Node | None = None
        self.any_key: Node | None = None

    def child(self, key: str) -> tuple[Step, Node | None]:
        """What a dictionary's key means here."""
        name = Step("name", key)
        if name in self.inside:
            return name, self.inside[name]
        step = Step("key", key)
        if step in self.inside or self.any_key is not None or not key.isidentifier():
            return step, self.inside.get(step, self.any_key)
        return name, None

    def item(self, index: int) -> tuple[Step, Node | None]:
        """The same of a list's index."""
        step = Step("index", index)
        return step, self.inside.get(step, self.any_index)

    def _made(self, segment: str) -> Node:
        if segment == "[]":
            self.any_index = self.any_index or Node()
            return self.any_index
        if segment == "{}":
            self.any_key = self.any_key or Node()
            return self.any_key
        return self.inside.setdefault(_paths.parse_segment(segment), Node())


def tree(leaves: Iterable[Mapping[str, Any]]) -> Node:
    """The tree of a leaf table, whose paths may be patterns."""
    root = Node()
    for leaf in leaves:
        node = root
        for segment in _paths.split(leaf["path"]):
            node = node._made(segment)
        node.leaf = leaf
    return root


def find(root: Node, path: str) -> Mapping[str, Any] | None:
    """The leaf of a path; None where there is none."""
    node: Node | None = root
    try:
        steps = _paths.parse(path)
    except ValueError:
        return None
    for step in steps:
        if node is None:
            return None
        below = node.inside.get(step)
        if below is None and step.kind != "name":
            below = node.any_index if step.kind == "index" else node.any_key
        node = below
    return None if node is None else node.leaf


def place(result: Any, path: str, value: Any) -> Any:
    """Puts a value at a path into nested dicts and lists, which are made; returns the whole."""
    return _placed(result, _paths.parse(path), value)


def _placed(whole: Any, steps: tuple[Step, ...], value: Any) -> Any:
    if not steps:
        return value
    step, *rest = steps
    if step.kind == "index":
        items = whole if isinstance(whole, list) else []
        index = int(step.value)
        items.extend([None] * (index + 1 - len(items)))
        items[index] = _placed(items[index], tuple(rest), value)
        return items
    entries = whole if isinstance(whole, dict) else {}
    entries[step.value] = _placed(entries.get(step.value), tuple(rest), value)
    return entries
