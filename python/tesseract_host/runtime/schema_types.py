"""The types that a module declares its array leaves with."""

from __future__ import annotations

from types import EllipsisType
from typing import Annotated, Any, Literal, TypeGuard

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo
from pydantic_core import core_schema

from tesseract_host.runtime import _dtypes
from tesseract_host.runtime._check import ArrayCheck, Shape, compiled

__all__ = [
    "Array",
    "Bool",
    "Complex64",
    "Complex128",
    "Differentiable",
    "Float16",
    "Float32",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "ShapeDType",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "is_differentiable",
]

DIFFERENTIABLE = "DIFFERENTIABLE"


class AnnotationType(type):
    """The class of array annotations, which are classes too."""

    expected_shape: Shape
    expected_dtype: str | None
    flags: tuple[str, ...]

    def __repr__(cls) -> str:
        if not hasattr(cls, "expected_shape"):
            return super().__repr__()
        shape = "..." if cls.expected_shape is Ellipsis else repr(cls.expected_shape)
        return f"Array[{shape}, {cls.expected_dtype!r}]"


class ArrayAnnotation(metaclass=AnnotationType):
    """Base of the classes that `Array[shape, dtype]` makes; they only annotate."""

    def __init__(self, *_args: Any, **_keywords: Any) -> None:
        raise RuntimeError(f"{type(self).__name__} is an annotation and has no instances")

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        check = ArrayCheck(cls.expected_shape, cls.expected_dtype, cls.flags)
        quick = compiled(check)
        # An after-function over any, not a plain function: in smart unions a plain one counts as
        # an exact match and would win over members that take the value as it is.  The serialiser's
        # own return schema keeps pydantic from inspecting each array's type.
        accepts = core_schema.with_info_after_validator_function(
            quick,
            core_schema.any_schema(),
            serialization=core_schema.plain_serializer_function_ser_schema(
                quick.dumped,
                info_arg=True,
                return_schema=core_schema.any_schema(
                    serialization=core_schema.to_string_ser_schema(when_used="json")
                ),
            ),
        )

        def decode(value: Any, info: Any) -> Any:
            from tesseract_host.runtime import _encoding

            return _encoding.decode_json(check, value, info.context or {})

        def encode(value: Any, info: Any) -> Any:
            from tesseract_host.runtime import _encoding

            return _encoding.encode(check, value, info.context or {})

        return core_schema.json_or_python_schema(
            json_schema=core_schema.with_info_after_validator_function(
                decode, core_schema.any_schema()
            ),
            python_schema=accepts,
            serialization=core_schema.plain_serializer_function_ser_schema(
                encode, info_arg=True, when_used="json"
            ),
            metadata={"tesseract_array": cls},
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, handler: Any) -> dict[str, Any]:
        from tesseract_host.runtime import _encoding

        model = _encoding.encoded_model(cls.expected_shape, cls.expected_dtype, cls.flags)
        schema = handler.resolve_ref_schema(handler(model.__pydantic_core_schema__))
        schema = dict(schema)
        schema["array_flags"] = list(cls.flags)
        return schema


class Array:
    """`Array[shape, dtype]` annotates an array leaf.

    `shape` is a tuple of lengths and None (any length), `()` for a scalar, or `...` for any rank;
    `dtype` is one of fourteen names, a scalar alias such as `Float32`, or None for any of them.
    """

    def __init__(self, *_args: Any, **_keywords: Any) -> None:
        raise RuntimeError("Array can't be called; write Array[shape, dtype]")

    def __class_getitem__(cls, key: Any) -> AnnotationType:
        if not isinstance(key, tuple) or len(key) != 2:
            raise TypeError("Array takes a shape and a dtype: Array[shape, dtype]")
        shape, dtype = checked_shape(key[0]), checked_dtype(key[1])
        members = {"expected_shape": shape, "expected_dtype": dtype, "flags": ()}
        return AnnotationType("Array", (ArrayAnnotation,), members)


