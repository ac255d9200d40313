"""Sequences whose items are loaded and validated when they are asked for."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import TypeAdapter
from pydantic_core import core_schema


class LazySequence(Sequence[Any]):
    """`LazySequence[T]` is a field that takes a list or tuple, or "@" and a glob of JSON files.

    Items of a list are validated at once, files when an item is asked for.  Integer index, length
    and iteration; no slices.
    """

    def __init__(self, keys: Sequence[Any], getter: Callable[[Any], Any]) -> None:
        self.keys = keys
        self.getter = getter

    def __class_getitem__(cls, item: Any) -> Any:
        return Annotated[Sequence[item], LazyMarker]

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        raise NotImplementedError("LazySequence needs the type of its items: LazySequence[T]")

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, int):
            raise TypeError(f"a LazySequence takes integer indices, not {type(index).__name__}")
        return self.getter(self.keys[index])

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return f"LazySequence(keys={self.keys!r})"


class LazyMarker:
    """Marks an annotation made by `LazySequence[T]`."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        (item,) = get_args(source)
        items: TypeAdapter[Any] = TypeAdapter(item)
        sequence = handler(source)

        def loaded(value: Any) -> LazySequence:
            if not isinstance(value, str):
                return LazySequence(value, lambda given: given)
            return LazySequence(_matches(value[1:]), load)

        def load(name: str) -> Any:
            return items.validate_python(
                json.loads(_read(name)), context={"base_dir": _folder(name)}
            )

        def dumped(value: Any, info: Any) -> Any:
            mode = "json" if info.mode_is_json() else "python"
            return [items.dump_python(v, mode=mode, context=info.context) for v in value]

        either = core_schema.union_schema([sequence, core_schema.str_schema(pattern="^@")])
        return core_schema.no_info_after_validator_function(
            loaded,
            either,
            serialization=core_schema.plain_serializer_function_ser_schema(dumped, info_arg=True),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> Any:
        return handler(schema["schema"])


def _matches(pattern: str) -> list[str]:
    """The files that a pattern stands for, in order; a name without wildcards stands for itself."""
    if "://" in pattern:
        import fsspec  # an optional dependency of modules that read from elsewhere

        files, path = fsspec.core.url_to_fs(pattern)
        found = files.glob(path) if glob.has_magic(path) else [path]
        return sorted(files.unstrip_protocol(name) for name in found)
    path = os.path.abspath(pattern)
    return sorted(glob.glob(path)) if glob.has_magic(path) else [path]


def _read(name: str) -> bytes:
    if "://" not in name:
        return Path(name).read_bytes()
    import fsspec

    with fsspec.open(name, "rb") as file:
        content: bytes = file.read()
    return content


def _folder(name: str) -> str:
    return name.rpartition("/")[0] if "://" in name else str(Path(name).parent)
