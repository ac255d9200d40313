"""CHECK: what an array leaf accepts, and the array that the module then gets."""

from __future__ import annotations

import contextlib
import operator
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np
from pydantic_core import PydanticCustomError

from tesseract_host import _engine
from tesseract_host.runtime import _dtypes

Shape: TypeAlias = "tuple[int | None, ...] | EllipsisType"


class ArrayCheck:
    """Validates one value for an array leaf; called by pydantic as an after-function with info.

    `shape` is a tuple of lengths and None (free axis), or Ellipsis for any rank; `dtype` one of
    the fourteen names, or None for any of them.  The given object is never changed.  What fits is
    passed on as a read-only view without a copy; rank 0 becomes a NumPy scalar.
    """

    __slots__ = ("dtype", "flags", "shape")

    def __init__(self, shape: Shape, dtype: str | None, flags: tuple[str, ...] = ()) -> None:
        self.shape = shape
        self.dtype = dtype
        self.flags = flags

    def __call__(self, value: Any, info: Any) -> Any:
        return self.checked(value, info.context)

    def checked(self, value: Any, context: dict[str, Any] | None) -> Any:
        """The same with the context itself, None standing for an empty one."""
        if isinstance(value, dict):
            return self._from_dict(value, context or {})
        return self.accept(value, context or {})

    def dumped(self, value: Any, info: Any) -> Any:
        """The array that `model_dump()` gives for a field, whose value may be a raw default."""
        return self.accept(value, info.context or {})

    def _from_dict(self, value: dict[Any, Any], context: dict[str, Any]) -> Any:
        from tesseract_host.runtime import _encoding

        array = _encoding.decode_or_none(value, self.shape, self.dtype, context)
        return self.accept(value if array is None else array, context)

    def accept(self, value: Any, context: dict[str, Any]) -> Any:
        """The checked array, NumPy scalar, or device object for a value that is no dict."""
        if is_device_object(value):
            return self._device(value)
        if getattr(type(value), "__tesseract_binref__", False):
            return self._exactly(value, tuple(value.shape), value.dtype)
        array = to_numpy(value)
        if array.dtype.kind not in "biufc":
            raise PydanticCustomError(
                "array_non_numeric",
                "Expected numbers, got a value that NumPy reads as {actual_dtype}",
                {"actual_dtype": str(array.dtype)},
            )
        array = self._shaped(array, bool(context.get("strict_shapes")))
        array = self._typed(array, bool(context.get("strict_types")))
        if self.dtype is None and array.dtype.name not in _dtypes.DTYPE_NAMES:
            raise unknown_dtype(array.dtype.name)
        if array.ndim == 0:
            return array.dtype.type(array)
        return array

    def _shaped(self, array: np.ndarray[Any, Any], strict: bool) -> np.ndarray[Any, Any]:
        if self.shape is Ellipsis:
            return array
        if array.ndim != len(self.shape):
            raise PydanticCustomError(
                "array_dimensionality_mismatch",
                "Expected an array of rank {expected_dims}, got rank {actual_dims}",
                {"actual_dims": array.ndim, "expected_dims": len(self.shape)},
            )
        if all(
            want is None or want == got for want, got in zip(self.shape, array.shape, strict=True)
        ):
            return array
        wanted = tuple(
            got if want is None else want for want, got in zip(self.shape, array.shape, strict=True)
        )
        if strict or any(
            got not in (1, want) for want, got in zip(wanted, array.shape, strict=True)
        ):
            raise wrong_shape(array.shape, wanted)
        return np.broadcast_to(array, wanted)

    def _typed(self, array: np.ndarray[Any, Any], strict: bool) -> np.ndarray[Any, Any]:
        if self.dtype is None or array.dtype == np.dtype(self.dtype):
            return read_only(array)
        self.resolve_dtype(array.dtype, strict)
        return _dtypes.convert(array, self.dtype)

    def resolve_dtype(self, dtype: Any, strict: bool = False) -> str:
        """The dtype that a value of `dtype` is converted to; raises if it may not be."""
        given = np.dtype(dtype)
        if self.dtype is None:
            return given.name
        fits = given.name == self.dtype if strict else _dtypes.castable(given, self.dtype)
        if not fits:
            raise wrong_dtype(given.name, self.dtype)
        return self.dtype

    def _device(self, value: Any) -> Any:
        """A device object is passed on as it is, so shape and dtype must be exact."""
        return self._exactly(value, *device_shape_and_dtype(value))

    def _exactly(self, value: Any, shape: tuple[int, ...], dtype: str) -> Any:
        """The value itself, which is not converted."""
        if self.shape is not Ellipsis and (
            len(shape) != len(self.shape)
            or any(w is not None and w != g for w, g in zip(self.shape, shape, strict=True))
        ):
            raise wrong_shape(shape, self.shape)
        if dtype not in _dtypes.DTYPE_NAMES:
            raise unknown_dtype(dtype)
        if self.dtype is not None and dtype != self.dtype:
            raise not_converted(dtype, self.dtype)
        return value


