"""Reading and changing nested trees by leaf paths."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tesseract_host.runtime import _paths

__all__ = ["filter_func", "flatten_with_paths", "get_at_path", "set_at_path"]


def get_at_path(tree: Any, path: str) -> Any:
    """The value at `path`; the tree itself for "".

    A name is looked up as a key of a mapping, else as an attribute.  Raises KeyError, IndexError or
    AttributeError where there is nothing, ValueError for a malformed path.
    """
    node = tree
    for segment in _paths.split(path) if path else ():
        node = _child(node, _paths.parse_segment(segment))
    return node


def _child(node: Any, step: _paths.Step) -> Any:
    if step.kind != "name":
        return node[step.value]
    name = str(step.value)
    if isinstance(node, Mapping) and name in node:
        return node[name]
    if hasattr(node, name):
        return getattr(node, name)
    raise AttributeError(f"{type(node).__name__} has no {name!r}")


def set_at_path(tree: Any, values: Mapping[str, Any]) -> Any:
    """A deep copy of `tree` with the values at these paths replaced; dicts may gain keys."""
    result = copy.deepcopy(tree)
    for path, value in values.items():
        if not path:
            result = value
            continue
        *parents, last = _paths.split(path)
        node = result
        for segment in parents:
            node = _child(node, _paths.parse_segment(segment))
        _assign(node, _paths.parse_segment(last), value)
    return result


def _assign(node: Any, step: _paths.Step, value: Any) -> None:
    if step.kind != "name":
        node[step.value] = value
    elif isinstance(node, Mapping):
        node[str(step.value)] = value  # type: ignore[index]
    elif hasattr(node, str(step.value)):
        setattr(node, str(step.value), value)
    else:
        raise AttributeError(f"{type(node).__name__} has no {step.value!r}")


def flatten_with_paths(tree: Any, paths: Iterable[str]) -> dict[str, Any]:
    """The values at these paths, by path."""
    return {path: get_at_path(tree, path) for path in paths}


def filter_func(
    function: Callable[[Any], Any],
    defaults: Any,
    output_paths: Iterable[str] | None = None,
    input_paths: Sequence[str] | None = None,
) -> Callable[..., Any]:
    """A flat function over a nested one.

    The result takes one dict path -> value, or, with `input_paths`, the values in that order;
    everything else comes from `defaults`.  It returns the values at `output_paths` by path, or, if
    that is None, what `function` returned.
    """

    def flat(*arguments: Any) -> Any:
        if input_paths is None:
            if len(arguments) != 1:
                raise ValueError("expected one dict of values by path")
            if not isinstance(arguments[0], dict):
                raise TypeError(f"expected a dict, not {type(arguments[0]).__name__}")
            values = arguments[0]
        else:
            if len(arguments) != len(input_paths):
                raise ValueError(f"expected {len(input_paths)} values, got {len(arguments)}")
            values = dict(zip(input_paths, arguments, strict=True))
        outputs = function(set_at_path(defaults, values))
        if output_paths is None:
            return outputs
        return flatten_with_paths(outputs, output_paths)

    return flat
