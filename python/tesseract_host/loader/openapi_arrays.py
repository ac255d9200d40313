"""How the published schema writes arrays: as the encoded objects that requests by JSON hold."""

from __future__ import annotations

from types import EllipsisType
from typing import Any

from tesseract_host.runtime import _dtypes

DATA = ("BinrefArrayData", "Base64ArrayData", "JsonArrayData", "CudaIpcArrayData")
ENCODINGS = ("base64", "binref", "cuda_ipc", "json")
REFERENCE = "#/components/schemas/"

# Shape, dtype and flags of an annotation.
Declared = tuple["tuple[int | None, ...] | EllipsisType", str | None, tuple[str, ...]]


def declared(annotation: Any) -> Declared:
    """What an array annotation, ours or tesseract-core's, declares."""
    flags = tuple(str(getattr(flag, "name", flag)) for flag in annotation.flags)
    return annotation.expected_shape, annotation.expected_dtype, flags


def title(array: Declared) -> str:
    """The title of the object."""
    shape, dtype, flags = array
    if isinstance(shape, EllipsisType):
        axes = "anyrank"
    else:
        axes = "_".join("any" if n is None else str(n) for n in shape) or "scalar"
    return f"EncodedArrayModel__{axes}__{dtype}__{'_'.join(flags) or 'noflags'}"


def array_schema(array: Declared) -> dict[str, Any]:
    """The JSON schema of an encoded array."""
    shape, dtype, flags = array
    allowed = [n for n in _dtypes.DTYPE_NAMES if dtype is None or _dtypes.castable(n, dtype)]
    dtypes = {"enum": allowed} if len(allowed) > 1 else {"const": allowed[0]}
    properties = {
        "object_type": {
            "type": "string",
            "const": "array",
            "title": "Object Type",
            "description": "Says that this object is an array.",
            "default": "array",
        },
        "shape": {**_shape(shape), "title": "Shape", "description": "Length of each axis"},
        "dtype": {
            "type": "string",
            **dtypes,
            "title": "Dtype",
            "description": "Type of the values in the buffer",
            "examples": [dtype or "float64"],
        },
        "data": {
            "oneOf": [{"$ref": REFERENCE + name} for name in DATA],
            "title": "Data",
            "discriminator": {
                "propertyName": "encoding",
                "mapping": {
                    name: f"{REFERENCE}{name.title().replace('_', '')}ArrayData"
                    for name in ENCODINGS
                },
            },
        },
    }
    return {
        "properties": properties,
        "additionalProperties": False,
        "type": "object",
        "required": ["shape", "dtype", "data"],
        "array_flags": list(flags),
    }


def _shape(shape: tuple[int | None, ...] | EllipsisType) -> dict[str, Any]:
    if isinstance(shape, EllipsisType):
        return {"items": {"type": "integer"}, "type": "array"}
    schema: dict[str, Any] = {"type": "array", "maxItems": len(shape), "minItems": len(shape)}
    if shape:
        schema["prefixItems"] = [_axis(length) for length in shape]
    schema["examples"] = [[1 if length is None else length for length in shape]]
    return schema


def _axis(length: int | None) -> dict[str, Any]:
    if length is None:
        return {"type": "integer", "minimum": 0}
    if length == 1:
        return {"type": "integer", "const": 1}
    return {"type": "integer", "enum": [1, length]}


def _data(name: str, buffer: dict[str, Any], compression: dict[str, Any]) -> dict[str, Any]:
    return {
        "properties": {
            "buffer": buffer,
            "encoding": {"type": "string", "const": name, "title": "Encoding"},
            "compression": {**compression, "title": "Compression"},
        },
        "additionalProperties": False,
        "type": "object",
        "required": ["buffer", "encoding"],
    }


_LZ4 = {"anyOf": [{"type": "string", "const": "lz4"}, {"type": "null"}]}
_NONE = {"type": "null"}
_UUID = "-".join(f"[0-9a-f]{{{n}}}" for n in (8, 4, 4, 4, 12))

# The four forms of the values in an encoded array.
ARRAY_DATA: dict[str, dict[str, Any]] = {
    "Base64ArrayData": {
        **_data(
            "base64",
            {
                "type": "string",
                "title": "Buffer",
                "description": "The bytes in base64",
                "examples": ["AAAAAAAA8D8="],
            },
            _LZ4,
        ),
        "title": "Base64ArrayData",
        "description": "The bytes of an array in C order, native byte order, as base64 text.",
    },
    "BinrefArrayData": {
        **_data(
            "binref",
            {"type": "string", "title": "Buffer", "pattern": r"^.+?(\:\d+(\:\d+)?)?$"},
            _LZ4,
        ),
        "title": "BinrefArrayData",
        "description": "A file that holds the bytes: `path[:offset[:compressed size]]`.",
    },
    "CudaIpcArrayData": {
        **_data(
            "cuda_ipc",
            {
                "type": "string",
                "title": "Buffer",
                "pattern": f"^{_UUID}:[A-Za-z0-9+/=]*:\\d+:\\d+$",
                "description": "Device, handle, offset and size, separated by colons",
            },
            _NONE,
        ),
        "title": "CudaIpcArrayData",
        "description": "A handle to the device memory of another process.",
    },
    "JsonArrayData": {
        **_data("json", {"$ref": REFERENCE + "JsonValue"}, _NONE),
        "title": "JsonArrayData",
        "description": "Values as nested or flat lists, a bare value for rank 0.",
    },
    "JsonValue": {},
}
