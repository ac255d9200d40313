"""What modules of outside users do (in-the-wild §2), on both implementations where it holds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import support

QUADRATIC = """
class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]
    a: Differentiable[Float64] = 1.0
    b: Differentiable[Float64] = 0.0
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]
    total: Differentiable[Float64]
CALLS = []
def evaluate(x, a, b):
    y = a * x**2 + b
    return y, float(y.sum())
def apply(inputs: InputSchema) -> OutputSchema:
    y, total = evaluate(inputs.x, inputs.a, inputs.b)
    return OutputSchema(y=y, total=total)
def jacobian(inputs, jac_inputs: list[str], jac_outputs: list[str]):
    x, a = inputs.x, inputs.a
    full = {
        "y": {"x": np.diag(2 * a * x), "a": x**2, "b": np.ones_like(x)},
        "total": {"x": 2 * a * x, "a": (x**2).sum(), "b": float(len(x))},
    }
    return {o: {i: full[o][i] for i in jac_inputs} for o in jac_outputs}
def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    jac = jacobian(inputs, jvp_inputs, jvp_outputs)
    return {
        o: sum(np.dot(jac[o][i], tangent_vector[i]) for i in jvp_inputs) for o in jvp_outputs
    }
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    jac = jacobian(inputs, vjp_inputs, vjp_outputs)
    out = {}
    for i in vjp_inputs:
        out[i] = sum(np.dot(cotangent_vector.get(o, 0.0), jac[o][i]) for o in vjp_outputs)
    return out
def abstract_eval(abstract_inputs):
    return {"y": abstract_inputs.x, "total": ShapeDType(shape=(), dtype="float64")}
"""

X = np.array([1.0, 2.0, 3.0])


def test_quadratic(opened: Any) -> None:
    module = opened(QUADRATIC)
    inputs = {"x": X, "a": 2.0}
    result = module.call("apply", {"inputs": inputs})
    assert support.same(result, {"y": 2 * X**2, "total": np.float64(28)})
    jac = module.call("jacobian", {"inputs": inputs, "jac_inputs": ["x"], "jac_outputs": ["y"]})
    assert support.same(jac, {"y": {"x": np.diag(4 * X)}})
    payload = {"inputs": inputs, "vjp_inputs": ["x", "b"], "vjp_outputs": ["y", "total"]}
    vjp = module.call("vjp", {**payload, "cotangent_vector": {"y": np.ones(3), "total": 1.0}})
    assert {k: v.tolist() for k, v in vjp.items()} == {"x": (8 * X).tolist(), "b": 6.0}
    payload = {"inputs": inputs, "jvp_inputs": ["a"], "jvp_outputs": ["y"]}
    jvp = module.call("jvp", {**payload, "tangent_vector": {"a": 2}})
    assert support.same(jvp, {"y": 2 * X**2})
    shapes = module.call("abstract_eval", {"inputs": {"x": {"shape": (9,), "dtype": "float64"}}})
    assert shapes["y"] == {"shape": (9,), "dtype": "float64"}


def test_a_plan_gives_what_a_call_gives(component: Any) -> None:
    opened = component(QUADRATIC)
    plan = opened.prepare("apply", ("x", "a"), ("y", "total"), (), "")
    called = opened.call("apply", {"inputs": {"x": X, "a": 2.0}})
    planned, _ = plan.run((X, np.float64(2)), ())
    assert support.same(planned, [called["y"], called["total"]])


VECTORADD = """
class Vector(BaseModel):
    v: Differentiable[Array[(None,), Float32]]
    s: Differentiable[Float32] = 1.0
    @model_validator(mode="after")
    def not_empty(self):
        if len(self.v) == 0:
            raise ValueError("empty vector")
        return self
class InputSchema(BaseModel):
    a: Vector
    b: Vector
    norm_ord: int = 2
    scales: dict[str, Differentiable[Float32]] = {}
    more: list[Vector] = []
    @model_validator(mode="after")
    def same_length(self):
        if self.a.v.shape != self.b.v.shape:
            raise ValueError(f"shapes {self.a.v.shape} and {self.b.v.shape} differ")
        return self
class Result(BaseModel):
    result: Differentiable[Array[(None,), Float32]]
    norm: Float32
class OutputSchema(BaseModel):
    vector: Result
    parts: list[Differentiable[Array[(None,), Float32]]] = []
def apply(inputs):
    tree = inputs.model_dump()
    assert type(tree["norm_ord"]) is int and isinstance(tree["a"]["s"], np.float32)
    total = inputs.a.s * inputs.a.v + inputs.b.s * inputs.b.v
    for item in inputs.more:
        total = total + item.s * item.v
    for factor in inputs.scales.values():
        total = total * factor
    norm = np.linalg.norm(total, inputs.norm_ord)
    return OutputSchema(vector=Result(result=total, norm=norm), parts=[total, total * 2])
