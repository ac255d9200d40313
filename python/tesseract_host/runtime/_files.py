"""Files of a component: fields that hold paths, and files that a module requires."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from pydantic_core import core_schema

from tesseract_host.runtime import config


class _FolderPath(Path):
    settings: ClassVar[config.Settings] = config.process

    @classmethod
    def _located(cls, value: Any, info: Any) -> Path:
        raise NotImplementedError

    @classmethod
    def _text(cls, path: Path) -> str:
        return str(path)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        text = core_schema.str_schema()
        either = core_schema.union_schema([core_schema.is_instance_schema(Path), text])
        return core_schema.json_or_python_schema(
            json_schema=core_schema.with_info_after_validator_function(cls._located, text),
            python_schema=core_schema.with_info_after_validator_function(cls._located, either),
            serialization=core_schema.plain_serializer_function_ser_schema(cls._text),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(schema), "format": "path"}


class InputPath(_FolderPath):
    """A field for an existing file or folder inside the input path; arrives as absolute Path."""

    @classmethod
    def _located(cls, value: Any, info: Any) -> Path:
        return input_file(cls.settings, value, _skips_checks(info))


class OutputPath(_FolderPath):
    """A field for an existing file or folder inside the output path; absolute in the module, the
    caller gets it as text relative to the output path.
    """

    @classmethod
    def _located(cls, value: Any, info: Any) -> Path:
        root = Path(cls.settings.get_config().output_path).resolve()
        path = (root / value).resolve()
        if not path.is_relative_to(root):
            raise ValueError(f"{value} is not inside the output path {root}")
        if not _skips_checks(info) and not path.exists():
            raise ValueError(f"{value} does not exist in the output path {root}")
        return path

    @classmethod
    def _text(cls, path: Path) -> str:
        root = Path(cls.settings.get_config().output_path).resolve()
        return str(path.relative_to(root) if path.is_relative_to(root) else path)


def _skips_checks(info: Any) -> bool:
    context = info.context if info is not None else None
    return bool(context and context.get("skip_path_checks"))


def input_file(settings: config.Settings, value: Any, skip: bool = False) -> Path:
    """The absolute path of `value` inside the input path; ValueError if it isn't there."""
    root = Path(settings.get_config().input_path).resolve()
    path = (root / value).resolve()
    if not path.is_relative_to(root):
        raise ValueError(f"{value} is not inside the input path {root}")
    if not skip and not path.exists():
        raise ValueError(f"{value} does not exist in the input path {root}")
    return path


def require_file(settings: config.Settings, relative: Any) -> Path:
    """The absolute path of an existing file in the input path."""
    path = input_file(settings, relative)
    if not path.is_file():
        raise FileNotFoundError(f"{relative} in the input path is no file: {path}")
    return path
