"""Nested inputs as the host takes them: arrays by path, and one JSON document.

Beside that each value gives a pattern (see `match.h` of the binding): what a later value must be
like to be served by the call that is prepared for this one.
"""

from __future__ import annotations

import enum
import functools
import json
import math
import os
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tesseract_host._failures import InputError
from tesseract_host._leaf_tree import Node
from tesseract_host.runtime import _paths
from tesseract_host.runtime._paths import Step
from tesseract_host.runtime.errors import RevokedArrayError

Steps = tuple[Step, ...]
Pattern = tuple[Any, ...]

ABSENT: Final = object()  # in the document: a tensor stands here, or nothing

# What a call may be remembered by: values that can't change and are equal only if they are alike.
_PLAIN = (str, int, float, bool, type(None))


class Flattened:
    """The inputs of one call."""

    def __init__(self, inputs: Any, tree: Node, reader: Reader, is_abstract: bool = False) -> None:
        self.paths: list[str] = []
        self.arrays: list[Any] = []  # NumPy's, or Given of the binding
        self._reader = reader
        self.can_be_remembered = True
        self._is_abstract = is_abstract
        document, self.pattern = self._inputs(inputs, tree)
        self.json = "{}" if document is ABSENT else json.dumps(document)

    def _inputs(self, inputs: Any, tree: Node) -> tuple[Any, Pattern]:
        given = inputs.model_dump() if hasattr(inputs, "model_dump") else inputs
        if not isinstance(given, Mapping):
            raise InputError(f"inputs must be a dict by field name, not {type(inputs).__name__}")
        return self._mapping(given, tree, ())

    def _value(self, value: Any, node: Node | None, steps: Steps) -> tuple[Any, Pattern]:
        leaf = None if node is None else node.leaf
        if leaf is not None and "dtype" in leaf:
            return self._array_leaf(value, leaf, steps)
        if leaf is None and isinstance(value, Mapping):
            return self._mapping(value, node, steps)
        if leaf is None and isinstance(value, list | tuple):
            return self._sequence(value, node, steps)
        if leaf is None or leaf.get("tensor"):
            if isinstance(value, np.ndarray):
                return self._tensor(value, value, steps, ("array",))
            given = self._reader.foreign(value, _path(steps))
            if given is not None:
                return self._tensor(value, given, steps, ("foreign", type(value)))
        return self._plain(value, steps)

    # ---- Containers ----------------------------------------------------------------------------

    def _mapping(
        self, value: Mapping[str, Any], node: Node | None, steps: Steps
    ) -> tuple[Any, Pattern]:
        document, patterns = {}, []
        for key, item in value.items():
            if not isinstance(key, str):
                raise InputError(
                    f"{_place(steps)}: the key {key!r} is no text", _path(steps) or None
                )
            step, below = (Step("name", key), None) if node is None else node.child(key)
            inside, pattern = self._value(item, below, (*steps, step))
            patterns.append(pattern)
            if inside is not ABSENT:
                document[key] = inside
        self.can_be_remembered &= type(value) is dict
        empty = value and not document
        return ABSENT if empty else document, ("dict", tuple(value), tuple(patterns))

    def _sequence(
        self, value: list[Any] | tuple[Any, ...], node: Node | None, steps: Steps
    ) -> tuple[Any, Pattern]:
        document, patterns = [], []
        for index, item in enumerate(value):
            step, below = (Step("index", index), None) if node is None else node.item(index)
            inside, pattern = self._value(item, below, (*steps, step))
            document.append(inside)
            patterns.append(pattern)
        self.can_be_remembered &= type(value) in (list, tuple)
        pattern = ("list", type(value), tuple(patterns))
        if document and all(item is ABSENT for item in document):
            return ABSENT, pattern
        return [None if item is ABSENT else item for item in document], pattern

    # ---- Arrays --------------------------------------------------------------------------------

    def _array_leaf(self, value: Any, leaf: Mapping[str, Any], steps: Steps) -> tuple[Any, Pattern]:
        if value is None:
            return ABSENT, ("value", None)
        if isinstance(value, Mapping):
            if self._is_abstract and "shape" in value and "dtype" in value:
                return self._tensor(value, _shape(value, steps), steps, ("array",))
            return self._plain(value, steps)  # an encoded array
        make = functools.partial(self._reader.read, leaf=leaf, path=_path(steps))
        array = make(value)
        if not isinstance(array, np.ndarray):
            return self._tensor(value, array, steps, ("foreign", type(value)))
        if array is value:
            return self._tensor(value, array, steps, ("array",))
        if type(value) in (bool, int, float):
            return self._tensor(value, array, steps, ("number", type(value)))
        return self._tensor(value, array, steps, ("other", type(value)), make)

    def _tensor(
        self, value: Any, array: Any, steps: Steps, head: Pattern, *tail: Any
    ) -> tuple[Any, Pattern]:
        if array is value:
            array = self._reader.read(value, {}, _path(steps))
            if array is not value:  # of a subclass, or with swapped bytes
                self.can_be_remembered = False
        self.paths.append(_path(steps))
        self.arrays.append(array)
        return ABSENT, (*head, len(self.arrays) - 1, *tail)

    # ---- Everything else -----------------------------------------------------------------------

    def _plain(self, value: Any, steps: Steps) -> tuple[Any, Pattern]:
        """A value of the document that holds no tensors."""
        if type(value) in _PLAIN:
            if type(value) is int and not -(2**63) <= value < 2**64:
                raise InputError(f"{_place(steps)}: {value} has more than 64 bits", _path(steps))
            return value, ("value", value)
        if isinstance(value, enum.Enum):
            return self._plain(value.value, steps)[0], ("value", value)
        if isinstance(value, np.generic):
            return self._plain(value.item(), steps)[0], ("value", value)
        if isinstance(value, np.ndarray):
            self.can_be_remembered = False
            return self._plain(value.tolist(), steps)[0], ()
        if isinstance(value, Mapping):
            return self._mapping(value, None, steps)
        if isinstance(value, list | tuple):
            return self._sequence(value, None, steps)
        self.can_be_remembered = False
        if isinstance(value, str | int | float):  # of a class of its own
            return value, ()
        if hasattr(value, "model_dump"):
            return self._plain(value.model_dump(mode="json"), steps)[0], ()
        if isinstance(value, os.PathLike):
            return os.fspath(value), ()
        if isinstance(value, set | frozenset):
            return self._plain(list(value), steps)[0], ()
        raise InputError(
            f"{_place(steps)}: a {type(value).__name__} is neither an array nor a JSON value",
            _path(steps),
        )