"""


def test_vectoradd(opened: Any) -> None:
    a, b = np.array([3, 0]), [0.0, 4.0]
    inputs = {"a": {"v": a}, "b": {"v": b, "s": 2}, "scales": {"k.1": 0.5}, "more": [{"v": [1, 1]}]}
    got = opened(VECTORADD).call("apply", {"inputs": inputs})
    total = np.array([2.0, 4.5], "float32")
    expected = {"result": total, "norm": np.float32(np.linalg.norm(total))}
    assert support.same(got, {"vector": expected, "parts": [total, total * 2]})


@pytest.mark.parametrize(
    ("a", "b", "text"), [([1.0], [1.0, 2.0], "differ"), ([], [], "empty vector")]
)
def test_validators_of_models(opened: Any, a: Any, b: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        opened(VECTORADD).call("apply", {"inputs": {"a": {"v": a}, "b": {"v": b}}})


def test_rank_zero_inputs_are_scalars(opened: Any) -> None:
    source = support.schema_source(
        "x: Float64; z: Float32 = np.float32(1)",
        body="return {'y': (isinstance(inputs.x, float), inputs.x.shape, inputs.x.ndim, "
        "inputs.x.item(), type(inputs.z).__name__)}",
    )
    got = opened(source).call("apply", {"inputs": {"x": np.array(2.0)}})["y"]
    assert got == (True, (), 0, 2.0, "float32")


def test_state_lives_between_calls(opened: Any) -> None:
    source = """
        import functools
        @functools.lru_cache(maxsize=4)
        def factorise(n): return object()
        SEEN = []
        class InputSchema(BaseModel):
            x: Array[(None,), "float64"]
        class OutputSchema(BaseModel):
            y: Any
        def apply(inputs):
            SEEN.append(inputs.x)
            return {"y": [factorise(1), [v.tolist() for v in SEEN]]}
    """
    module = opened(source)
    first = module.call("apply", {"inputs": {"x": [1, 2]}})["y"]
    second = module.call("apply", {"inputs": {"x": [3]}})["y"]
    assert first[0] is second[0]
    assert second[1] == [[1, 2], [3]]


def test_writing_into_an_input_is_numpys_error(opened: Any) -> None:
    source = support.schema_source(
        "x: Array[(None,), 'float64']", body="inputs.x[0] = 5; return {}"
    )
    x = np.ones(3)
    with pytest.raises(RuntimeError, match="read-only"):
        opened(source).call("apply", {"inputs": {"x": x}})
    assert x.tolist() == [1, 1, 1]


def test_endpoints_call_each_other_with_instances_of_the_schema(opened: Any) -> None:
    source = """
        class InputSchema(BaseModel):
            x: Differentiable[Float64]
            n: int = 1
        class OutputSchema(BaseModel):
            y: Differentiable[Float64]
        def apply(inputs):
            return OutputSchema(y=inputs.x * inputs.n)
        def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
            one = apply(InputSchema(**inputs.model_dump())).y
            two = apply(inputs.model_copy(update={"x": inputs.x + 1.0})).y
            assert jvp_inputs == {"x"} and jvp_inputs - {"x"} == set() and jvp_inputs <= {"x", "y"}
            return {"y": (two - one) * tangent_vector["x"]}
    """
    payload = {"inputs": {"x": 3, "n": 4}, "jvp_inputs": ["x"], "jvp_outputs": ["y"]}
    got = opened(source).call("jvp", {**payload, "tangent_vector": {"x": 2}})
    assert support.same(got, {"y": np.float64(8)})


def test_any_parameter_names_where_arguments_are_positional(opened: Any) -> None:
    source = """
        class InputSchema(BaseModel):
            x: Array[(None,), "float64"]
        class OutputSchema(BaseModel):
            y: Array[(None,), "float64"]
        def apply(everything): return {"y": everything.x}
        def abstract_eval(shapes): return {"y": {"shape": list(shapes.x.shape), "dtype": "float64"}}
    """
    shape = {"shape": (2,), "dtype": "float64"}
    got = opened(source).call("abstract_eval", {"inputs": {"x": shape}})
    assert got == {"y": shape}


def test_late_imports_fail_late(opened: Any) -> None:
    source = support.schema_source("x: int = 0", body="import not_there_at_all; return {}")
    with pytest.raises(RuntimeError, match="not_there_at_all"):
        opened(source).call("apply", {"inputs": {}})


@pytest.mark.parametrize("returned", ["{}", "{'x': 1.0, 'k': 2.0}"])
def test_missing_and_additional_gradients_are_refused(opened: Any, returned: str) -> None:
    source = support.schema_source(
        "x: Differentiable[Float64]; k: int = 0", "y: Differentiable[Float64]"
    )
    source += (
        "def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):\n"
        f"    return {returned}\n"
    )
    payload = {"inputs": {"x": 1}, "vjp_inputs": ["x"], "vjp_outputs": ["y"]}
    with pytest.raises(RuntimeError, match="Error running"):
        opened(source).call("vjp", {**payload, "cotangent_vector": {"y": 1}})


def test_callers_in_many_threads(component: Any) -> None:
    opened = component(QUADRATIC, threads="concurrent")
    plan = opened.prepare("apply", ("x", "a"), ("y",), (), "")

    def work(n: int) -> bool:
        (y,), _ = plan.run((X, np.float64(n)), ())
        return bool(np.array_equal(y, n * X**2))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(400)))


def test_a_component_that_calls_another(tmp_path: Path) -> None:
    inner = support.write(tmp_path / "inner", QUADRATIC)
    source = support.schema_source(
        "x: Array[(None,), Float64]",
        "y: Array[(None,), Float64]",
        "return {'y': INNER.call('apply', {'inputs': {'x': inputs.x}})['y'] + 1}",
    )
    source += f"from tesseract_host import loader\nINNER = loader.open({str(inner)!r})\n"
    outer = support.Ours().open(support.write(tmp_path / "outer", source))
    got = outer.call("apply", {"inputs": {"x": X}})
    assert support.same(got, {"y": X**2 + 1})
