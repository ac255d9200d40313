"""Paths, tangents, cotangents and results of the derivative endpoints (contract 7)."""

from typing import Any, Optional

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float32, Float64, Int32


class Part(BaseModel):
    p: Differentiable[Float64] = 1.0
    q: Float64 = 0.0


class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float32]] = np.array([1, 2], "float32")
    fixed: Differentiable[Array[(2,), "float64"]] = np.array([1.0, 2.0])
    count: Differentiable[Int32] = 2
    maybe: Optional[Differentiable[Float64]] = None
    any_rank: Differentiable[Array[..., "float64"]] = np.array([[1.0, 2.0]])
    part: Part = Part()
    parts: list[Part] = [Part()]
    table: dict[str, Differentiable[Float64]] = {"k": 1.0, "a.b": 2.0, "{": 3.0}
    pair: tuple[Differentiable[Float64], int] = (1.0, 2)
    plain: Array[(None,), Float32] = [1]
    result: Any = None


class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float32]] = [1.0]
    fixed: Differentiable[Array[(2,), "float64"]] = [1, 2]
    count: Differentiable[Int32] = 1
    any_rank: Differentiable[Array[..., "float64"]] = 1.0
    parts: list[Part] = []
    table: dict[str, Differentiable[Float32]] = {}
    plain: Float64 = 0.0


def apply(inputs):
    return {}


SHAPES = {"x": (2,), "fixed": (2,), "any_rank": (1, 2), "y": (2,)}


def shape(path):
    return SHAPES.get(path, ())


def jacobian(inputs, jac_inputs, jac_outputs):
    assert isinstance(jac_inputs, set) and isinstance(jac_outputs, set)
    if inputs.result is not None:
        return inputs.result
    return {o: {i: np.ones(shape(o) + shape(i)) for i in jac_inputs} for o in jac_outputs}


def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    if inputs.result == "seeds":
        return {o: tangent_vector["x"] for o in jvp_outputs}
    if inputs.result is not None:
        return inputs.result
    return {o: np.ones(shape(o)) for o in jvp_outputs}


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    vjp_inputs.add("y")
    vjp_inputs.discard("y")
    if inputs.result == "seeds":
        return {i: cotangent_vector.get("y", 1.0) for i in vjp_inputs}
    if inputs.result is not None:
        return inputs.result
    return {i: np.ones(shape(i)) for i in vjp_inputs}


PATHS = [
    "x", "fixed", "count", "maybe", "any_rank", "part.p", "part.q", "part", "parts.[0].p",
    "parts.[1].p", "parts.[00].p", "parts.[-1].p", "parts.[0]x", "parts[0].p", "parts.0.p",
    "parts.[].p", "parts", "table.{k}", "table.{a.b}", "table.{\\{}", "table.{{}", "table.{none}",
    "table.k", "table.{}", "table", "pair.[0]", "pair.[1]", "pair.[2]", "plain", "y", "", "x ",
    "X", "result", 3, None,
]  # fmt: skip


def jac(ins, outs, **inputs):
    return ("jacobian", {"inputs": inputs, "jac_inputs": ins, "jac_outputs": outs})


def jvp(ins, outs, seeds, **inputs):
    lists = {"jvp_inputs": ins, "jvp_outputs": outs}
    return ("jvp", {"inputs": inputs, **lists, "tangent_vector": seeds})


def vjp(ins, outs, seeds, **inputs):
    lists = {"vjp_inputs": ins, "vjp_outputs": outs}
    return ("vjp", {"inputs": inputs, **lists, "cotangent_vector": seeds})


CALLS = [jac([path], ["y"]) for path in PATHS]
CALLS += [jac(["x"], [path]) for path in PATHS]
CALLS += [jac(ins, ["y"]) for ins in ([], "x", ("x",), {"x"}, None, 3, {"x": 1}, ["x", "x"])]
CALLS += [jac(["x", "fixed"], ["y", "count"]), jac(["x"], ["y"], x="bad"), jac(["q"], ["r"])]
CALLS += [jvp([path], ["y"], {path: 1.0}) for path in PATHS if isinstance(path, str)]

