"""The classes generated from a module's schemas, and the models of whole requests.

A generated class is a direct subclass of the user's, so that methods, validators and settings are
inherited; it refuses unknown fields unless the user's class says otherwise.
"""

from __future__ import annotations

import copy
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model
from pydantic_core import PydanticUndefined

from tesseract_host.loader import walk
from tesseract_host.runtime.schema_types import ShapeDType, is_array_annotation


def subclass(schema: Any, prefix: str) -> Any:
    """The class of a schema for an endpoint; `prefix` is "Apply_" and so on."""
    return walk.map_leaves(
        schema, lambda leaf, _: leaf, lambda model, fields: _subclass(model, fields, prefix)
    )


def abstract_subclass(schema: Any) -> Any:
    """The class of a schema whose arrays are given by shape and dtype only."""

    def leaf(annotation: Any, _: walk.Pattern) -> Any:
        if is_array_annotation(annotation):
            return ShapeDType.from_array_type(annotation)
        return annotation

    return walk.map_leaves(
        schema, leaf, lambda model, fields: _subclass(model, fields, "AbstractEval_", True)
    )


def _subclass(
    model: type[BaseModel], fields: dict[str, Any], prefix: str, abstract: bool = False
) -> type[BaseModel]:
    replaced: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if fields[name] is field.annotation or fields[name] == walk.field_type(field):
            continue
        renewed = copy.copy(field)
        renewed.annotation = fields[name]
        renewed.metadata = []  # it is part of the type now
        if abstract and field.default is not PydanticUndefined:
            renewed.default = _abstract_default(field.annotation, field.default)
        replaced[name] = (fields[name], renewed)
    settings = ConfigDict(extra="forbid")
    settings.update(model.model_config)
    if walk.is_root_model(model):
        settings.pop("extra", None)
    return create_model(
        f"{prefix}{model.__name__}",
        __base__=model,
        __module__=model.__module__,
        model_config=(ConfigDict, settings),
        **replaced,
    )


def _abstract_default(annotation: Any, default: Any) -> Any:
    if not is_array_annotation(annotation):
        return default
    try:
        array = TypeAdapter(annotation).validate_python(default)
    except ValidationError:
        return default
    return ShapeDType(shape=array.shape, dtype=str(array.dtype))


def request(title: str, inputs: Any, **fields: Any) -> type[BaseModel]:
    """The model of a whole request, whose title and locations errors show."""
    return create_model(
        title, __config__=ConfigDict(extra="forbid"), inputs=(inputs, ...), **fields
    )
