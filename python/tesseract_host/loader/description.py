"""The description of a component: its leaf tables, as docs/description.md says."""

from __future__ import annotations

import enum
import json
from typing import Any

import numpy as np

from tesseract_host.loader import leaves, walk
from tesseract_host.runtime.schema_types import is_differentiable

_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (dict, "object"),
    (list, "array"),
    (tuple, "array"),
    (set, "array"),
    (type(None), "null"),
)


def describe(
    name: str,
    threads: str,
    inputs: Any,
    outputs: Any,
    routes: dict[str, Any] | None = None,
    stream_ordered: bool | None = None,
) -> str:
    """The JSON text; `routes` are those of `Component.routes`.

    `stream_ordered` is None where arrays on devices are not taken.
    """
    document = {
        "name": name,
        "threads": threads,
        "reentrant": True,
        "checks": "component",
        "devices": ["cpu"] if stream_ordered is None else ["cpu", "cuda"],
        "inputs": leaf_table(inputs, True),
        "outputs": leaf_table(outputs, False),
    }
    if stream_ordered is not None:
        document["stream_ordered"] = stream_ordered
    if routes:
        document["x-routes"] = routes
    return json.dumps(document, ensure_ascii=False)


def leaf_table(schema: Any, are_inputs: bool) -> list[dict[str, Any]]:
    """One entry per path pattern of a schema."""
    return [_described(entry, are_inputs) for entry in leaves.entries(schema)]


def _described(leaf: leaves.Entry, are_inputs: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"path": walk.pattern_text(leaf.pattern)}
    if leaf.is_array:
        entry.update(_array(leaf))
    else:
        entry.update(_plain(leaf.types))
        if are_inputs:
            entry["tensor"] = True
    if are_inputs:
        entry["required"] = leaf.required
        if not leaf.required:
            entry.update(_default(leaf.default))
    elif leaf.optional:
        entry["required"] = False
    if leaf.description:
        entry["description"] = leaf.description
    return entry


def _array(leaf: leaves.Entry) -> dict[str, Any]:
    arrays = leaf.arrays
    alone = not any(type_ in (int, float, bool) for type_ in leaf.types)
    dtypes = {array.expected_dtype for array in arrays}
    shapes = {array.expected_shape for array in arrays}
    shape = shapes.pop() if len(shapes) == 1 and alone else ...
    return {
        "dtype": dtypes.pop() if len(dtypes) == 1 and alone else None,
        "shape": None if shape is Ellipsis else list(shape),
        "differentiable": any(is_differentiable(array) for array in arrays),
    }


def _plain(types: tuple[Any, ...]) -> dict[str, Any]:
    names: list[str] = []
    choices: list[Any] = []
    for type_ in types:
        found = _choices(type_)
        if found is not None:
            choices.extend(found)
            names.extend(_type_name(type(value)) for value in found)
        else:
            names.append(_type_name(type_))
    unique = list(dict.fromkeys(names))
    if "any" in unique:
        return {"type": "any"}
    entry: dict[str, Any] = {"type": unique[0] if len(unique) == 1 else unique}
    if choices and all(_choices(type_) is not None for type_ in types):
        entry["enum"] = choices
    return entry


def _choices(type_: Any) -> list[Any] | None:
    values = walk.literal_values(type_)
    if values is None and walk.is_class(type_) and issubclass(type_, enum.Enum):
        values = tuple(member.value for member in type_)
    if values is None:
        return None
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    if all(isinstance(value, str | int | float | bool | type(None)) for value in plain):
        return plain
    return None


def _type_name(type_: Any) -> str:
    if type_ is None:
        return "null"
    if walk.is_class(type_):
        for base, name in _TYPES:
            if issubclass(type_, base):
                return name
    return "any"


def _default(default: Any) -> dict[str, Any]:
    """The member `default`, if there is one that JSON can hold."""
    if default is walk.MISSING or default is None:
        return {}
    value = default.value if isinstance(default, enum.Enum) else default
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind == "c":
            return {}
        value = value.tolist()
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return {}
    return {"default": value}
