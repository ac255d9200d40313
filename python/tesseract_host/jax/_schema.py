"""The leaves of a component's schemas, found by walking along values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, get_args


@dataclass(frozen=True)
class Leaf:
    """What a schema says of one path pattern."""

    is_array: bool
    differentiable: bool = False
    shape: tuple[Any, ...] | None = None  # None: any; an axis is a length, a name, or None
    dtype: str | None = None
    converts: bool = False  # an array and nothing else: Python numbers given for it become arrays
    open: bool = False  # of any type: both arrays and other values may stand here
    known: bool = True  # the schema names this place, not only one around it


@dataclass
class Node:
    """The place of a path pattern's step; names and "[]" and "{}" lead on."""

    leaf: Leaf | None = None
    inner: dict[str, Node] = field(default_factory=dict)

    def under_key(self, key: Any) -> tuple[str, Node | None]:
        """The step that a mapping's key makes in a path, and where it leads."""
        node = self.inner.get("{}")
        if node is not None:
            return braced(str(key)), node
        found = self.inner.get(str(key))
        return (str(key) if found is not None else unknown_step(key)), found

    def under_index(self, index: int) -> tuple[str, Node | None]:
        """The step that a position in a sequence makes in a path, and where it leads."""
        return f"[{index}]", self.inner.get("[]")

    def leaves(self) -> Iterator[tuple[str, Leaf]]:
        """All leaves below, by their pattern."""
        if self.leaf is not None:
            yield "", self.leaf
        for step, node in self.inner.items():
            for rest, leaf in node.leaves():
                yield (f"{step}.{rest}" if rest else step), leaf


def braced(key: str) -> str:
    """A key of a mapping as a step of a path."""
    escaped = "".join("\\" + c if c in "{}\\" else c for c in key)
    return "{" + escaped + "}"


def unknown_step(key: Any) -> str:
    """The same where the schema has no word for it: what is no name stands in braces."""
    return str(key) if str(key).isidentifier() else braced(str(key))


def of_client(client: Any) -> tuple[Node, Node]:
    """The inputs and the outputs of a client's component."""
    component = getattr(client, "component", None)
    schemas = getattr(component, "schemas", None)
    if schemas is not None:
        inputs = Node() if _swaps(schemas.inputs) else _of_model(schemas.inputs)
        return inputs, _of_model(schemas.outputs)
    description = client.description
    return _of_table(description["inputs"]), _of_table(description["outputs"])


def renames(client: Any) -> bool:
    """Whether values have other names than the paths of the leaves that they hold: where fields of
    inputs have aliases, and around root models, which are no level of the values.
    """
    schemas = getattr(getattr(client, "component", None), "schemas", None)
    if schemas is None:
        return False
    from pydantic import RootModel

    inputs, outputs = (list(_models(schema, set())) for schema in (schemas.inputs, schemas.outputs))
    if any(issubclass(model, RootModel) for model in (*inputs, *outputs)):
        return True
    return any(
        field.validation_alias not in (None, name)
        for model in inputs
        for name, field in model.model_fields.items()
    )


def _swaps(schema: Any) -> bool:
    """Whether an alias is the name of another field, so that paths say nothing of given values."""
    return any(
        field.validation_alias in model.model_fields.keys() - {name}
        for model in _models(schema, set())
        for name, field in model.model_fields.items()
        if isinstance(field.validation_alias, str)
    )


def _models(annotation: Any, seen: set[Any]) -> Iterator[Any]:
    """The models that a type is made of, each once."""
    fields = getattr(annotation, "model_fields", None) if isinstance(annotation, type) else None
    if fields is None:
        parts: Iterable[Any] = get_args(annotation)
    elif annotation in seen:
        return
    else:
        seen.add(annotation)
        yield annotation
        parts = [field.annotation for field in fields.values()]
    for part in parts:
        yield from _models(part, seen)


_STEP = re.compile(r"\{(?:\\.|[^\\}])*\}|[^.]+")


def array_at(root: Node, path: Any) -> Leaf | None:
    """The leaf of a path, or of a pattern, if it is an array; None if there is none."""
    node: Node | None = root
    for step in _STEP.findall(path) if isinstance(path, str) else ():
        inner = node.inner if node is not None else {}
        node = inner.get(step) or inner.get("[]" if step[0] == "[" else "{}")
    leaf = node.leaf if node is not None else None
    return leaf if leaf is not None and leaf.is_array else None


def array_paths(*roots: Node) -> str:
    """The paths of all arrays, for messages."""
    return ", ".join(path for root in roots for path, leaf in root.leaves() if leaf.is_array)


_STEPS = {"index": "[]", "key": "{}"}


def _of_model(schema: Any) -> Node:
    from tesseract_host.loader import leaves
    from tesseract_host.runtime.schema_types import is_differentiable

    root = Node()
    for entry in leaves.entries(schema):
        arrays = entry.arrays
        shapes = {array.expected_shape for array in arrays}
        dtypes = {array.expected_dtype for array in arrays}
        shape = shapes.pop() if len(shapes) == 1 else ...
        in_mapping = any(step.kind == "key" for step in entry.pattern)
        leaf = Leaf(
            is_array=entry.is_array,
            differentiable=any(is_differentiable(array) for array in arrays),
            shape=None if shape is Ellipsis else tuple(shape),
            dtype=dtypes.pop() if len(dtypes) == 1 else None,
            converts=len(entry.types) == 1 and entry.is_array and not in_mapping,
            open=not entry.is_array
            and (Any in entry.types or object in entry.types or bool(arrays)),
        )
        steps = [_STEPS.get(step.kind) or str(step.value) for step in entry.pattern]
        _place(root, steps).leaf = leaf
    return root


def _of_table(table: Iterable[dict[str, Any]]) -> Node:
    root = Node()
    for entry in table:
        is_array = "dtype" in entry
        shape = entry.get("shape")
        leaf = Leaf(
            is_array=is_array,
            differentiable=bool(entry.get("differentiable")),
            shape=None if shape is None else tuple(shape),
            dtype=entry.get("dtype"),
            converts=is_array and "{}" not in entry["path"],
            open=entry.get("type") == "any",
        )
        _place(root, entry["path"].split(".") if entry["path"] else []).leaf = leaf
    return root


def _place(root: Node, steps: Iterable[str]) -> Node:
    for step in steps:
        root = root.inner.setdefault(step, Node())
    return root
