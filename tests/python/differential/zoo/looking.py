"""What a module sees of its arguments, as plain values that can be compared."""

import enum

import numpy as np
from pydantic import BaseModel


def look(value):
    """Kind, dtype, shape, layout and flags, and the values, of anything."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return (
            type(value).__name__,
            value.dtype.str,
            value.shape,
            [n > 1 and step for n, step in zip(value.shape, value.strides)] if value.size else None,
            flags.writeable,
            flags.c_contiguous,
            value.tolist(),
        )
    if isinstance(value, np.generic):
        return (type(value).__name__, repr(value.item()))
    if isinstance(value, BaseModel):
        names = [base.__name__ for base in type(value).__mro__[:-1]]
        fields = {name: look(getattr(value, name)) for name in type(value).model_fields}
        return (names, fields, sorted(value.model_fields_set), look(value.model_extra))
    if isinstance(value, dict):
        return (type(value).__name__, {key: look(item) for key, item in value.items()})
    if isinstance(value, set | frozenset):
        return (type(value).__name__, sorted(map(repr, value)))
    if isinstance(value, list | tuple):
        return (type(value).__name__, [look(item) for item in value])
    if isinstance(value, enum.Enum):
        return (type(value).__name__, value.name)
    return (type(value).__name__, repr(value))