def compiled(check: ArrayCheck) -> Any:
    """What does the same as `check` and asks it where the compiled engine can't decide."""
    return check if _engine.native is None else _engine.native.Check(check)


def is_device_object(value: Any) -> bool:
    """True for an array in CUDA memory, of whatever library."""
    if isinstance(value, np.ndarray | np.generic | type):
        return False
    try:
        if hasattr(value, "__cuda_array_interface__"):
            return True
    except TypeError:  # it has one, which lacks the dtype
        return True
    # Others tell by DLPack only where they are; what NumPy can read need not be asked.
    if hasattr(value, "__array__") or not hasattr(value, "__dlpack_device__"):
        return False
    return value.__dlpack_device__()[0] in CUDA_DEVICES


# kDLCUDA, kDLCUDAManaged
CUDA_DEVICES = (2, 13)


def device_shape_and_dtype(value: Any) -> tuple[tuple[int, ...], str]:
    """Shape and dtype of a device object, as it says; nothing of its memory is looked at."""
    try:
        interface = value.__cuda_array_interface__
    except (AttributeError, TypeError):
        return _dlpack_shape_and_dtype(value)
    try:
        shape = tuple(map(operator.index, interface["shape"]))
        return shape, np.dtype(interface["typestr"]).name
    except (KeyError, TypeError, ValueError) as error:
        raise PydanticCustomError(
            "array_device_object",
            "Expected a device array, and its __cuda_array_interface__ lacks or has no valid "
            "shape or typestr ({reason})",
            {"reason": f"{type(error).__name__}: {error}"},
        ) from None


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of an array, of whatever library, or of what NumPy makes one."""
    if hasattr(value, "shape"):
        return tuple(value.shape)
    return device_shape_and_dtype(value)[0] if is_device_object(value) else np.shape(value)


def _dlpack_shape_and_dtype(value: Any) -> tuple[tuple[int, ...], str]:
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        return tuple(shape), str(dtype).rpartition(".")[2]
    library = _engine.library()
    if library is not None:
        try:
            return library.device_shape_and_dtype(value)  # type: ignore[no-any-return]
        except ValueError as error:
            reason = str(error)
    else:
        reason = "it has no shape and dtype"
    raise PydanticCustomError(
        "array_device_object", "Expected a device array: {reason}", {"reason": reason}
    )


def to_numpy(value: Any) -> np.ndarray[Any, Any]:
    """`value` as a plain C-contiguous ndarray whose dtype NumPy chooses."""
    array = np.asarray(value, order="C")
    if array.dtype.kind != "O" or isinstance(value, np.ndarray | np.generic):
        return array
    if hasattr(value, "__dlpack__"):
        with contextlib.suppress(BufferError, RuntimeError, TypeError):
            return np.asarray(read_only(np.from_dlpack(value)), order="C")
    return array


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A view without the writeable flag, or the array itself if it has none."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def wrong_shape(shape: tuple[int, ...], wanted: Any) -> PydanticCustomError:
    """The error for a shape that does not fit."""
    return PydanticCustomError(
        "array_shape_mismatch",
        "Expected an array of shape {expected_shape}, got shape {actual_shape}",
        {"actual_shape": tuple(shape), "expected_shape": tuple(wanted)},
    )


def wrong_dtype(dtype: str, wanted: str) -> PydanticCustomError:
    """The error for a dtype that may not be converted."""
    return PydanticCustomError(
        "array_dtype_mismatch",
        "Expected dtype '{expected_dtype}', got '{actual_dtype}', which can't be converted to it",
        {"actual_dtype": dtype, "expected_dtype": wanted},
    )


def not_converted(dtype: str, wanted: str) -> PydanticCustomError:
    """The error for another dtype of a value that is passed on as it is."""
    return PydanticCustomError(
        "array_dtype_mismatch",
        "Expected dtype '{expected_dtype}', got '{actual_dtype}': arrays on a device and in files "
        "are not converted",
        {"actual_dtype": dtype, "expected_dtype": wanted},
    )


def unknown_dtype(dtype: str) -> PydanticCustomError:
    """The error for a dtype that no array leaf can have."""
    return PydanticCustomError(
        "array_invalid_dtype",
        "dtype '{actual_dtype}' is none of {allowed_dtypes}",
        {"actual_dtype": dtype, "allowed_dtypes": ", ".join(_dtypes.DTYPE_NAMES)},
    )
