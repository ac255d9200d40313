"""Module contract §7: paths, tangents, cotangents and results of derivative endpoints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import support

SCHEMAS = """
class P(BaseModel):
    w: Differentiable[Array[(2,), "float32"]]
    c: Float32 = 0.0
class InputSchema(BaseModel):
    a: Differentiable[Array[(None,), "float64"]]
    s: Differentiable[Float32] = 2.0
    i: Differentiable[Int32] = 1
    o: Optional[Differentiable[Float64]] = None
    plain: Float64 = 0.0
    code: str = "{}"
    p: P = P(w=[1, 2])
    ps: list[P] = []
    d: dict[str, Differentiable[Float64]] = {}
    t: tuple[Differentiable[Float64], int] = (1.0, 2)
    g: Differentiable[Array[(2, 3), "float32"]] = np.zeros((2, 3), "float32")
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), "float64"]]
    f: Differentiable[Array[(3,), "float32"]]
    z: Differentiable[Float32]
    e: Differentiable[Array[..., "float64"]]
    ys: list[Differentiable[Float64]] = []
    plain: Float64 = 0.0
def apply(inputs): return {}
"""

# The expression to return comes as an input, so that one module serves all.
FUNCTIONS = """
def fail(told):
    raise KeyError(told)
def jacobian(inputs, jac_inputs, jac_outputs):
    return eval(inputs.code, {**globals(), **locals()})