class Differentiable:
    """`Differentiable[Array[...]]` marks an array leaf as one that derivatives exist for."""

    def __class_getitem__(cls, key: Any) -> AnnotationType:
        if not is_array_annotation(key):
            raise ValueError(f"Differentiable takes an Array type, not {key!r}")
        return type(key)(key.__name__, (key,), {"flags": (DIFFERENTIABLE,)})


def is_array_annotation(annotation: Any) -> TypeGuard[AnnotationType]:
    """True for a type made by `Array` or `Differentiable`, ours or tesseract-core's."""
    return isinstance(annotation, type) and all(
        hasattr(annotation, name) for name in ("expected_shape", "expected_dtype", "flags")
    )


def is_differentiable(annotation: Any) -> bool:
    """True if `annotation` is an array type marked by `Differentiable`."""
    if not is_array_annotation(annotation):
        return False
    return any(getattr(flag, "name", flag) == DIFFERENTIABLE for flag in annotation.flags)


def checked_shape(shape: Any) -> Shape:
    """`shape` as it was written, or ValueError."""
    if shape is Ellipsis:
        return Ellipsis
    if not isinstance(shape, tuple):
        raise ValueError(f"a shape is a tuple or ..., not {shape!r}")
    for length in shape:
        if length is not None and not _is_length(length):
            raise ValueError(f"a length in a shape is an int or None, not {length!r}")
    return tuple(None if n is None else int(n) for n in shape)


def _is_length(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def checked_dtype(dtype: Any) -> str | None:
    """The dtype's name, None for any, or ValueError."""
    if is_array_annotation(dtype):
        return dtype.expected_dtype
    if dtype is None or (isinstance(dtype, str) and dtype in _dtypes.DTYPE_NAMES):
        return dtype
    raise ValueError(f"unknown dtype {dtype!r}; one of {', '.join(_dtypes.DTYPE_NAMES)}")


class ShapeDType(BaseModel):
    """Shape and dtype of an array, as abstract evaluation takes and gives them."""

    model_config = ConfigDict(extra="ignore")

    shape: tuple[int, ...]
    dtype: Literal[_dtypes.DTYPE_NAMES]  # type: ignore[valid-type]

    def __class_getitem__(cls, key: tuple[Shape | EllipsisType, Any]) -> Any:
        check = ArrayCheck(checked_shape(key[0]), checked_dtype(key[1]))

        def fits(value: Any, info: ValidationInfo) -> Any:
            return _fitting(value, check, info) if isinstance(value, ShapeDType) else value

        return Annotated[ShapeDType, AfterValidator(fits)]

    @classmethod
    def from_array_type(cls, annotation: AnnotationType) -> Any:
        """The annotation for the shape and dtype of arrays of this type."""
        return cls[annotation.expected_shape, annotation.expected_dtype]


def _fitting(value: ShapeDType, check: ArrayCheck, info: ValidationInfo) -> ShapeDType:
    if check.shape is not Ellipsis:
        same_rank = len(value.shape) == len(check.shape)
        if not same_rank or any(
            want is not None and want != got
            for want, got in zip(check.shape, value.shape, strict=True)
        ):
            raise ValueError(f"expected shape {check.shape}, got {value.shape}")
    dtype = check.resolve_dtype(value.dtype, bool((info.context or {}).get("strict_types")))
    return value if dtype == value.dtype else value.model_copy(update={"dtype": dtype})


Float16 = Array[(), "float16"]
Float32 = Array[(), "float32"]
Float64 = Array[(), "float64"]
Int8 = Array[(), "int8"]
Int16 = Array[(), "int16"]
Int32 = Array[(), "int32"]
Int64 = Array[(), "int64"]
UInt8 = Array[(), "uint8"]
UInt16 = Array[(), "uint16"]
UInt32 = Array[(), "uint32"]
UInt64 = Array[(), "uint64"]
Bool = Array[(), "bool"]
Complex64 = Array[(), "complex64"]
Complex128 = Array[(), "complex128"]
