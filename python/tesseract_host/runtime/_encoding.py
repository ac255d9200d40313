"""Encoded arrays: dicts that hold an array as nested lists, base64 text or a file reference."""

from __future__ import annotations

import base64
import binascii
import functools
import math
import os
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    StrictStr,
    ValidationError,
    create_model,
)
from pydantic_core import PydanticCustomError

from tesseract_host.runtime import _binref, _dtypes, config
from tesseract_host.runtime._check import ArrayCheck, Shape, is_device_object, to_numpy


def _json_values(value: Any) -> Any:
    if value is None or isinstance(value, list | str | bool | int | float | complex | np.generic):
        return value
    raise ValueError(f"a {type(value).__name__} holds no JSON values")


class JsonArrayData(BaseModel):
    """Values as nested or flat lists, a bare value for rank 0."""

    model_config = ConfigDict(extra="forbid")
    buffer: Annotated[Any, AfterValidator(_json_values)]
    encoding: Literal["json"]


class Base64ArrayData(BaseModel):
    """The bytes of the array in C order, native byte order, as base64 text."""

    model_config = ConfigDict(extra="forbid")
    buffer: StrictStr
    encoding: Literal["base64"]
    compression: Literal["lz4"] | None = None


class BinrefArrayData(BaseModel):
    """`path[:offset[:compressed size]]` of a file that holds the bytes."""

    model_config = ConfigDict(extra="forbid")
    buffer: Annotated[StrictStr, Field(min_length=1)]
    encoding: Literal["binref"]
    compression: Literal["lz4"] | None = None


class CudaIpcArrayData(BaseModel):
    """A handle to the device memory of another process; refused in this one."""

    model_config = ConfigDict(extra="allow")
    encoding: Literal["cuda_ipc"]


ArrayData = Annotated[
    BinrefArrayData | Base64ArrayData | JsonArrayData | CudaIpcArrayData,
    Field(discriminator="encoding"),
]


class EncodedArray(BaseModel):
    """The form shared by the models that `encoded_model` makes."""

    model_config = ConfigDict(extra="forbid")
    object_type: Literal["array"] = "array"
    shape: tuple[NonNegativeInt, ...]
    dtype: str
    data: ArrayData


def encoded_model(shape: Shape, dtype: str | None, flags: tuple[str, ...]) -> type[EncodedArray]:
    """A fresh model of the encoded arrays that fit a declared shape and dtype."""
    names = [n for n in _dtypes.DTYPE_NAMES if dtype is None or _dtypes.castable(n, dtype)]
    shape_type: Any = tuple[NonNegativeInt, ...]
    if shape is Ellipsis:
        title = "anyrank"
    else:
        title = "_".join("any" if n is None else str(n) for n in shape) or "scalar"
        axes: Any = [NonNegativeInt if n is None else Literal[tuple({1: 0, n: 0})] for n in shape]
        shape_type = tuple[tuple(axes)] if axes else tuple[()]
    return create_model(
        f"EncodedArrayModel__{title}__{dtype}__{'_'.join(flags) or 'noflags'}",
        __base__=EncodedArray,
        __config__=None,
        shape=(shape_type, ...),
        dtype=(Literal[tuple(names)], ...),
    )


@functools.lru_cache(maxsize=512)
def _decoder(shape: Shape, dtype: str | None) -> type[EncodedArray]:
    return encoded_model(shape, dtype, ())


def decode_or_none(
    value: dict[Any, Any], shape: Shape, dtype: str | None, context: dict[str, Any]
) -> np.ndarray[Any, Any] | None:
    """The array of a well-formed encoded array, None for any other dict."""
    try:
        encoded = _decoder(shape, dtype).model_validate(value)
    except ValidationError:
        return None
    return decode(encoded, context)


def decode_json(check: ArrayCheck, value: Any, context: dict[str, Any]) -> Any:
    """The array of an encoded array in JSON input, checked; anything else is an error, which tells
    the place in the encoded array too.
    """
    encoded = _decoder(check.shape, check.dtype).model_validate(value)
    return check.accept(decode(encoded, context), context)