def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    return eval(inputs.code, {**globals(), **locals()})
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return eval(inputs.code, {**globals(), **locals()})
"""

A = np.array([1.0, 2.0, 3.0])

# What the module sees comes back in the text of an exception.
TELL = "fail({})"


class Returning:
    """The module, returning the value of an expression."""

    def __init__(self, module: Any, expression: str) -> None:
        self._module = module
        self._expression = expression

    def call(self, endpoint: str, payload: dict[str, Any]) -> Any:
        inputs = {**payload["inputs"], "code": self._expression}
        return self._module.call(endpoint, {**payload, "inputs": inputs})


def make(opened: Any, expression: str) -> Returning:
    return Returning(opened(SCHEMAS + FUNCTIONS), expression)


def request(endpoint: str, ins: Any, outs: Any, inputs: Any = None, seeds: Any = None) -> Any:
    short = {"jacobian": "jac"}.get(endpoint, endpoint)
    payload = {
        "inputs": {"a": A, **(inputs or {})},
        f"{short}_inputs": ins,
        f"{short}_outputs": outs,
    }
    if endpoint == "jvp":
        payload["tangent_vector"] = seeds if seeds is not None else dict.fromkeys(ins, 1)
    if endpoint == "vjp":
        payload["cotangent_vector"] = seeds if seeds is not None else dict.fromkeys(outs, 1)
    return payload


# ---- Arguments ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [list, tuple, set])
@pytest.mark.parametrize("endpoint", ["jacobian", "jvp", "vjp"])
def test_paths_arrive_as_sets(opened: Any, endpoint: str, kind: Any) -> None:
    short = {"jacobian": "jac"}.get(endpoint, endpoint)
    told = f"[type({short}_inputs), type({short}_outputs), {short}_inputs == {{'s', 'i'}}]"
    module = make(opened, TELL.format(told))
    with pytest.raises(RuntimeError) as caught:
        module.call(endpoint, request(endpoint, kind(["s", "i", "s"]), kind(["z"])))
    assert "[<class 'set'>, <class 'set'>, True]" in str(caught.value)


@pytest.mark.parametrize(
    ("endpoint", "name"), [("jacobian", "Jacobian"), ("jvp", "Jvp"), ("vjp", "Vjp")]
)
def test_the_inputs_class(opened: Any, endpoint: str, name: str) -> None:
    module = make(opened, TELL.format("type(inputs).__name__ + type(inputs.p).__name__"))
    with pytest.raises(RuntimeError, match=f"{name}_InputSchema"):
        module.call(endpoint, request(endpoint, ["s"], ["z"]))


def test_fixed_parameter_names(opened: Any) -> None:
    source = SCHEMAS + "def jacobian(x, ins, outs): return {}\n"
    with pytest.raises(RuntimeError, match="TypeError"):
        opened(source).call("jacobian", request("jacobian", ["s"], ["z"]))


# ---- Paths -------------------------------------------------------------------------------------

GOOD_PATHS = [
    ("a", {}),
    ("p.w", {"p": {"w": [1, 2]}}),
    ("o", {}),
    ("ps.[1].w", {"ps": [{"w": [1, 2]}, {"w": [1, 2]}]}),
    ("d.{k}", {"d": {"k": 1}}),
    ("d.{a b.c/d}", {"d": {"a b.c/d": 1}}),
    (r"d.{x\{\}\\y}", {"d": {"x{}\\y": 1}}),
    ("t.[0]", {}),
    ("t.[1]", {}),
    ("i", {}),
]


@pytest.mark.parametrize(("path", "inputs"), GOOD_PATHS)
def test_input_paths(opened: Any, path: str, inputs: Any) -> None:
    module = make(opened, TELL.format("[ord(c) for path in vjp_inputs for c in path]"))
    with pytest.raises(RuntimeError) as caught:
        module.call("vjp", request("vjp", [path], ["z"], inputs))
    assert repr([ord(c) for c in path]) in str(caught.value)


BAD_PATHS = [
    ["q"],
    ["plain"],
    ["p"],
    ["p.c"],
    ["ps"],
    ["ps.[0]"],
    ["ps.[0].c"],
    ["ps.[-1].w"],
    ["ps[0].w"],
    ["ps.[0]x.w"],
    ["ps.[5].w"],
    ["d.k"],
    ["d.{missing}"],
    ["d"],
    ["a", "q"],
    [""],
    [],
    "a",
    [3],
    None,
]


@pytest.mark.parametrize("paths", BAD_PATHS)
def test_bad_input_paths(opened: Any, paths: Any) -> None:
    module = make(opened, "{}")
    payload = request("jacobian", paths, ["z"], {"ps": [{"w": [1, 2]}], "d": {"k": 1}})
    with pytest.raises(ValueError) as caught:
        module.call("jacobian", payload)
    assert {location[0] for _, location in support.error_types(caught.value)} == {"jac_inputs"}
    assert caught.value.title == "JacobianInputSchema"  # type: ignore[attr-defined]


@pytest.mark.parametrize("paths", [["q"], ["plain"], ["ys"], ["ys.[0"], [], "z"])
def test_bad_output_paths(opened: Any, paths: Any) -> None:
    with pytest.raises(ValueError) as caught:
        make(opened, "{}").call("jacobian", request("jacobian", ["a"], paths))
    assert {location[0] for _, location in support.error_types(caught.value)} == {"jac_outputs"}


def test_output_paths_need_not_exist(opened: Any) -> None:
    result = make(opened, "{'ys.[7]': 2}").call("jvp", request("jvp", ["s"], ["ys.[7]"]))
    assert support.same(result, {"ys.[7]": np.float64(2)})


# ---- Seeds -------------------------------------------------------------------------------------

TANGENTS = [
    ("a", A, {}, "array([1., 2., 3.])"),
    ("a", [1, 2, 3], {}, "array([1., 2., 3.])"),
    ("a", [5.0], {}, "array([5., 5., 5.])"),
    ("s", 1.5, {}, "np.float32(1.5)"),
    ("i", 2, {}, "np.int32(2)"),
    ("o", 2, {}, "np.float64(2.0)"),
    ("p.w", np.ones(2), {"p": {"w": [1, 2]}}, "array([1., 1.], dtype=float32)"),
    ("p.w", np.ones(2), {}, "array([1., 1.], dtype=float32)"),
]


@pytest.mark.parametrize(("path", "seed", "inputs", "text"), TANGENTS)
def test_tangents(opened: Any, path: str, seed: Any, inputs: Any, text: str) -> None:
    module = make(opened, TELL.format("(type(tangent_vector), list(tangent_vector.items()))"))
    with pytest.raises(RuntimeError) as caught:
        module.call("jvp", request("jvp", [path], ["z"], inputs, {path: seed}))
    assert "<class 'dict'>" in str(caught.value)
    value = eval(text, {"np": np, "array": np.array, "float32": np.float32})
    assert repr(value) in str(caught.value)


BAD_TANGENTS = [
    ("a", np.ones(2)),
    ("a", 1.0),
    ("s", [1.0]),
    ("i", 1.5),
    ("s", 1j),
    ("s", 1e40),
    ("o", [1.0]),
    ("s", None),
    ("s", "1"),
]


@pytest.mark.parametrize(("path", "seed"), BAD_TANGENTS)
def test_bad_tangents(opened: Any, path: str, seed: Any) -> None:
    with pytest.raises(ValueError) as caught:
        make(opened, "{}").call("jvp", request("jvp", [path], ["z"], None, {path: seed}))
    assert support.error_types(caught.value)[0][1][0] == "tangent_vector"


@pytest.mark.parametrize("seeds", [{}, {"a": A}, {"s": 1, "a": A, "i": 1}, 3, None])
@pytest.mark.parametrize("endpoint", ["jvp", "vjp"])
def test_seeds_must_have_the_keys_that_are_named(opened: Any, endpoint: str, seeds: Any) -> None:
    payload = request(endpoint, ["a", "s"], ["y", "z"], None, {})
    name = "tangent_vector" if endpoint == "jvp" else "cotangent_vector"
    payload[name] = seeds
    with pytest.raises(ValueError) as caught:
        make(opened, "{}").call(endpoint, payload)
    assert {location[0] for _, location in support.error_types(caught.value)} == {name}


COTANGENTS = [
    ("y", np.ones(7), np.ones(7)),  # free axes are not compared with the actual output
    ("y", [1, 2], np.array([1.0, 2.0])),
    ("f", [1.0], np.ones(3, "float32")),
    ("z", 2, np.float32(2)),
    ("e", np.ones((1, 2)), np.ones((1, 2))),
    ("ys.[3]", 2, np.float64(2)),
]


@pytest.mark.parametrize(("path", "seed", "expected"), COTANGENTS)
def test_cotangents(opened: Any, path: str, seed: Any, expected: Any) -> None:
    module = make(opened, TELL.format("cotangent_vector"))
    with pytest.raises(RuntimeError) as caught:
        module.call("vjp", request("vjp", ["a"], [path], None, {path: seed}))
    assert repr({path: expected}) in str(caught.value)


@pytest.mark.parametrize(
    ("path", "seed"), [("y", 1.0), ("f", np.ones(2)), ("z", [1.0]), ("z", 1j), ("z", None)]
)
def test_bad_cotangents(opened: Any, path: str, seed: Any) -> None:
    with pytest.raises(ValueError) as caught:
        make(opened, "{}").call("vjp", request("vjp", ["a"], [path], None, {path: seed}))
    assert support.error_types(caught.value)[0][1][0] == "cotangent_vector"


# ---- Results -----------------------------------------------------------------------------------

RESULTS = [
    # endpoint, in, out, returned, expected
    ("jvp", "s", "z", "{'z': 2}", {"z": np.float32(2)}),
    ("jvp", "s", "f", "{'f': [1]}", {"f": np.ones(3, "float32")}),
    ("jvp", "s", "y", "{'y': [1, 2]}", {"y": np.array([1.0, 2.0])}),
    ("jvp", "s", "e", "{'e': np.ones((2, 2), 'float32')}", {"e": np.ones((2, 2))}),
    ("vjp", "s", "z", "{'s': np.float64(2)}", {"s": np.float32(2)}),
    ("vjp", "a", "z", "{'a': np.ones(9)}", {"a": np.ones(9)}),
    ("vjp", "i", "z", "{'i': 3}", {"i": np.int32(3)}),
    ("jacobian", "s", "z", "{'z': {'s': 2}}", {"z": {"s": np.int64(2)}}),
    (
        "jacobian",
        "g",
        "f",
        "{'f': {'g': np.ones((1, 2, 3), 'float16')}}",
        {"f": {"g": np.ones((3, 2, 3), "float16")}},
    ),
    ("jacobian", "a", "y", "{'y': {'a': np.ones((9, 4))}}", {"y": {"a": np.ones((9, 4))}}),
    ("jacobian", "g", "e", "{'e': {'g': np.ones((5, 2, 3))}}", {"e": {"g": np.ones((5, 2, 3))}}),
    ("jacobian", "g", "e", "{'e': {'g': np.ones((2, 3))}}", {"e": {"g": np.ones((2, 3))}}),
]


@pytest.mark.parametrize(("endpoint", "path", "out", "returned", "expected"), RESULTS)
def test_results(
    opened: Any, endpoint: str, path: str, out: str, returned: str, expected: Any
) -> None:
    seeds = {"y": A, "f": [1.0], "z": 1.0, "e": 1.0} if endpoint == "vjp" else None
    given = {out: seeds[out]} if seeds else None
    got = make(opened, returned).call(endpoint, request(endpoint, [path], [out], None, given))
    assert support.same(got, expected)


BAD_RESULTS = [
    ("jvp", "s", "z", "None"),
    ("jvp", "s", "z", "{}"),
    ("jvp", "s", "z", "{'z': 1, 'f': [1]}"),
    ("jvp", "s", "z", "{'z': None}"),
    ("jvp", "s", "z", "{'z': [1.0]}"),
    ("jvp", "s", "z", "{'z': 1j}"),
    ("jvp", "s", "f", "{'f': np.ones(2)}"),
    ("jvp", "s", "z", "[1.0]"),
    ("vjp", "s", "z", "{}"),
    ("vjp", "i", "z", "{'i': 1.5}"),
    ("vjp", "a", "z", "{'a': 1.0}"),
    ("vjp", "a", "z", "{'a': A, 's': 1.0}"),
    ("vjp", "g", "z", "{'g': np.ones((3, 2))}"),
    ("jacobian", "s", "z", "None"),
    ("jacobian", "s", "z", "{'z': {}}"),
    ("jacobian", "s", "z", "{'z': {'s': None}}"),
    ("jacobian", "s", "z", "{'z': {'s': 1, 'a': 1}}"),
    ("jacobian", "s", "z", "{'z': 1.0}"),
    ("jacobian", "s", "f", "{'f': {'s': 1.0}}"),
    ("jacobian", "g", "f", "{'f': {'g': np.ones((2, 3))}}"),
    ("jacobian", "g", "e", "{'e': {'g': np.ones((3, 2))}}"),
    ("jacobian", "g", "e", "{'e': {'g': np.ones(3)}}"),
]


@pytest.mark.parametrize(("endpoint", "path", "out", "returned"), BAD_RESULTS)
def test_bad_results(opened: Any, endpoint: str, path: str, out: str, returned: str) -> None:
    seeds = {out: [1.0] if out == "f" else 1.0} if endpoint == "vjp" else None
    with pytest.raises(RuntimeError, match="Error running Tesseract API"):
        make(opened, returned).call(endpoint, request(endpoint, [path], [out], None, seeds))


def test_any_rank_on_both_sides_is_not_checked(opened: Any) -> None:
    source = support.schema_source(
        "a: Differentiable[Array[..., 'float64']]", "y: Differentiable[Array[..., 'float64']]"
    )
    source += "def jacobian(inputs, jac_inputs, jac_outputs): return {'y': {'a': np.ones(3)}}\n"
    payload = {"inputs": {"a": 1.0}, "jac_inputs": ["a"], "jac_outputs": ["y"]}
    assert support.same(opened(source).call("jacobian", payload), {"y": {"a": np.ones(3)}})


def test_any_rank_of_the_input(opened: Any) -> None:
    source = support.schema_source(
        "a: Differentiable[Array[..., 'float64']]", "y: Differentiable[Array[(2,), 'float64']]"
    )
    source += (
        "def jacobian(inputs, jac_inputs, jac_outputs):\n"
        "    return {'y': {'a': np.ones(inputs.a.shape)}}\n"
    )
    module = opened(source)
    payload = {"inputs": {"a": np.ones((2, 3))}, "jac_inputs": ["a"], "jac_outputs": ["y"]}
    assert module.call("jacobian", payload)["y"]["a"].shape == (2, 3)
    payload["inputs"] = {"a": np.ones((3, 3))}
    with pytest.raises(RuntimeError):
        module.call("jacobian", payload)
