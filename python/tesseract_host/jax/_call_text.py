"""The static part of a call as canonical JSON, which is part of compiled programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from tesseract_host.jax._outputs import Type
from tesseract_host.jax._primitives import Batch
from tesseract_host.jax._spec import Spec

_PLAIN = (str, int, float, bool, type(None))


class NotText(ValueError):
    """A call that the adapter can't make: a static value that JSON can't hold as it is, or names
    in the values that aren't those of the schema.
    """


def spec_text(
    endpoint: str,
    spec: Spec,
    wrt: tuple[int, ...],
    outs: tuple[int, ...],
    batch: Batch,
    results: Sequence[Type],
) -> str:
    """The attribute `spec` of a call; NotText if it can't be told so."""
    if spec.handle.renames:
        raise NotText("the paths of leaves aren't those of the values")
    inputs = spec.tree([_ARRAY] * len(spec.types))
    if not isinstance(inputs, Mapping):
        raise NotText("the inputs are no mapping")
    vectors: list[Type] = []
    if endpoint == "jvp":
        vectors = [spec.types[i] for i in wrt]
    elif endpoint == "vjp":
        vectors = [spec.outputs.types[o] for o in outs]
    document: dict[str, Any] = {
        "inputs": list(spec.paths),
        "json": _others(inputs, ""),
        "of": [spec.outputs.paths[o] for o in outs],
        "wrt": [spec.paths[i] for i in wrt],
        "operands": [_type(type_) for type_ in (*spec.types, *vectors)],
        "results": [_type(type_) for type_ in results],
        "batch": [[int(flag) for flag in level] for level in batch],
    }
    if endpoint == "apply" and spec.options.check_statics and spec.outputs.statics:
        expected = _expected(spec)
        if expected is not None:
            document["expect"] = expected
    kept = {key: value for key, value in document.items() if value or key == "json"}
    return json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


_ARRAY: Any = object()


def _others(tree: Any, path: str) -> Any:
    """A tree without its arrays, whose places in lists hold null."""
    if isinstance(tree, Mapping):
        return {
            str(key): _others(value, f"{path}.{key}" if path else str(key))
            for key, value in tree.items()
            if value is not _ARRAY
        }
    if isinstance(tree, list | tuple):
        return [
            None if value is _ARRAY else _others(value, f"{path}.[{index}]")
            for index, value in enumerate(tree)
        ]
    if type(tree) not in _PLAIN:
        raise NotText(f"input {path!r} is a {type(tree).__name__}, which is no value of JSON")
    return tree


def _expected(spec: Spec) -> Any:
    """The outputs that are no arrays; None where they can't be compared as JSON."""
    outputs = spec.outputs
    tree = jax.tree.unflatten(outputs.treedef, _filled(outputs))
    try:
        found = _others(_pruned(tree), "")
    except NotText:
        return None
    return found if isinstance(found, dict) else None


def _pruned(tree: Any) -> Any:
    """A tree in which containers that hold arrays and nothing else are arrays."""
    if isinstance(tree, Mapping):
        tree = {key: _pruned(value) for key, value in tree.items()}
        items = list(tree.values())
    elif isinstance(tree, list | tuple):
        tree = items = [_pruned(value) for value in tree]
    else:
        return tree
    return _ARRAY if items and all(item is _ARRAY for item in items) else tree


def _filled(outputs: Any) -> list[Any]:
    values = iter(outputs.statics)
    return [_ARRAY if array else next(values) for array in outputs.is_array]


def _type(type_: Type) -> str:
    shape, dtype = type_
    return f"{dtype.name}:{len(shape)}"
