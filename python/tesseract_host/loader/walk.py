"""Walking the type of a schema: models, containers, unions, and the leaves in them."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeGuard, Union, get_args, get_origin

from pydantic import BaseModel, RootModel
from pydantic.fields import FieldInfo

from tesseract_host.runtime import _paths

UNIONS = (Union, types.UnionType)

# The two steps of a path pattern that stand for any position and any key.
ANY_INDEX = _paths.Step("index", "")
ANY_KEY = _paths.Step("key", "")

Pattern = tuple[_paths.Step, ...]


class Leaf(NamedTuple):
    """A leaf of a schema: where it is, its type, and what is known about its field."""

    pattern: Pattern
    annotation: Any
    required: bool
    default: Any  # as written; MISSING where there is none
    description: str | None
    optional: bool  # a union around it has a member without it


MISSING = object()


def is_class(annotation: Any) -> TypeGuard[type]:
    """True for a class; Python 3.10 takes `list[int]` for one too, which this does not."""
    return isinstance(annotation, type) and get_origin(annotation) is None


def is_model(annotation: Any) -> bool:
    """True for a pydantic model class."""
    return is_class(annotation) and issubclass(annotation, BaseModel)


def is_root_model(annotation: Any) -> bool:
    """True for a RootModel class, whose field `root` is no level of the data."""
    return is_class(annotation) and issubclass(annotation, RootModel)


def is_annotated(annotation: Any) -> bool:
    """True for `Annotated[…]`."""
    return get_origin(annotation) is Annotated


def container(annotation: Any) -> tuple[_paths.Step, tuple[Any, ...]] | None:
    """The step into a container type and the types of its items, None for other types."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if not isinstance(origin, type) or not arguments or origin is type:
        return None
    if issubclass(origin, Mapping):
        return (ANY_KEY, arguments[1:]) if len(arguments) == 2 else None
    if issubclass(origin, Iterable) and not is_model(origin):
        return ANY_INDEX, tuple(a for a in arguments if a is not Ellipsis)
    return None


def members(node: Any) -> list[Any]:
    """The types that a type may stand for: unions and annotations opened."""
    if is_annotated(node):
        return members(node.__origin__)
    if get_origin(node) in UNIONS:
        return [inner for member in get_args(node) for inner in members(member)]
    return [node]


def field_type(field: FieldInfo) -> Any:
    """A field's annotation with its metadata."""
    if not field.metadata:
        return field.annotation
    return Annotated[(field.annotation, *field.metadata)]


def map_leaves(
    schema: Any,
    leaf: Callable[[Any, Pattern], Any],
    model: Callable[[type[BaseModel], dict[str, Any]], type[BaseModel]],
) -> Any:
    """The type `schema` with each leaf type replaced by what `leaf(type, pattern)` returns.

    `model(class, fields)` makes the class that replaces a model; `fields` maps the names of all
    its fields to their replaced types.  Raises ValueError for a model that contains itself.
    """
    around: list[type[BaseModel]] = []

    def visit(node: Any, pattern: Pattern) -> Any:
        if is_model(node):
            return visit_model(node, pattern)
        if is_annotated(node):
            inner = visit(node.__origin__, pattern)
            return Annotated[(inner, *node.__metadata__)]
        origin = get_origin(node)
        if origin in UNIONS:
            return Union[tuple(visit(member, pattern) for member in get_args(node))]  # noqa: UP007
        inside = container(node)
        if inside is not None:
            return visit_container(node, *inside, pattern)
        return leaf(node, pattern)

    def visit_container(
        node: Any, step: _paths.Step, items: tuple[Any, ...], pattern: Pattern
    ) -> Any:
        replaced = iter([visit(item, (*pattern, step)) for item in items])
        arguments = get_args(node)
        new: tuple[Any, ...]
        if step is ANY_KEY:
            new = (arguments[0], next(replaced))
        else:
            new = tuple(a if a is Ellipsis else next(replaced) for a in arguments)
        if all(a is b for a, b in zip(arguments, new, strict=True)):
            return node
        return get_origin(node)[new if len(new) > 1 else new[0]]

    def visit_model(node: type[BaseModel], pattern: Pattern) -> Any:
        if node in around:
            raise ValueError(
                f"{node.__name__} contains itself at {pattern_text(pattern)}; "
                "a schema can't be recursive"
            )
        around.append(node)
        try:
            fields = {
                name: visit(field_type(field), (*pattern, _paths.Step("name", name)))
                for name, field in node.model_fields.items()
            }
        finally:
            around.pop()
        return model(node, fields)

    return visit(schema, ())


def leaves(schema: Any) -> list[Leaf]:
    """All leaves of a schema, in order; several for one pattern where there is a union."""
    return list(_leaves(schema, (), True, MISSING, None))


def _alternatives(alternatives: list[list[Leaf]]) -> Iterator[Leaf]:
    """The leaves of the members of a union."""
    common = set.intersection(*({leaf.pattern for leaf in leaves} for leaves in alternatives))
    for leaves in alternatives:
        for leaf in leaves:
            yield leaf._replace(optional=leaf.optional or leaf.pattern not in common)


def _leaves(
    node: Any, pattern: Pattern, required: bool, default: Any, description: str | None
) -> Iterator[Leaf]:
    if is_annotated(node):
        yield from _leaves(node.__origin__, pattern, required, default, description)
    elif is_model(node):
        for name, field in node.model_fields.items():
            given = field.default if not field.is_required() else MISSING
            if field.default_factory is not None:
                given = MISSING
            yield from _leaves(
                field.annotation,
                (*pattern, _paths.Step("name", name)),
                required and field.is_required(),
                given,
                field.description,
            )
    elif get_origin(node) in UNIONS:
        yield from _alternatives(
            [
                list(_leaves(member, pattern, required, default, description))
                for member in get_args(node)
            ]
        )
    else:
        inside = container(node)
        if inside is None:
            yield Leaf(pattern, node, required, default, description, optional=False)
        else:
            step, items = inside
            for item in items:
                yield from _leaves(item, (*pattern, step), False, MISSING, description)


def pattern_text(pattern: Pattern) -> str:
    """A pattern as the description writes it: `xs.[]`, `params.{}`."""
    return _paths.join(pattern)


def matches(pattern: Pattern, path: Pattern) -> bool:
    """True if the concrete path is one that the pattern stands for."""
    return len(pattern) == len(path) and all(
        a == b or (a in (ANY_INDEX, ANY_KEY) and a.kind == b.kind)
        for a, b in zip(pattern, path, strict=True)
    )


def find_leaf(known: Iterable[Leaf], path: Pattern) -> Leaf | None:
    """The first leaf whose pattern stands for this path."""
    return next((leaf for leaf in known if matches(leaf.pattern, path)), None)


def literal_values(annotation: Any) -> tuple[Any, ...] | None:
    """The values of a `Literal`, else None."""
    return get_args(annotation) if get_origin(annotation) in (Literal, typing.Literal) else None


def allows_extra(schema: Any) -> bool:
    """True if the schema, or a model anywhere in it, takes fields that it does not declare."""
    found = False

    def model(node: type[BaseModel], _: dict[str, Any]) -> type[BaseModel]:
        nonlocal found
        found = found or node.model_config.get("extra") in ("allow", "ignore")
        return node

    map_leaves(schema, lambda leaf, _: leaf, model)
    return found
