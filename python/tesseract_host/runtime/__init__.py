"""What a module imports as `tesseract_core.runtime` when this host runs it."""

from __future__ import annotations

from tesseract_host.runtime.errors import (
    Cancelled,
    OutOfDomain,
    check_cancelled,
    register_out_of_domain,
)
from tesseract_host.runtime.schema_types import (
    Array,
    Differentiable,
    Float16,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    ShapeDType,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
)

__all__ = [
    "Array",
    "Cancelled",
    "Differentiable",
    "Float16",
    "Float32",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "OutOfDomain",
    "ShapeDType",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "check_cancelled",
    "register_out_of_domain",
]
