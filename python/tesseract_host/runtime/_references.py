"""Fields that hold another Tesseract."""

from __future__ import annotations

from typing import Any

from pydantic_core import core_schema

KINDS = ("api_path", "image", "url")


class TesseractReference:
    """A field that takes `{"type": "api_path" | "image" | "url", "ref": ...}` and behaves as that
    Tesseract: a module that is opened in this process, a container, or a server.

    Containers and servers need tesseract-core, whose client they are called by.
    """

    def __init__(self, tesseract: Any) -> None:
        self._tesseract = tesseract
        self._reference: dict[str, str] | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_tesseract", "_reference"):
            raise AttributeError(name)  # copying and pickling ask before there is a Tesseract
        return getattr(self._tesseract, name)

    @classmethod
    def _opened(cls, value: Any) -> TesseractReference:
        if isinstance(value, TesseractReference):
            return value
        if not isinstance(value, dict) or not {"type", "ref"} <= set(value):
            raise ValueError("a reference to a Tesseract is a dict with 'type' and 'ref'")
        kind, ref = value["type"], value["ref"]
        if kind not in KINDS:
            raise ValueError(f"unknown type of reference {kind!r}; one of {', '.join(KINDS)}")
        reference = cls(_open(kind, ref))
        reference._reference = {"type": kind, "ref": ref}
        return reference

    @staticmethod
    def _dumped(reference: TesseractReference) -> dict[str, str]:
        if reference._reference is None:
            raise ValueError("a TesseractReference that was not made from a dict can't be dumped")
        return dict(reference._reference)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._opened,
            serialization=core_schema.plain_serializer_function_ser_schema(cls._dumped),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, _handler: Any) -> dict[str, Any]:
        return {
            "type": "object",
            "title": "TesseractReference",
            "x-tesseract-type": "TesseractReference",
            "properties": {
                "type": {
                    "type": "string",
                    "enum": list(KINDS),
                    "description": "What the reference is",
                },
                "ref": {
                    "type": "string",
                    "description": "Path of the module, name of the image, or address",
                },
            },
            "required": ["type", "ref"],
            "additionalProperties": False,
        }


def _open(kind: str, ref: Any) -> Any:
    if kind == "api_path":
        return _client().from_tesseract_api(ref)
    try:
        from tesseract_core import Tesseract
    except ImportError as error:
        raise ImportError(
            f"a reference of type {kind!r} needs tesseract-core, which can't be imported: {error}"
        ) from error
    if kind == "url":
        return Tesseract.from_url(ref)
    tesseract = Tesseract.from_image(ref)
    tesseract.serve()
    return tesseract


def _client() -> Any:
    import tesseract_host

    return tesseract_host.Tesseract  # type: ignore[attr-defined]