class Reader:
    """How what is given for arrays is read: by a function of the binding, `given`.

    Of arrays on a device the data are asked for on `stream`, 0 for where the producers have them.
    """

    def __init__(
        self, given: Callable[[Any, int, bool], Any], stream: int = 0, allow_copy: bool = True
    ) -> None:
        self._given = given
        self._stream = stream
        self._allow_copy = allow_copy

    def read(self, value: Any, leaf: Mapping[str, Any], path: str) -> Any:
        """The array of what was given for a leaf: the value itself if the host can read it, else
        NumPy's or a Given of the binding.

        Numbers get the declared dtype if they fit; of all else the host decides.
        """
        if type(value) is np.ndarray and value.dtype.isnative and _is_known(value.dtype):
            return value if self._allow_copy else self._uncopied(value, path)
        declared = leaf.get("dtype")
        if declared is not None and type(value) in (bool, int, float):
            return _number(value, _dtype(declared))
        given = self.foreign(value, path)
        return self._converted(value, declared, path) if given is None else given

    def foreign(self, value: Any, path: str) -> Any:
        """What another library has on a device, or by DLPack alone on the host; else None."""
        if isinstance(value, _NEVER_FOREIGN):
            return None
        if not hasattr(value, "__array__"):
            return self._asked(value, path, not hasattr(value, "__array_interface__"))
        try:  # JAX's arrays know this sooner than that they lack the other interface
            if value.__dlpack_device__()[0] in _HOST:
                return None
        except Exception:
            pass
        return self._asked(value, path, False)

    def _asked(self, value: Any, path: str, anywhere: bool) -> Any:
        try:
            given = self._given(value, self._stream, anywhere)
        except (RevokedArrayError, MemoryError):
            raise
        except Exception as error:
            text = f"it can't be read as an array, {type(error).__name__}: {error}"
            raise InputError(f"{path}: {text}", path) from error
        if isinstance(given, str):
            raise InputError(f"{path}: {given}", path)
        return given

    def _converted(self, value: Any, declared: str | None, path: str) -> Any:
        try:
            array = np.asarray(value)
        except (ValueError, TypeError) as error:
            # Of a dtype that NumPy lacks, say.
            given = None if isinstance(value, _NEVER_FOREIGN) else self._asked(value, path, True)
            if given is None:
                raise InputError(f"{path}: {error}", path) from error
            return given
        if array.size == 0 and declared is not None and not hasattr(value, "dtype"):
            array = array.astype(_dtype(declared))
        if not array.dtype.isnative:
            self._forbid(path, "bytes in another order than this machine's")
            array = array.astype(array.dtype.newbyteorder("="))
        if not _is_known(array.dtype):
            raise InputError(
                f"{path}: expected an array of numbers, not {_described(value, array)}", path
            )
        plain = array if type(array) is np.ndarray else np.asarray(array).view(np.ndarray)
        return plain if self._allow_copy else self._uncopied(plain, path)

    def _uncopied(self, array: np.ndarray[Any, Any], path: str) -> np.ndarray[Any, Any]:
        if any(stride % array.itemsize for stride in array.strides):
            self._forbid(path, "strides that are no multiple of its element size")
        return array

    def _forbid(self, path: str, what: str) -> None:
        if not self._allow_copy:
            raise InputError(f"{path}: the array has {what}, and copies are forbidden", path)


