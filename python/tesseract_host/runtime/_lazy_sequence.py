"""Sequences whose items are loaded and validated when they are asked for."""

from __future__ import annotations

import glob
import json
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
            return LazySequence(sorted(glob.glob(value[1:])), load)

        def load(name: str) -> Any:
            content = json.loads(Path(name).read_bytes())
            return items.validate_python(content, context={"base_dir": str(Path(name).parent)})

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
