"""The fourteen dtypes of array leaves, and which conversions between them are allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic_core import PydanticCustomError

DTYPE_NAMES: tuple[str, ...] = (
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
)


def castable(source: Any, target: str) -> bool:
    """True if values of dtype `source` may be converted to `target`.

    NumPy's "same_kind" rule, and any integer to any integer: what doesn't fit is found by value.
    """
    given, wanted = np.dtype(source), np.dtype(target)
    if given.kind in "iu" and wanted.kind in "iu":
        return True
    return bool(np.can_cast(given, wanted, casting="same_kind"))


def out_of_range(target: np.dtype[Any], value: Any) -> PydanticCustomError:
    """The error for a value that `target` can't hold."""
    return PydanticCustomError(
        "array_value_out_of_range",
        "The value {value} does not fit into dtype {expected_dtype}",
        {"expected_dtype": str(target), "value": str(value)},
    )


def convert(array: np.ndarray[Any, Any], target: str) -> np.ndarray[Any, Any]:
    """`array` as dtype `target`, in native byte order and C order; refuses values that don't fit.

    The same object where nothing is to be done, else fresh memory.  Infinities, NaN and loss of
    precision pass; an overflow, a wrapped integer or a dropped fraction does not.
    """
    wanted = np.dtype(target)
    if array.dtype == wanted:
        return array
    if wanted.kind in "iu":
        _check_integers(array, wanted)
        with np.errstate(invalid="ignore"):
            return array.astype(wanted, order="C")
    with np.errstate(all="ignore"):
        result = array.astype(wanted, order="C")
    if not np.can_cast(array.dtype, wanted, casting="safe"):
        overflow = np.isfinite(array) & ~np.isfinite(result)
        if overflow.any():
            raise out_of_range(wanted, array[overflow].ravel()[0].item())
    return result


def _check_integers(array: np.ndarray[Any, Any], wanted: np.dtype[Any]) -> None:
    if not array.size or np.can_cast(array.dtype, wanted, casting="safe"):
        return
    if array.dtype.kind == "c":
        raise PydanticCustomError(
            "array_expected_integer", "Complex values can't become integers", {}
        )
    if array.dtype.kind == "f" and not np.equal(array, np.trunc(array)).all():
        raise PydanticCustomError(
            "array_expected_integer", "Values with a fraction can't become integers", {}
        )
    limits = np.iinfo(wanted)
    low, high = array.min().item(), array.max().item()
    if low < limits.min:
        raise out_of_range(wanted, low)
    if high > limits.max:
        raise out_of_range(wanted, high)
