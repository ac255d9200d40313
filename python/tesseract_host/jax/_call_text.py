"""The static part of a call as canonical JSON, which is part of compiled programs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import pydantic_core

from tesseract_host.jax._outputs import Type
from tesseract_host.jax._primitives import Batch
from tesseract_host.jax._schema import Node
from tesseract_host.jax._spec import Spec

_PLAIN = (str, int, float, bool, type(None))
_PLAIN_STEP = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\[[0-9]+\]")


class NotText(ValueError):
    """Something that the adapter can't be told as it is, or by the names of the values: the client
    is to be called.
    """


def spec_text(
    endpoint: str,
    spec: Spec,
    wrt: tuple[int, ...],
    outs: tuple[int, ...],
    batch: Batch,
    results: Sequence[Type],
) -> str:
    """The attribute `spec` of a call; NotText if it is not for the adapter."""
    if spec.handle.renames:
        raise NotText("the paths of leaves aren't those of the values")
    exact = spec.handle.kind != "native"  # there, JSON is what the component gets in any case
    if exact:
        _check_places(endpoint, spec, outs)
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
        "json": _others(inputs, "", spec.handle.inputs if exact else _CONVERTED),
        "of": [spec.outputs.paths[o] for o in outs],
        "wrt": [spec.paths[i] for i in wrt],
        "operands": [_type(type_) for type_ in (*spec.types, *vectors)],
        "results": [_type(type_) for type_ in results],
        "batch": [[int(flag) for flag in level] for level in batch],
        "staged": spec.options.staged,
    }
    if endpoint == "apply" and spec.options.check_statics and spec.outputs.statics:
        expected = _expected(spec)
        if expected is not None:
            document["expect"] = expected
    kept = {key: value for key, value in document.items() if value or key == "json"}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    if "\\ud" in text:  # a pair is a character beyond the first 65536, half of one is none
        try:
            json.dumps(kept, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise NotText("a text among the inputs is no Unicode: half of a pair") from None
    return text


_ARRAY: Any = object()

# The place of values whose containers nobody tells apart.
_CONVERTED = Node()


def _check_places(endpoint: str, spec: Spec, outs: tuple[int, ...]) -> None:
    """NotText where arrays stand in places that the host has none for."""
    for operand, path in enumerate(spec.paths):
        known = spec.leaves[operand].known
        if path == "{}" or path.endswith(".{}") or not (known or _is_plain(path)):
            raise NotText(f"the array {path!r} has no path of the host's")
    if endpoint != "apply":
        return
    leaves = spec.outputs.leaves
    if not all(leaves[o].known and leaves[o].is_array for o in outs):
        raise NotText("an output is an array where the schema leaves that open")
    if spec.outputs.statics:
        try:
            pydantic_core.to_json(spec.outputs.statics)
        except (ValueError, TypeError):
            raise NotText("an output is no value of JSON") from None


def _is_plain(path: str) -> bool:
    """Whether a path below a place of any type means there what it says."""
    return all(_PLAIN_STEP.fullmatch(step) for step in path.split("."))


def _others(tree: Any, path: str, node: Node | None) -> Any:
    """A tree without its arrays, whose places in lists hold null.

    Raises NotText for what JSON would change, unless the schema has it changed back: a tuple comes
    out of JSON as a list, which a field of type `tuple` makes a tuple and one of type `Any` not.
    """
    any_keys = node is _CONVERTED
    freely = any_keys or (node is not None and (node.leaf is None or not node.leaf.open))
    if isinstance(tree, Mapping):
        if not freely and type(tree) is not dict:
            raise _no_json(path, tree)
        found = {}
        for key, value in tree.items():
            if not any_keys and type(key) is not str:
                raise NotText(f"input {path!r} has the key {key!r}, which is no text")
            if value is not _ARRAY:
                step, inner = (str(key), node) if any_keys else _under(node, key)
                found[str(key)] = _others(value, f"{path}.{step}" if path else step, inner)
        return found
    if isinstance(tree, list | tuple):
        if not freely and type(tree) is not list:
            raise _no_json(path, tree)
        inner = node if any_keys else node.under_index(0)[1] if node else None
        return [
            None if value is _ARRAY else _others(value, f"{path}.[{index}]", inner)
            for index, value in enumerate(tree)
        ]
    if type(tree) not in _PLAIN:
        raise _no_json(path, tree)
    return tree


def _under(node: Node | None, key: str) -> tuple[str, Node | None]:
    return node.under_key(key) if node else (key, None)


def _no_json(path: str, value: Any) -> NotText:
    return NotText(f"input {path!r} is a {type(value).__name__}, which is no value of JSON")


def _expected(spec: Spec) -> Any:
    """The outputs that are no arrays; None where they can't be compared as JSON."""
    outputs = spec.outputs
    tree = jax.tree.unflatten(outputs.treedef, _filled(outputs))
    try:
        found = _others(_pruned(tree, spec.handle.outputs), "", _CONVERTED)
        json.dumps(found, ensure_ascii=False).encode()
    except (NotText, UnicodeEncodeError):
        return None
    return found if isinstance(found, dict) else None


def _pruned(tree: Any, node: Node | None) -> Any:
    """A tree in which arrays that are absent are arrays, and containers of arrays alone, too."""
    if isinstance(tree, Mapping):
        tree = {key: _pruned(value, _under(node, key)[1]) for key, value in tree.items()}
        items = list(tree.values())
    elif isinstance(tree, list | tuple):
        inner = node.under_index(0)[1] if node else None
        tree = items = [_pruned(value, inner) for value in tree]
    elif tree is None and node is not None and node.leaf is not None and node.leaf.is_array:
        return _ARRAY
    else:
        return tree
    return _ARRAY if items and all(item is _ARRAY for item in items) else tree


def _filled(outputs: Any) -> list[Any]:
    values = iter(outputs.statics)
    return [_ARRAY if array else next(values) for array in outputs.is_array]


def _type(type_: Type) -> str:
    shape, dtype = type_
    return f"{dtype.name}:{len(shape)}"
