"""Path arguments as real sets, cotangents as a plain dict (in the wild, section 2)."""

from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float32, Float64


class InputSchema(BaseModel):
    a: Differentiable[Array[(None,), Float32]]
    b: Differentiable[Float64] = 1.0
    mode: str = "plain"


class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float32]]
    z: Differentiable[Float64]


def apply(inputs: InputSchema) -> OutputSchema:
    return OutputSchema(y=inputs.a * inputs.b, z=float(np.sum(inputs.a)))


CACHE: dict[Any, Any] = {}


def static(ins, outs):
    return CACHE.setdefault((tuple(sorted(ins)), tuple(sorted(outs))), len(CACHE))


def vector_jacobian_product(
    inputs: InputSchema,
    vjp_inputs: list[str],
    vjp_outputs: list[str],
    cotangent_vector: dict[str, Any],
):
    if inputs.mode == "only a" and not vjp_inputs <= {"a"}:
        raise NotImplementedError(f"no gradient for {sorted(vjp_inputs - {'a'})}")
    if inputs.mode == "nothing":
        return {}
    dy = cotangent_vector.get("y", np.zeros_like(inputs.a))
    dz = cotangent_vector.get("z", 0.0)
    gradients = {"a": dy * inputs.b + dz, "b": np.sum(dy * inputs.a)}
    if inputs.mode == "all":
        return gradients
    if inputs.mode == "compare":
        assert vjp_inputs == {"a"} and vjp_outputs & {"y", "z"} == {"y"}
    assert [*vjp_inputs] == [*vjp_inputs]
    assert hash(frozenset(vjp_inputs)) == hash(frozenset(list(vjp_inputs)))
    static(vjp_inputs, vjp_outputs)
    return {name: gradients[name] for name in vjp_inputs}


def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    assert set(tangent_vector) == jvp_inputs and type(tangent_vector) is dict
    da, db = tangent_vector.get("a", 0.0), tangent_vector.get("b", 0.0)
    tangents = {"y": da * inputs.b + inputs.a * db, "z": np.sum(da)}
    if inputs.mode == "pop":
        tangents.pop("z")
        jvp_outputs.discard("z")
        tangent_vector.clear()
    return {name: tangents[name] for name in jvp_outputs}


A = np.arange(1, 4, dtype="float32")


def vjp(ins, outs, mode="plain"):
    seeds = {"y": A * 2, "z": 3.0}
    return (
        "vjp",
        {
            "inputs": {"a": A, "b": 2.0, "mode": mode},
            "vjp_inputs": ins,
            "vjp_outputs": outs,
            "cotangent_vector": {name: seeds[name] for name in outs},
        },
    )


def jvp(ins, outs, mode="plain"):
    seeds = {"a": A * 2, "b": 3.0}
    return (
        "jvp",
        {
            "inputs": {"a": A, "b": 2.0, "mode": mode},
            "jvp_inputs": ins,
            "jvp_outputs": outs,
            "tangent_vector": {name: seeds[name] for name in ins},
        },
    )


CALLS = [
    vjp(["a"], ["y"]),
    vjp(["a", "b"], ["y"]),
    vjp(["b", "a"], ["z", "y"]),
    vjp(("b",), {"z"}),
    vjp(["a"], ["y"], "compare"),
    vjp(["b"], ["y"], "compare"),
    vjp(["b"], ["y"], "only a"),
    vjp(["b"], ["y"], "all"),
    vjp(["a"], ["y"], "nothing"),
    jvp(["a"], ["y"]),
    jvp(["b"], ["y"]),
    jvp(["b", "a"], ["z"]),
    jvp(["a"], ["y", "z"], "pop"),
    jvp(["a"], ["y"], "pop"),
]
DIFFERENT = {12}  # the caller has asked for "z"