def decode(encoded: EncodedArray, context: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The array an encoded array stands for, in the encoded dtype."""
    data = encoded.data
    try:
        if isinstance(data, JsonArrayData):
            return _from_values(data.buffer, encoded.shape, encoded.dtype)
        if isinstance(data, CudaIpcArrayData):
            raise ValueError("device handles can't be opened here")
        if isinstance(data, Base64ArrayData):
            raw = base64.b64decode(data.buffer, validate=True)
        else:
            raw = _read_reference(data, encoded, context)
        raw = _decompress(raw, data.compression)
        return _from_bytes(raw, encoded.shape, encoded.dtype)
    except PydanticCustomError:
        raise
    except (ValueError, OverflowError, TypeError, OSError, binascii.Error, ImportError) as error:
        raise PydanticCustomError(
            "array_decode_error",
            "The {encoding} buffer can't be decoded: {error}",
            {"encoding": data.encoding, "error": str(error)},
        ) from error


def _from_values(buffer: Any, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    flat: list[Any] = []
    _flatten(buffer, flat)
    if len(flat) != math.prod(shape):
        raise ValueError(f"{len(flat)} values for an array of shape {shape}")
    if not flat:
        return np.empty(shape, dtype)
    numbers = [_number(v, dtype) for v in flat]
    values = np.asarray(numbers)
    if values.dtype.kind == "f" and np.dtype(dtype).kind in "iu":
        values = _exact(numbers, values)
    if values.dtype.kind not in "biufc":
        raise ValueError("integers beyond 64 bits")
    if values.dtype.kind == "c" and np.dtype(dtype).kind != "c":
        raise ValueError(f"complex values for dtype {dtype}")
    return _dtypes.convert(values, dtype).reshape(shape)


def _exact(numbers: list[Any], values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Whole numbers without loss of digits; NumPy reads large ones beside others as floats."""
    try:
        whole = [int(number) for number in numbers]
    except (ValueError, OverflowError, TypeError):  # NaN, infinity
        return values
    if whole != numbers:
        return values
    if min(whole) >= 0 and max(whole) < 2**64:
        return np.array(whole, np.uint64)
    if min(whole) >= -(2**63) and max(whole) < 2**63:
        return np.array(whole, np.int64)
    return values


def _flatten(value: Any, into: list[Any]) -> None:
    stack = [iter((value,))]
    while stack:
        for item in stack[-1]:
            if isinstance(item, list | tuple):
                stack.append(iter(item))
                break
            if isinstance(item, np.ndarray):
                into.extend(item.ravel().tolist())
            else:
                into.append(item)
        else:
            stack.pop()


def _number(value: Any, dtype: str) -> Any:
    if value is None:
        return math.nan
    if isinstance(value, str):
        return complex(value) if dtype.startswith("complex") else float(value)
    if isinstance(value, bool | int | float | complex | np.generic):
        return value
    raise ValueError(f"{type(value).__name__} is no number")


def _from_bytes(raw: bytes, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    wanted = math.prod(shape) * np.dtype(dtype).itemsize
    if len(raw) != wanted:
        raise ValueError(f"{len(raw)} bytes for an array of {wanted}")
    return np.frombuffer(raw, dtype=dtype).reshape(shape)


def read_encoded(encoded: dict[str, Any], context: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The array that an encoded array of any shape stands for."""
    return decode(EncodedArray.model_validate(encoded), context)


def _read_reference(data: BinrefArrayData, encoded: EncodedArray, context: dict[str, Any]) -> bytes:
    name, offset, size = split_reference(data.buffer)
    if data.compression is None or size is None:
        size = math.prod(encoded.shape) * np.dtype(encoded.dtype).itemsize
    if "://" not in name:
        name = _located(name, context)
    if "://" in name:
        return _read_url(name, offset, size)
    with open(name, "rb") as file:
        file.seek(offset)
        return file.read(size)


def _located(name: str, context: dict[str, Any]) -> str:
    base = context.get("base_dir")
    if base is None:
        base = config.calling().input_path
    within = context.get("binref_dir") or ""
    if "://" in str(base):
        return "/".join(part.strip("/") for part in (str(base), within, name) if part)
    return str(Path(base, within, name))


def _read_url(url: str, offset: int, size: int) -> bytes:
    import fsspec  # an optional dependency of modules that use remote buffers

    with fsspec.open(url, "rb") as file:
        file.seek(offset)
        content: bytes = file.read(size)
    return content


def split_reference(text: str) -> tuple[str, int, int | None]:
    """Path, offset and compressed size of `path[:offset[:size]]`."""
    name = text
    tail: list[int] = []
    while len(tail) < 2:
        head, colon, last = name.rpartition(":")
        if not colon or not last.isdecimal():
            break
        name, tail = head, [int(last), *tail]
    if not name:
        raise ValueError("the file reference has no path")
    return name, tail[0] if tail else 0, tail[1] if len(tail) > 1 else None


def _decompress(raw: bytes, compression: str | None) -> bytes:
    if compression is None:
        return raw
    import lz4.frame

    try:
        content: bytes = lz4.frame.decompress(raw)
    except RuntimeError as error:
        raise ValueError(f"not lz4: {error}") from error
    return content


def encode(check: ArrayCheck, value: Any, context: dict[str, Any]) -> dict[str, Any]:
    """The encoded array that JSON output holds.

    Of the context, "array_encoding" is "json" (the default), "base64" or "binref", "compression"
    None or "lz4" for the latter two, and "base_dir" the folder of the files (default: the output
    path), with "binref_dir" below it and "max_file_size" their size.
    """
    encoding = context.get("array_encoding", "json")
    if encoding not in ("json", "base64", "binref"):
        raise ValueError(f"unknown array encoding {encoding!r}")
    if _binref.is_reference(value):
        check.accept(value, {})
        if encoding == "binref":
            return dict(value.to_arraydict())
        warnings.warn(
            f"{value!r} is read, since only the encoding binref can refer to it",
            RuntimeWarning,
            stacklevel=2,
        )
        value = value.load(context)
    if is_device_object(value):
        check.accept(value, {})
        value = _on_host(value)
    array = np.asarray(check.accept(to_numpy(value), {}))
    if encoding == "binref":
        return _buffers(context).add(array)
    data: dict[str, Any] = {"buffer": _values(array), "encoding": "json"}
    if encoding == "base64":
        compression = context.get("compression")
        raw = _binref.compressed(_binref.native_bytes(array), compression)
        data = {"buffer": base64.b64encode(raw).decode("ascii"), "encoding": "base64"}
        if compression is not None:
            data["compression"] = compression
    return {
        "object_type": "array",
        "shape": list(array.shape),
        "dtype": array.dtype.name,
        "data": data,
    }


def _on_host(value: Any) -> Any:
    """A copy in host memory of a device object: JSON has no other way to hold it."""
    if os.environ.get("TESSERACT_FORBID_DEVICE_HOST_COPY", "").lower() in ("1", "true"):
        raise RuntimeError("TESSERACT_FORBID_DEVICE_HOST_COPY forbids to copy from the device")
    if hasattr(value, "get"):  # CuPy
        return value.get()
    if hasattr(value, "detach"):  # PyTorch
        return value.detach().cpu().numpy()
    return np.asarray(value)  # JAX


def _values(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype.kind == "c":
        return np.vectorize(lambda v: str(v).strip("()"), otypes=[object])(array).tolist()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        finite = np.isfinite(array)
        values = array.astype(object)
        values[~finite] = None
        return values.tolist()
    return array.tolist()


def _buffers(context: dict[str, Any]) -> _binref.Buffers:
    """The files that the arrays of one dump go to, kept in its context."""
    known = context.get("__binref_buffers")
    if known is None:
        base = context.get("base_dir")
        if base is None:
            base = config.calling().output_path
        known = _binref.Buffers(
            Path(base),
            context.get("max_file_size", _binref.MAX_FILE_SIZE),
            context.get("compression"),
            context.get("binref_dir"),
        )
        context["__binref_buffers"] = known
    return known
