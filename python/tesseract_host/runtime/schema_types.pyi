# For type checkers: the array types are Any to them, since none reads `Array[(None, 3), Float64]`
# as a type.  Names from `__getattr__` may be used as types with anything in the brackets.
from typing import Any

from pydantic import BaseModel

class ShapeDType(BaseModel):
    shape: tuple[int, ...]
    dtype: str

def is_differentiable(annotation: Any) -> bool: ...
def __getattr__(name: str) -> Any: ...