# What is no array of another library's, whatever it has.
_NEVER_FOREIGN = (np.ndarray, np.generic, list, tuple, dict, str, bytes, int, float, type(None))
_HOST = (1, 3, 11)  # kDLCPU, kDLCUDAHost, kDLROCMHost


def _number(value: float, dtype: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    natural = np.asarray(value)
    if dtype is None or isinstance(value, bool) or (dtype.kind == "b"):
        return natural
    if isinstance(value, float) and dtype.kind in "iu":
        return natural
    try:
        with np.errstate(all="ignore"):
            array = natural.astype(dtype) if isinstance(value, float) else np.array(value, dtype)
    except OverflowError:
        return natural
    lost = isinstance(value, float) and math.isfinite(value) and not np.isfinite(array)
    return natural if lost else array


def _dtype(name: str) -> np.dtype[Any] | None:
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError):
        return None
    return found


_SIZES = {"f": 8, "i": 8, "u": 8, "b": 1, "c": 16}  # the largest, which leave long doubles out


def _is_known(dtype: np.dtype[Any]) -> bool:
    return dtype.itemsize <= _SIZES.get(dtype.kind, 0) or dtype.name in (
        "bfloat16",
        "float8_e4m3fn",
        "float8_e5m2",
    )


def _described(value: Any, array: np.ndarray[Any, Any]) -> str:
    dtype = f" of dtype {array.dtype}" if isinstance(value, np.ndarray | list | tuple) else ""
    return f"{type(value).__name__}{dtype}"


def _shape(value: Mapping[str, Any], steps: Steps) -> np.ndarray[Any, Any]:
    """An array without memory of its own, for its shape and dtype."""
    dtype = _dtype(str(value["dtype"]))
    try:
        shape = tuple(int(length) for length in value["shape"])
        return np.broadcast_to(np.empty((), np.dtype(dtype)), shape)
    except (TypeError, ValueError) as error:
        raise InputError(f"{_place(steps)}: {error}", _path(steps)) from error


def _path(steps: Steps) -> str:
    return _paths.join(steps)


def _place(steps: Steps) -> str:
    return _path(steps) or "inputs"