SEEDS = [
    1.0, 1, [1, 2], [1.0, 2.0], [1], [1, 2, 3], [[1, 2]], np.ones(2), np.ones(2, "f4"), 1j, [1j, 2],
    "x", None, [1e300, 1], [np.nan, 0], True, np.float32(1), np.ones((1, 2)), [True, False],
    {"shape": [2], "dtype": "float64", "data": {"buffer": [1, 2], "encoding": "json"}},
]  # fmt: skip
CALLS += [jvp([p], ["y"], {p: s}) for p in ("x", "count", "maybe", "any_rank") for s in SEEDS]
CALLS += [vjp(["x"], [p], {p: s}) for p in ("y", "fixed", "count", "any_rank") for s in SEEDS]
CALLS += [jvp(["x"], ["y"], {"x": s}, result="seeds") for s in SEEDS]
CALLS += [vjp(["x"], ["y"], {"y": s}, result="seeds") for s in SEEDS]
CALLS += [
    jvp(["x"], ["y"], seeds) for seeds in ({}, {"fixed": 1}, {"x": [1, 2], "count": 1}, None, [1])
]
CALLS += [vjp(["x"], ["y"], seeds) for seeds in ({}, {"x": [1, 2]}, {"y": [1], "z": 1}, None, [1])]
CALLS += [jvp(["x"], ["y"], {"x": [1, 2, 3]}, x=[1, 2, 3]), jvp(["x"], ["y"], {"x": 1}, x="bad")]
CALLS += [vjp(["parts.[0].p"], ["parts.[3].p", "table.{a}"], {"parts.[3].p": 1, "table.{a}": 2})]

RESULTS = [
    {}, None, [], "x", {"x": [1, 2]}, {"y": [1, 2]}, {"fixed": [1, 2]}, {"x": 1, "y": 2},
    {"y": None}, {"y": [1j, 2]}, {"y": [[1, 2]]}, {"y": [1e300, 2]}, {"y": "x"}, {"y": [1, 2, 3]},
    {"y": [1]}, {"y": 1}, {"x": [1]}, {"x": 1}, {"x": [1j]}, {"x": np.ones(2, int)}, {1: 2},
    {"y": {"x": 1}}, {"y": {"x": np.ones((2, 2))}}, {"y": {"x": np.ones((2, 2), "i1")}},
    {"y": {"x": np.ones((2, 2), complex)}}, {"y": {"x": [[1, 2], [3, 4]]}}, {"y": {}},
    {"y": {"x": None}}, {"y": {"x": np.ones((2, 2, 1))}}, {"y": {"x": np.ones(2)}},
    {"y": {"x": np.ones((2, 2)), "fixed": 1}}, {"y": [np.ones((2, 2))]},
    {"y": {"x": [["a"]]}}, {"y": {"x": np.array([[1, 2]], object)}},
]  # fmt: skip
for RESULT in RESULTS:
    CALLS += [jac(["x"], ["y"], result=RESULT)]
    CALLS += [jvp(["x"], ["y"], {"x": [1, 2]}, result=RESULT)]
    CALLS += [vjp(["x"], ["y"], {"y": [1, 2]}, result=RESULT)]
BLOCKS = [np.ones((2, 2)), np.ones((2, 1)), np.ones((1, 1)), np.ones((3, 2)), np.ones(2), 1.0,
          np.ones((2, 2, 2)), np.ones((1, 2, 2)), np.ones((2, 1, 2))]  # fmt: skip
PAIRS = [
    ("fixed", "fixed"),
    ("fixed", "y"),
    ("any_rank", "fixed"),
    ("fixed", "any_rank"),
    ("any_rank", "any_rank"),
    ("count", "fixed"),
]
for INPUT, OUTPUT in PAIRS:
    CALLS += [jac([INPUT], [OUTPUT], result={OUTPUT: {INPUT: block}}) for block in BLOCKS]
GRADIENTS = [1, 1.5, [1, 2], [1], np.ones(2, "i4"), np.float32(1), [1.5, 2.5], None]
for PATH in ("fixed", "count", "maybe", "any_rank"):
    CALLS += [vjp([PATH], ["y"], {"y": [1]}, result={PATH: value}) for value in GRADIENTS]
for PATH in ("fixed", "count", "any_rank"):
    CALLS += [jvp(["x"], [PATH], {"x": [1, 2]}, result={PATH: value}) for value in GRADIENTS]
