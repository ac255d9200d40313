"""Containers nest at will and keep their kind; keys may hold anything (contract 4)."""

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64, Int32

from looking import look


class InputSchema(BaseModel):
    lists: list[list[Array[(None,), Float64]]] = []
    tables: dict[str, list[Float64]] = {}
    keyed: dict[int, Array[(None,), Int32]] = {}
    pairs: list[tuple[str, Float64]] = []
    maybes: list[Optional[Float64]] = []
    sequences: Sequence[Sequence[Float64]] = []
    several: tuple[Float64, list[Int32], dict[str, Float64]] = None
    sets: list[set[int]] = []
    anys: list[Any] = []


class OutputSchema(InputSchema):
    seen: Any = None


def apply(inputs):
    given = {name: getattr(inputs, name) for name in inputs.model_fields_set}
    return {"seen": look(given), **given}


CALLS = [
    ("apply", {"lists": [[[1, 2], [3]], []]}),
    ("apply", {"lists": [[1]]}),
    ("apply", {"lists": np.ones((2, 2, 2))}),
    ("apply", {"lists": ((np.ones(2),),)}),
    ("apply", {"tables": {"a.b": [1], "{x}": [2, 3], "back\\slash": [], "": [1]}}),
    ("apply", {"tables": {"a": 1}}),
    ("apply", {"tables": {1: [1]}}),
    ("apply", {"keyed": {"1": [1], 2: [2]}}),
    ("apply", {"keyed": {"x": [1], 2: [2.5]}}),
    ("apply", {"pairs": [("a", 1), ["b", 2]]}),
    ("apply", {"pairs": [("a",), ["b", 2, 3], 4]}),
    ("apply", {"maybes": [None, 1, "x"]}),
    ("apply", {"maybes": [None, 1]}),
    ("apply", {"sequences": [(1, 2), [3]]}),
    ("apply", {"sequences": ((1, 2), "12")}),
    ("apply", {"several": [1, [2], {"a": 3}]}),
    ("apply", {"several": [1, [2.5], {"a": "x"}]}),
    ("apply", {"sets": [[1, 1], {2}]}),
    ("apply", {"anys": [1, np.arange(2), {"a": (1,)}]}),
    ("apply", {"lists": {}, "tables": [], "keyed": 1, "pairs": "x"}),
    ("apply", {"lists": [range(2)], "maybes": range(2)}),
]
