"""From generated classes to the descriptions that the compiled engine makes its trees of.

What may be built without pydantic is decided here, from a class's core schema: everything whose
meaning is known in full.  What isn't becomes a validator of pydantic's own, for a field or for the
whole; both come out the same.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel
from pydantic_core import SchemaValidator

from tesseract_host import _engine

Schema = dict[str, Any]
Description = tuple[Any, ...]

REQUIRED, CONSTANT, COPIED, FACTORY = range(4)
EXTRA = {"forbid": 0, "ignore": 1, "allow": 2}

# Keys of core schemas that say nothing about validation in Python mode.
_NEUTRAL = frozenset(("type", "metadata", "ref", "serialization"))

# Members of a class's configuration that change nothing where a plan applies: aliases by name are
# seen at the fields, instances are always left to pydantic.
_NEUTRAL_CONFIG = frozenset(
    (
        "title",
        "extra_fields_behavior",
        "frozen",
        "from_attributes",
        "loc_by_alias",
        "populate_by_name",
        "validate_by_name",
        "validate_by_alias",
        "serialize_by_alias",
        "revalidate_instances",
        "coerce_numbers_to_str",
        "hide_input_in_errors",
        "validation_error_cause",
        "regex_engine",
        "cache_strings",
        "ser_json_timedelta",
        "ser_json_temporal",
        "ser_json_bytes",
        "ser_json_inf_nan",
        "val_json_bytes",
        "val_temporal_unit",
        "typed_dict_total",
        "url_preserve_empty_path",
        "polymorphic_serialization",
    )
)

# Leaves that come out of a dump as they are.
_DUMPED_AS_IS = frozenset(
    ("bool", "int", "float", "str", "none", "literal", "bytes", "decimal", "uuid", "complex")
).union(("date", "time", "datetime", "timedelta"))


class Unprovable(Exception):
    """Why something is left to pydantic."""


class Compiled(NamedTuple):
    """A description, None where there is none, and what was left to pydantic and why."""

    description: Description | None
    reasons: tuple[str, ...]


def inputs(model: Any) -> Compiled:
    """What builds an instance of a generated class; a class of another kind has no description."""
    if not _is_model(model):
        return Compiled(None, ("the inputs are no pydantic model",))
    compiler = _Compiler(model, for_result=False)
    try:
        return Compiled(compiler.root(model), tuple(compiler.reasons))
    except Unprovable as error:
        whole = ("foreign", model.__pydantic_validator__.validate_python)
        return Compiled(whole, (f"inputs: {error}",))


def result(model: Any) -> Compiled:
    """What checks and dumps a result; anything but plain fields has no description."""
    if not _is_model(model):
        return Compiled(None, ("the outputs are no pydantic model",))
    try:
        return Compiled(_Compiler(model, for_result=True).root(model), ())
    except Unprovable as error:
        return Compiled(None, (f"outputs: {error}",))


def _is_model(model: Any) -> bool:
    return isinstance(model, type) and issubclass(model, BaseModel)


class _Compiler:
    def __init__(self, model: type[BaseModel], for_result: bool) -> None:
        self._for_result = for_result
        self._definitions: dict[str, Schema] = {}
        self._open: list[str] = []  # references that are being followed
        self._config: Schema = {}  # of the model around
        self.reasons: list[str] = []

    def root(self, model: type[BaseModel]) -> Description:
        return self._node(model.__pydantic_core_schema__, "")

    # ---- Nodes ---------------------------------------------------------------------------------

    def _node(self, schema: Any, place: str) -> Description:
        kind = schema["type"]
        make = getattr(self, f"_make_{kind.replace('-', '_')}", None)
        if kind == "json-or-python" and "tesseract_array" in (schema.get("metadata") or {}):
            return self._array(schema)
        if make is None:
            return self._foreign(schema, place, "is validated by pydantic")
        if self._for_result and "serialization" in schema:
            raise Unprovable(f"{place or 'the model'} has a serializer")
        made: Description = make(schema, place)
        return made

    def _make_definitions(self, schema: Schema, place: str) -> Description:
        self._definitions.update((inner["ref"], inner) for inner in schema["definitions"])
        return self._node(schema["schema"], place)

    def _make_definition_ref(self, schema: Schema, place: str) -> Description:
        name = schema["schema_ref"]
        if name in self._open or name not in self._definitions:
            raise Unprovable(f"{place} is recursive")
        _only(schema, place, "schema_ref")
        self._open.append(name)
        try:
            return self._node(self._definitions[name], place)
        finally:
            self._open.pop()

    def _array(self, schema: Schema) -> Description:
        return ("array", schema["python_schema"]["function"]["function"])

    def _make_any(self, schema: Schema, place: str) -> Description:
        if set(schema) - _NEUTRAL:
            return self._foreign(schema, place, "has constraints")
        return (schema["type"],)

    _make_none = _make_bool = _make_int = _make_float = _make_str = _make_any

    def _make_nullable(self, schema: Schema, place: str) -> Description:
        _only(schema, place, "schema")
        return ("optional", self._node(schema["schema"], place))

    def _make_list(self, schema: Schema, place: str) -> Description:
        if set(schema) - _NEUTRAL - {"items_schema"}:
            return self._foreign(schema, place, "has constraints")
        return ("list", self._node(schema.get("items_schema", {"type": "any"}), f"{place}.[]"))

    def _make_tuple(self, schema: Schema, place: str) -> Description:
        if set(schema) - _NEUTRAL - {"items_schema", "variadic_item_index"}:
            return self._foreign(schema, place, "has constraints")
        items, variadic = schema["items_schema"], schema.get("variadic_item_index")
        if variadic is not None and len(items) != 1:
            return self._foreign(schema, place, "is a tuple of a fixed and a free part")
        nodes = tuple(self._node(item, f"{place}.[{i}]") for i, item in enumerate(items))
        return ("tuple", nodes, variadic is not None)

    def _make_dict(self, schema: Schema, place: str) -> Description:
        keys = schema.get("keys_schema", {"type": "any"})
        if set(schema) - _NEUTRAL - {"keys_schema", "values_schema"} or keys != {"type": "str"}:
            return self._foreign(schema, place, "is a dictionary with constraints or other keys")
        return ("dict", self._node(schema.get("values_schema", {"type": "any"}), f"{place}.{{}}"))

    def _make_function_after(self, schema: Schema, place: str) -> Description:
        if self._for_result:
            raise Unprovable(f"{place or 'the model'} has a validator")
        function = schema["function"]
        if function["type"] != "no-info":
            return self._foreign(schema, place, "has a validator that takes an info")
        _only(schema, place, "schema", "function")
        return ("after", self._node(schema["schema"], place), function["function"])

    # ---- Models --------------------------------------------------------------------------------

    def _make_model(self, schema: Schema, place: str) -> Description:
        around, before = self._config, len(self.reasons)
        self._config = schema.get("config") or {}
        try:
            return self._direct(schema, place)
        except Unprovable as error:
            del self.reasons[before:]
            if not place:
                raise
            self._config = around
            return self._foreign(schema, place, str(error).removeprefix(f"{place} "))
        finally:
            self._config = around

    def _direct(self, schema: Schema, place: str) -> Description:
        cls, name = schema["cls"], place or "the model"
        for key, reason in (
            ("post_init", "has private attributes or model_post_init"),
            ("custom_init", "has an __init__ of its own"),
            ("root_model", "is a root model"),
        ):
            if schema.get(key):
                raise Unprovable(f"{name} {reason}")
        known = ("cls", "schema", "config", "custom_init", "root_model", "post_init", "frozen")
        _only(schema, name, *known, "generic_origin", "revalidate_instances")
        _check_config(self._config, name)
        if _engine.native is not None and _engine.native.slot_offsets(cls) is None:
            raise Unprovable(f"{name} makes its instances by itself")
        fields = schema["schema"]
        if fields["type"] != "model-fields":
            raise Unprovable(f"{name} has a model validator that runs before or around")
        _only(fields, name, "fields", "model_name", "computed_fields")
        if self._for_result:
            _check_dump(cls, fields, name)
        nodes = tuple(
            self._field(field_name, field, f"{place}.{field_name}" if place else field_name)
            for field_name, field in fields["fields"].items()
        )
        behaviour = self._config.get("extra_fields_behavior", "ignore")
        return ("model", cls, cls.__base__, EXTRA[behaviour], nodes)

    def _field(self, name: str, field: Schema, place: str) -> Description:
        key = field.get("validation_alias", name)
        if self._for_result:
            for member in ("validation_alias", "serialization_alias", "serialization_exclude"):
                if field.get(member):
                    raise Unprovable(f"{place} has an alias or is excluded")
            _only(field, place, "schema", "frozen", "serialization_exclude")
        else:
            known = ("validation_alias", "serialization_alias", "serialization_exclude", "frozen")
            _only(field, place, "schema", *known, "serialization_exclude_if")
        if not isinstance(key, str) or (key != name and self._takes_names()):
            raise Unprovable(f"{place} has several aliases")
        schema, absent, value = field["schema"], REQUIRED, None
        if schema["type"] == "default":
            absent, value = _default(schema, place)
            if self._for_result and "serialization" in schema:
                raise Unprovable(f"{place} has a serializer")
            schema = schema["schema"]
        return (name, key, self._node(schema, place), absent, value)

    def _takes_names(self) -> bool:
        names = ("populate_by_name", "validate_by_name")
        return any(self._config.get(name) for name in names) or (
            self._config.get("validate_by_alias") is False
        )

    # ---- What is left to pydantic --------------------------------------------------------------

    def _foreign(self, schema: Schema, place: str, reason: str) -> Description:
        if not place:
            raise Unprovable(f"the model {reason}")
        if self._for_result:
            if not _is_dumped_as_is(schema):
                raise Unprovable(f"{place} {reason}")
        elif _needs_model_around(schema, self._definitions):
            raise Unprovable(f"{place} {reason}")
        if self._definitions:
            definitions = list(self._definitions.values())
            schema = {"type": "definitions", "schema": schema, "definitions": definitions}
        self.reasons.append(f"inputs: {place} {reason}")
        validator = SchemaValidator(schema, self._config)  # type: ignore[arg-type]
        return ("foreign", validator.validate_python)


def _only(schema: Schema, place: str, *known: str) -> None:
    for key in schema:
        if key not in _NEUTRAL and key not in known and schema[key] not in (None, False):
            raise Unprovable(f"{place} has {key}")


def _check_config(config: Schema, place: str) -> None:
    for key, value in config.items():
        if key == "allow_inf_nan" and value is not False:
            continue
        if key == "allow_inf_nan" or (key not in _NEUTRAL_CONFIG and value not in (None, False)):
            raise Unprovable(f"{place} has {key} in its configuration")


def _check_dump(cls: type[BaseModel], fields: Schema, place: str) -> None:
    if fields.get("computed_fields"):
        raise Unprovable(f"{place} has computed fields")
    if cls.model_dump is not BaseModel.model_dump:
        raise Unprovable(f"{place} has a model_dump of its own")


def _default(schema: Schema, place: str) -> tuple[int, Any]:
    known = ("default", "default_factory", "default_factory_takes_data", "copy_default", "on_error")
    _only(schema, place, "schema", *known)
    if schema.get("on_error", "raise") != "raise" or schema.get("default_factory_takes_data"):
        raise Unprovable(f"{place} has a default that depends on other values")
    if "default_factory" in schema:
        return FACTORY, schema["default_factory"]
    value = schema["default"]
    try:
        hash(value)
    except Exception:  # as pydantic decides
        return COPIED, value
    return CONSTANT, value


def _inside(schema: Any, definitions: dict[str, Schema]) -> Iterator[Schema]:
    """A schema and those in it, down to models and their like; `definitions` are used up."""
    if isinstance(schema, dict):
        if "type" in schema:
            yield schema
        if schema.get("type") in ("model", "dataclass", "typed-dict"):
            return
        if schema.get("type") == "definition-ref":
            yield from _inside(definitions.pop(schema["schema_ref"], None), definitions)
        for key, value in schema.items():
            if key not in ("serialization", "metadata"):
                yield from _inside(value, definitions)
    elif isinstance(schema, list | tuple):
        for value in schema:
            yield from _inside(value, definitions)


def _needs_model_around(schema: Schema, definitions: dict[str, Schema]) -> bool:
    """True where a validator may look at the fields before it."""
    return any(
        inner["type"] == "with-info" and not _is_check(inner["function"])
        for inner in _inside(schema, dict(definitions))
    )


def _is_check(function: Any) -> bool:
    """True for the functions of array annotations, which look at the context only."""
    from tesseract_host.runtime import schema_types

    module = getattr(function, "__module__", None)
    native = _engine.native is not None and isinstance(function, _engine.native.Check)
    return native or module == schema_types.__name__


def _is_dumped_as_is(schema: Schema) -> bool:
    containers = ("nullable", "union", "list", "tuple", "set", "frozenset", "enum", "default")
    for inner in _inside(schema, {}):
        if inner["type"] not in _DUMPED_AS_IS and inner["type"] not in containers:
            return False
        if "serialization" in inner or inner.get("sub_type"):
            return False
    return True


# ---- Samples -----------------------------------------------------------------------------------


class _NoSample(Exception):
    pass


def differs(model: Any, description: Description, compiled: Any) -> bool:
    """True if a sample built by the engine isn't the one that pydantic builds."""
    for only_required in (False, True):
        try:
            sample = _sample(description, only_required)
        except _NoSample:
            continue
        made = compiled.accept(copy.deepcopy(sample))
        expected = model.__pydantic_validator__.validate_python(copy.deepcopy(sample))
        if made is None or not _alike(made[0], expected):
            return True
    return False


