"""RootModel as input and output schema: the data at top level (contract 1.1, 4)."""

from typing import Any

import numpy as np
from pydantic import BaseModel, RootModel
from tesseract_core.runtime import Array, Differentiable, Float64

from looking import look


class Entry(BaseModel):
    v: Differentiable[Float64]


class InputSchema(RootModel[dict[str, Entry]]):
    pass


class OutputSchema(RootModel[list[Differentiable[Array[(None,), Float64]]]]):
    pass


SEEN: list[Any] = []


def apply(inputs):
    names = [base.__name__ for base in type(inputs).__mro__[:2]]
    SEEN.append((names, look(inputs.root)))
    values = [np.full(2, entry.v) for entry in inputs.root.values()]
    return values if len(values) == 1 else OutputSchema(values)


def jacobian(inputs, jac_inputs, jac_outputs):
    return {o: {i: np.ones(2) for i in jac_inputs} for o in jac_outputs}


def abstract_eval(inputs):
    return [{"shape": (2,), "dtype": "float64"} for _ in inputs.root]


CALLS = [
    ("apply", {"a": {"v": 1}}),
    ("apply", {"a": {"v": 1}, "b": {"v": 2}}),
    ("apply", {"a": {"w": 1}}),
    ("apply", {"a": 3}),
    ("apply", [1]),
    ("apply", {}),
    ("abstract_eval", {"a": {"v": {"shape": [], "dtype": "float64"}}}),
    (
        "jacobian",
        {"inputs": {"a": {"v": 1}}, "jac_inputs": ["{a}.v"], "jac_outputs": ["[0]"]},
    ),
    ("jacobian", {"inputs": {"a": {"v": 1}}, "jac_inputs": ["a.v"], "jac_outputs": ["[0]"]}),
    ("jacobian", {"inputs": {"a": {"v": 1}}, "jac_inputs": ["{b}.v"], "jac_outputs": ["[0]"]}),
]
