"""The published schema of a component: an OpenAPI 3.1 document.

Its structure is that of tesseract-core's; the explaining texts are our own, but for those that the
module's author wrote.
"""

from __future__ import annotations

import copy
import inspect
import json
import math
from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, RootModel, create_model
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from tesseract_host.loader import openapi_texts as texts
from tesseract_host.loader import walk
from tesseract_host.loader.calls import FUNCTIONS
from tesseract_host.loader.derivatives import INDEX_PATTERN, path_type
from tesseract_host.loader.openapi_arrays import ARRAY_DATA, DATA, array_schema, declared
from tesseract_host.loader.openapi_arrays import title as array_title
from tesseract_host.runtime import _paths, schema_types
from tesseract_host.runtime.schema_types import is_differentiable

if TYPE_CHECKING:
    from tesseract_host.loader.component import Component

OUTPUT_FORMATS = ["json", "json+base64", "json+binref"]
COMPRESSIONS = ["none", "lz4"]
REFERENCE = "#/components/schemas/"

# The titles of the endpoints' bodies.
BODIES = {
    "apply": ("ApplyInputSchema", "ApplyOutputSchema"),
    "jacobian": ("JacobianInputSchema", "JacobianOutputSchema"),
    "jacobian_vector_product": ("JVPInputSchema", "JVPOutputSchema"),
    "vector_jacobian_product": ("VJPInputSchema", "VJPOutputSchema"),
    "health": ("", ""),
    "abstract_eval": ("AbstractInputSchema", "AbstractOutputSchema"),
    "test": ("TestSpec", "TestOutputSchema"),
}

Mode = Literal["validation", "serialization"]

_MARK = "x-tesseract-array"


def build(component: Component, names: Sequence[str]) -> dict[str, Any]:
    """The document; `names` are the endpoints that there are.

    Raises pydantic's error for a field type that has no JSON schema.
    """
    config = component.settings.get_config()
    transports = ["none"] if config.gpu_transport == "none" else ["none", config.gpu_transport]
    info = {"title": config.name, "version": config.version}
    if config.description:
        info["description"] = config.description
    return {
        "openapi": "3.1.0",
        "info": info,
        "paths": {f"/{name}": _path(component, name) for name in names},
        "components": {"schemas": _components(component, names)},
        "x-supported-output-formats": list(OUTPUT_FORMATS),
        "x-supported-gpu-transports": transports,
        "x-supported-compressions": list(COMPRESSIONS),
    }


# ---- Paths -------------------------------------------------------------------------------------


def _path(component: Component, name: str) -> dict[str, Any]:
    method = "get" if name == "health" else "post"
    title = name.replace("_", " ").title()
    function = getattr(component.module, name, None) if name != "health" else None
    operation: dict[str, Any] = {
        "summary": title,
        "description": _description(name, function if name != "test" else None),
        "operationId": f"{name}_{name}_{method}",
    }
    if name == "health":
        content = {"additionalProperties": True, "type": "object"}
        content["title"] = f"Response {title} {title} Get"
        return {method: {**operation, "responses": {"200": _response(content)}}}
    if name not in ("abstract_eval", "test"):
        accept = {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "Accept"}
        operation["parameters"] = [
            {"name": "accept", "in": "header", "required": False, "schema": accept}
        ]
    request, response = BODIES[name]
    operation["requestBody"] = {"required": True, "content": _json(_reference(request))}
    operation["responses"] = {
        "200": _response(_reference(response)),
        "422": {
            "description": "Validation Error",
            "content": _json(_reference("HTTPValidationError")),
        },
    }
    return {method: operation}


