"""What opening and calling components raises, beside built-in types and pydantic's.

| raised | when |
|---|---|
| `pydantic.ValidationError` | the inputs, paths or vectors of a call don't fit; bad configuration |
| `InputError`, a ValueError | the same of a native component; `path` names the leaf |
| `EndpointError`, a RuntimeError | the module raised, or returned what it must not |
| `OpenError`, a RuntimeError | the module can't be executed, or its path is a folder |
| `FileNotFoundError`, `AttributeError` | there is no such module; it lacks a schema or `apply` |
| `RevokedArrayError`, a RuntimeError | a device array is used after the call it was given to |
| `NotImplementedError` | the component has no such endpoint |
"""

from __future__ import annotations

from tesseract_host._failures import InputError
from tesseract_host.loader.failures import EndpointError, OpenError
from tesseract_host.runtime.errors import Cancelled, OutOfDomain, RevokedArrayError

__all__ = [
    "Cancelled",
    "EndpointError",
    "InputError",
    "OpenError",
    "OutOfDomain",
    "RevokedArrayError",
]
