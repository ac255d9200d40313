"""Arrays in files: references that stand for an array without holding it, and their writer."""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from tesseract_host.runtime import _dtypes, config

# A buffer file that has grown beyond this is followed by another one.
MAX_FILE_SIZE = 100 * 1024 * 1024

Compression = Literal["lz4"] | None


class BinrefArray:
    """An array in a file of the output path, allowed as the value of an array output.

    It is never cast or broadcast, so shape and dtype must be the declared ones, and it reaches the
    caller as it is; `load()` and `np.asarray` read it, also after the call.  Made by `write` and
    `from_file`.
    """

    # Array leaves know by this that a value is one, also of another component.
    __tesseract_binref__ = True

    settings: ClassVar[config.Settings] = config.process

    _base: Path
    _encoded: dict[str, Any]

    def __init__(self, *_args: Any, **_keywords: Any) -> None:
        raise RuntimeError("BinrefArray is made by BinrefArray.write or BinrefArray.from_file")

    @classmethod
    def _made(cls, base: Path, encoded: dict[str, Any]) -> BinrefArray:
        array = cls.__new__(cls)
        array._base, array._encoded = base, encoded
        return array

    @classmethod
    def write(cls, array: Any, *, compression: Compression = None) -> BinrefArray:
        """Writes an array into a new file of the output path."""
        buffers = Buffers(output_folder(cls.settings), compression=compression)
        return cls._made(buffers.folder, buffers.add(np.asarray(array)))

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        shape: Sequence[int],
        dtype: str,
        *,
        offset: int = 0,
        compression: Compression = None,
        compressed_size: int | None = None,
    ) -> BinrefArray:
        """Stands for the bytes that begin at `offset` of a file: the elements in C order, native
        byte order.  `path` is relative to the output path.

        Raises ValueError for a path outside, a missing or too short file, an unknown dtype, or a
        compression without size.
        """
        base = output_folder(cls.settings)
        if dtype not in _dtypes.DTYPE_NAMES:
            raise ValueError(f"unknown dtype {dtype!r}; one of {', '.join(_dtypes.DTYPE_NAMES)}")
        if compression is not None and compressed_size is None:
            raise ValueError("a compressed array needs its compressed_size")
        lengths = [int(length) for length in shape]
        size = math.prod(lengths) * np.dtype(dtype).itemsize
        if compression is not None:
            size = int(compressed_size or 0)
        _check_file(base, path, offset + size)
        tail = [] if compression is None and not offset else [int(offset)]
        tail += [size] if compression is not None else []
        reference = ":".join([str(path), *map(str, tail)])
        return cls._made(base, encoded(lengths, dtype, reference, compression))

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        return tuple(self._encoded["shape"])

    @property
    def dtype(self) -> str:
        """The name of its dtype."""
        return str(self._encoded["dtype"])

    @property
    def buffer(self) -> str:
        """Where it is: `path[:offset[:compressed size]]`, relative to the output path."""
        return str(self._encoded["data"]["buffer"])

    def to_arraydict(self) -> dict[str, Any]:
        """The encoded array that stands for it."""
        return self._encoded

    def load(self, context: dict[str, Any] | None = None) -> np.ndarray[Any, Any]:
        """The array, from the output path of the component that made it or from
        `context["base_dir"]`.
        """
        from tesseract_host.runtime import _encoding

        return _encoding.read_encoded(self._encoded, {"base_dir": self._base, **(context or {})})

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.load()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"BinrefArray(buffer={self.buffer!r}, shape={self.shape}, dtype={self.dtype!r})"


class BinrefWriter:
    """Writes arrays behind each other into files of the output path.

    A file that has reached `max_file_size` bytes is followed by another one.  What is written can
    be read at once.
    """

    array_type: ClassVar[type[BinrefArray]] = BinrefArray

    def __init__(
        self, *, max_file_size: int = MAX_FILE_SIZE, compression: Compression = None
    ) -> None:
        folder = output_folder(self.array_type.settings)
        self._buffers = Buffers(folder, max_file_size, compression)

    def write(self, array: Any) -> BinrefArray:
        """Adds an array, and returns what stands for it."""
        encoded_array = self._buffers.add(np.asarray(array))
        return self.array_type._made(self._buffers.folder, encoded_array)


class Buffers:
    """Files of one folder that arrays are appended to."""

    def __init__(
        self,
        folder: Path,
        max_file_size: int = MAX_FILE_SIZE,
        compression: Compression = None,
        subfolder: str | None = None,
    ) -> None:
        self.folder = folder
        self._limit = max_file_size
        self._compression = compression
        self._subfolder = subfolder
        self._name = self._fresh()

    def _fresh(self) -> str:
        name = f"{uuid.uuid4()}.bin"
        return f"{self._subfolder}/{name}" if self._subfolder else name

    def add(self, array: np.ndarray[Any, Any]) -> dict[str, Any]:
        """Writes an array; returns its encoded form."""
        if array.dtype.name not in _dtypes.DTYPE_NAMES:
            raise ValueError(f"an array of dtype {array.dtype} can't be written")
        content = compressed(native_bytes(array), self._compression)
        path = self.folder / self._name
        if path.exists() and path.stat().st_size > self._limit:
            self._name = self._fresh()
            path = self.folder / self._name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            offset = file.tell()
            file.write(content)
        reference = f"{self._name}:{offset}"
        if self._compression is not None:
            reference += f":{len(content)}"
        return encoded(list(array.shape), array.dtype.name, reference, self._compression)


def encoded(
    shape: list[int], dtype: str, reference: str, compression: Compression
) -> dict[str, Any]:
    """An array in a file, as an encoded array."""
    data: dict[str, Any] = {"buffer": reference, "encoding": "binref"}
    if compression is not None:
        data["compression"] = compression
    return {"object_type": "array", "shape": shape, "dtype": dtype, "data": data}


def native_bytes(array: np.ndarray[Any, Any]) -> bytes:
    """The elements in C order, native byte order."""
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")).tobytes()


def compressed(raw: bytes, compression: Compression) -> bytes:
    """The bytes, compressed if that is wanted; ImportError without the package lz4."""
    if compression is None:
        return raw
    if compression != "lz4":
        raise ValueError(f"unknown compression {compression!r}; there is lz4")
    import lz4.frame

    content: bytes = lz4.frame.compress(raw)
    return content


def output_folder(settings: config.Settings) -> Path:
    """The absolute output path of a component."""
    return Path(settings.get_config().output_path).resolve()


def _check_file(base: Path, path: str | Path, wanted: int) -> None:
    text = str(path)
    if not text:
        raise ValueError("the path of the file is empty")
    if "://" in text or Path(text).is_absolute():
        raise ValueError(f"{text} must be relative to the output path {base}")
    file = (base / text).resolve()
    if not file.is_relative_to(base):
        raise ValueError(f"{text} is not inside the output path {base}")
    if not file.is_file():
        raise ValueError(f"{text} does not exist in the output path {base}")
    size = file.stat().st_size
    if size < wanted:
        raise ValueError(f"{file} has {size} bytes where the array ends at {wanted}")


def is_reference(value: Any) -> bool:
    """True for a BinrefArray, of whatever component."""
    return getattr(type(value), "__tesseract_binref__", False) is True