_SCALARS = {"any": 1, "none": None, "bool": True, "int": 2, "float": 0.5, "str": "text"}


def _sample(node: Description, only_required: bool) -> Any:
    kind = node[0]
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind == "array":
        check = node[1].array_check
        shape = () if check.shape is Ellipsis else check.shape
        return np.ones([2 if n is None else n for n in shape], check.dtype or "float64")
    if kind == "model":
        return {
            field[1]: _sample(field[2], only_required)
            for field in node[4]
            if _is_given(field, only_required)
        }
    if kind == "tuple":
        return tuple(_sample(item, only_required) for item in node[1])
    if kind not in ("optional", "list", "dict"):
        raise _NoSample
    inner = _sample(node[1], only_required)
    return inner if kind == "optional" else [inner] if kind == "list" else {"key": inner}


def _is_given(field: Description, only_required: bool) -> bool:
    """False for a field whose default takes part in the comparison."""
    if field[3] == REQUIRED:
        return True
    if field[3] == FACTORY and field[4] not in (dict, list, set):
        raise _NoSample  # the user's, and not to be run before a call
    return not only_required and field[2][0] != "foreign"


def _alike(first: Any, second: Any) -> bool:
    if type(first) is not type(second):
        return False
    if isinstance(first, BaseModel):
        names = ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
        return all(getattr(first, name) == getattr(second, name) for name in names) and _alike(
            first.__dict__, second.__dict__
        )
    if isinstance(first, np.ndarray | np.generic):
        return (
            first.dtype == second.dtype
            and first.shape == second.shape
            and first.flags.writeable == second.flags.writeable
            and first.tobytes() == second.tobytes()
        )
    if isinstance(first, dict):
        return list(first) == list(second) and all(_alike(first[k], second[k]) for k in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(_alike, first, second))
    return bool(first == second)
