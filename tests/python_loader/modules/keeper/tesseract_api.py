"""Keeps its input in a way of the caller's choice and tells later what it kept."""

import ctypes

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64


class InputSchema(BaseModel):
    x: Array[(None,), Float64]
    how: str = "not"


class OutputSchema(BaseModel):
    kept: Array[(None,), Float64]
    address: int
    writeable: bool


class Holder:
    pass


class Lender:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> dict:
        return self.array.__array_interface__


kept = []


def keep(x: np.ndarray, how: str) -> None:
    holder = Holder()
    if how == "array":
        kept.append(x)
    elif how == "attribute":
        holder.array = x
        kept.append((holder, "array"))
    elif how == "slice":
        kept.append(x[1:])
    elif how == "slice of slice":
        holder.views = {"a": x[1:][::-1][1:], "b": (x.reshape(1, -1),)}
        kept.append(holder.views["a"])
    elif how == "memoryview":
        kept.append(memoryview(x))
    elif how == "object array":
        boxed = np.empty(1, dtype=object)
        boxed[0] = x
        kept.append(boxed)
    elif how == "windows":
        kept.append(np.lib.stride_tricks.sliding_window_view(x, len(x))[0])
    elif how == "strides":
        kept.append(np.lib.stride_tricks.as_strided(x[::-1], x.shape, (-8,)))
    elif how == "interface":
        holder.__array_interface__ = x.__array_interface__
        holder.array = x
        kept.append(np.asarray(holder))
    elif how == "interface of a class":
        kept.append(np.asarray(Lender(x)))
    elif how == "ctypes":
        kept.append((x.ctypes, "data", len(x)))
    elif how == "pointer":
        pointer = x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        kept.append((pointer, "contents", len(x)))
    elif how == "iterator":
        kept.append(x.flat)
    elif how == "recarray":
        kept.append(x.view(np.recarray))


def values(item) -> np.ndarray:
    if isinstance(item, tuple):
        item, name, *count = item
        item = getattr(item, name)
        if count:
            address = item if isinstance(item, int) else ctypes.addressof(item)
            item = list((ctypes.c_double * count[0]).from_address(address))
    if isinstance(item, np.ndarray) and item.dtype == object:
        item = item[0]
    return np.array(item, dtype=np.float64)


def can_be_written(x: np.ndarray) -> bool:
    try:
        x.setflags(write=True)
    except ValueError:
        return False
    return True


def apply(inputs: InputSchema) -> OutputSchema:
    keep(inputs.x, inputs.how)
    return OutputSchema(
        kept=values(kept[-1]) if kept else np.zeros(0),
        address=inputs.x.__array_interface__["data"][0],
        writeable=inputs.x.flags.writeable or can_be_written(inputs.x),
    )