def _description(name: str, function: Any) -> str:
    own = inspect.cleandoc(getattr(function, "__doc__", None) or "")
    return f"{texts.ENDPOINTS[name]}\n\n{own}" if own else texts.ENDPOINTS[name]


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _response(schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": "Successful Response", "content": _json(schema)}


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": REFERENCE + name}


# ---- Schemas -----------------------------------------------------------------------------------


class _Generator(GenerateJsonSchema):
    """Leaves marks where arrays are, so that each becomes an object in place, no component."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def generate_inner(self, schema: Any) -> dict[str, Any]:
        annotation = (schema.get("metadata") or {}).get("tesseract_array")
        if annotation is None:
            return super().generate_inner(schema)
        array = declared(annotation)
        return {_MARK: array, "title": array_title(array)}

    def bytes_schema(self, schema: Any) -> dict[str, Any]:
        content = super().bytes_schema(schema)
        if content.get("format") == "binary":
            del content["format"]
            content["contentMediaType"] = "application/octet-stream"
        return content


def _components(component: Component, names: Sequence[str]) -> dict[str, Any]:
    _, document = models_json_schema(
        list(_models(component, names)),
        ref_template=REFERENCE + "{model}",
        schema_generator=_Generator,
    )
    package = f"{component.module.__name__.rpartition('.')[0].replace('.', '__')}__"
    schemas = {
        name.replace(package, ""): _finished(schema, REFERENCE + package)
        for name, schema in document.get("$defs", {}).items()
    }
    if f'{REFERENCE}{DATA[0]}"' in json.dumps(schemas):
        schemas.update(copy.deepcopy(ARRAY_DATA))
    schemas.update(copy.deepcopy(texts.VALIDATION_ERRORS))
    _describe(schemas)
    for side, name in (("inputs", "ApplyInputSchema"), ("outputs", "ApplyOutputSchema")):
        schema = getattr(component.schemas, side)
        schemas[name]["differentiable_arrays"] = differentiable_arrays(schema)
        schemas[name]["field_order"] = field_order(schema)
    return dict(sorted(schemas.items()))


def _models(component: Component, names: Sequence[str]) -> Iterator[tuple[type[BaseModel], Mode]]:
    schemas = component.schemas
    for endpoint, request in schemas.requests.items():
        yield request, "validation"
        if endpoint in schemas.results:
            yield schemas.results[endpoint], "serialization"
        else:
            yield _derivative_result(component, endpoint), "serialization"
    if "test" in names:
        from tesseract_host.regression import TestOutputSchema, TestSpec

        yield TestSpec, "validation"
        yield TestOutputSchema, "serialization"


def _derivative_result(component: Component, endpoint: str) -> type[BaseModel]:
    types = component.schemas.derivatives
    inputs: Any = path_type(types.inputs)
    outputs: Any = path_type(types.outputs)
    arrays: Any = schema_types.Array[..., None]
    content: Any = dict[inputs, arrays]
    if endpoint == "jacobian":
        content = dict[outputs, content]
    elif endpoint == "jvp":
        content = dict[outputs, arrays]
    title = BODIES[FUNCTIONS[endpoint]][1]
    return create_model(title, __base__=RootModel[content])


def _finished(node: Any, package: str) -> Any:
    """A part of the generated schema with arrays in place of their marks, and without nulls."""
    if isinstance(node, list):
        return [_finished(item, package) for item in node]
    if isinstance(node, float) and not math.isfinite(node):
        return None
    if not isinstance(node, dict):
        return node.replace(package, REFERENCE) if _is_reference(node, package) else node
    array = node.get(_MARK)
    entries = ((key, _finished(value, package)) for key, value in node.items() if key != _MARK)
    content = {key: value for key, value in entries if value is not None}
    return content if array is None else {**array_schema(array), **content}


def _is_reference(node: Any, package: str) -> bool:
    return isinstance(node, str) and node.startswith(package)


def _describe(schemas: dict[str, Any]) -> None:
    """Puts in our texts, and writes patterns of paths as tesseract-core does: JSON schemas, unlike
    pydantic, know no other digits than these ten.
    """
    for name, described in texts.DESCRIPTIONS.items():
        if name not in schemas:
            continue
        for field, text in described.items():
            place = schemas[name]["properties"][field] if field else schemas[name]
            place["description"] = text
        if not name.startswith(("A", "S")):
            schemas[name] = _replaced(schemas[name], INDEX_PATTERN, r"\[\d+\]")


def _replaced(node: Any, old: str, new: str) -> Any:
    if isinstance(node, list):
        return [_replaced(item, old, new) for item in node]
    if isinstance(node, dict):
        return {key.replace(old, new): _replaced(value, old, new) for key, value in node.items()}
    return node.replace(old, new) if isinstance(node, str) else node


# ---- Extensions --------------------------------------------------------------------------------


def differentiable_arrays(schema: Any) -> dict[str, dict[str, Any]]:
    """Shape and dtype of the differentiable leaves, by path pattern."""
    found: dict[str, dict[str, Any]] = {}
    for leaf in walk.leaves(schema):
        if is_differentiable(leaf.annotation):
            found.setdefault(walk.pattern_text(leaf.pattern), _leaf(leaf.annotation))
    return dict(sorted(found.items()))


def _leaf(annotation: Any) -> dict[str, Any]:
    shape, dtype, _ = declared(annotation)
    entry: dict[str, Any] = {} if dtype is None else {"dtype": dtype}
    if not isinstance(shape, EllipsisType):
        entry["shape"] = list(shape)
    return entry


def field_order(schema: Any) -> dict[str, list[str]]:
    """The names of the fields of each model, in order, by the model's path pattern."""
    found: dict[str, list[str]] = {}

    def visit(node: Any, pattern: walk.Pattern) -> None:
        for member in walk.members(node):
            inside = walk.container(member)
            if walk.is_model(member):
                names = found.setdefault(walk.pattern_text(pattern), [])
                names.extend(name for name in member.model_fields if name not in names)
                for name, field in member.model_fields.items():
                    visit(field.annotation, (*pattern, _paths.Step("name", name)))
            elif inside is not None:
                for item in inside[1]:
                    visit(item, (*pattern, inside[0]))

    visit(schema, ())
    return {pattern: names for pattern, names in found.items() if names}
