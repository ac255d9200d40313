"""Results in the memory of inputs: which a component may be asked for, and where calls have them.

XLA gives a foreign call one buffer for an input and a result if it was told that they are one.  If
the input is still needed, or is the caller's, XLA copies it before the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tesseract_host.jax import _schema
from tesseract_host.jax._schema import Leaf, Node
from tesseract_host.jax._spec import Handle, Pairs, Spec


def pairs(handle: Handle, in_place: Mapping[str, str] | None) -> Pairs:
    """The pairs of output and input, as `register` has them; ValueError for what can't be."""
    if not in_place:
        return ()
    if handle.client.description.get("overlap") is not True:
        raise ValueError(
            f"{handle.name} can't write results over its inputs: its description doesn't say "
            '"overlap": true'
        )
    inputs = list(in_place.values())
    if any(inputs.count(path) > 1 for path in inputs):
        raise ValueError(f"{handle.name}: two outputs can't have the memory of one input")
    for output, input_ in in_place.items():
        result = _leaf(handle, handle.outputs, "output", output)
        operand = _leaf(handle, handle.inputs, "input", input_)
        if None not in (result.dtype, operand.dtype) and result.dtype != operand.dtype:
            raise ValueError(
                f"{handle.name}: output {output!r} is {result.dtype} and input {input_!r} is "
                f"{operand.dtype}: they can't have the same memory"
            )
    return tuple(sorted(in_place.items()))


def _leaf(handle: Handle, root: Node, what: str, path: Any) -> Leaf:
    leaf = _schema.array_at(root, path)
    if leaf is None:
        known = _schema.array_paths(root)
        raise ValueError(f"{handle.name} has no {what} {path!r} that is an array; it has {known}")
    return leaf


def aliases(spec: Spec) -> dict[int, int]:
    """The result that has the memory of an operand, by the operand, of an unmapped apply."""
    outputs = spec.outputs
    found = {}
    for output, input_ in spec.options.in_place:
        if output in outputs.paths and input_ in spec.paths:
            o, i = outputs.paths.index(output), spec.paths.index(input_)
            if outputs.types[o] == spec.types[i]:
                found[i] = o
    return found
