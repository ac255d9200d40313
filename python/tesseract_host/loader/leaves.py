"""The leaves of a schema as the description shows them: one for each path pattern."""

from __future__ import annotations

from typing import Any, NamedTuple

from tesseract_host.loader import walk
from tesseract_host.runtime.schema_types import is_array_annotation


class Entry(NamedTuple):
    """A leaf, which holds an array or a value of JSON."""

    pattern: walk.Pattern
    types: tuple[Any, ...]  # all that the leaf may be
    is_array: bool
    required: bool  # an input: without it the schema refuses the whole
    optional: bool  # an output: it may be None, or stand in what may be
    default: Any  # as written; walk.MISSING where there is none
    description: str | None

    @property
    def arrays(self) -> list[Any]:
        """The array types among the types."""
        return [type_ for type_ in self.types if is_array_annotation(type_)]


def entries(schema: Any) -> list[Entry]:
    """One entry for each path pattern, in order; none lies inside another.

    Where something is either a leaf or a container or model, it is one leaf of any type, unless
    the leaf is None.
    """
    groups: dict[walk.Pattern, list[walk.Leaf]] = {}
    for leaf in walk.leaves(schema):
        groups.setdefault(leaf.pattern, []).append(leaf)
    outer = {pattern[:depth] for pattern in groups for depth in range(len(pattern))}
    ambiguous = {
        pattern
        for pattern in outer.intersection(groups)
        if not all(_is_none(leaf.annotation) for leaf in groups[pattern])
    }
    return [
        _entry(leaves, pattern in ambiguous)
        for pattern, leaves in groups.items()
        if (pattern in ambiguous or pattern not in outer)
        and not any(pattern[:depth] in ambiguous for depth in range(len(pattern)))
    ]


def _entry(leaves: list[walk.Leaf], is_ambiguous: bool) -> Entry:
    first = leaves[0]
    types = (Any,) if is_ambiguous else tuple(leaf.annotation for leaf in leaves)
    values = [type_ for type_ in types if not _is_none(type_)]
    is_array = any(map(is_array_annotation, values)) and all(
        is_array_annotation(type_) or type_ in (int, float, bool) for type_ in values
    )
    may_lack = any(leaf.optional for leaf in leaves)
    return Entry(
        pattern=first.pattern,
        types=types,
        is_array=is_array,
        required=first.required and (is_ambiguous or not may_lack),
        optional=may_lack or len(values) < len(types),
        default=first.default,
        description=first.description,
    )


def _is_none(type_: Any) -> bool:
    return type_ in (None, type(None))
