"""Path fields relative to the default folders: the working directory (contract 4)."""

import pathlib
from typing import Annotated, Any, Optional

from pydantic import AfterValidator, BaseModel
from tesseract_core.runtime.experimental import InputPath, OutputPath, require_file

from looking import look


def is_absolute(path):
    if not path.is_absolute():
        raise ValueError("relative")
    return path


class InputSchema(BaseModel):
    file: InputPath = None
    checked: Annotated[InputPath, AfterValidator(is_absolute)] = None
    several: list[InputPath] = []
    maybe: Optional[InputPath] = None
    result: Any = None
    required: str = ""


class OutputSchema(BaseModel):
    seen: Any = None
    path: Optional[OutputPath] = None


def apply(inputs):
    if inputs.required:
        return {"seen": require_file(inputs.required).name}
    given = {name: getattr(inputs, name) for name in inputs.model_fields_set}
    given.pop("result", None)
    paths = [path for path in given.values() if isinstance(path, pathlib.Path)]
    seen = (look(given), [path.is_absolute() for path in paths])
    return {"seen": seen, "path": inputs.result}


PATHS = [
    ".", "..", "nowhere", "/etc/passwd", "/nowhere", pathlib.Path("."), pathlib.Path(".."), 3, None,
    "", "a/../..", b".",
]  # fmt: skip
CALLS = [
    ("apply", {name: path})
    for name in ("file", "checked", "maybe", "result", "required")
    for path in PATHS
]
CALLS += [("apply", {"several": [".", ".."]}), ("apply", {"several": ["."]})]
