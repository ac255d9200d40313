"""Inputs: what is an operand, what is static, what is refused before any work."""

from __future__ import annotations

from typing import Any

import jax_support
import numpy as np
import pytest
from pydantic import ValidationError

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp

KEYS = ["plain", "with.dot", "with {braces}", "with space", "back\\slash", "0"]


def nested(keys: Any = ("a", "b")) -> dict[str, Any]:
    return {
        "layers": [
            {"w": jnp.arange(3.0), "scale": 2.0},
            {"w": jnp.arange(2.0) + 1, "kind": "squared"},
        ],
        "params": {key: jnp.arange(2.0) + n for n, key in enumerate(keys)},
        "extra": jnp.ones(4),
        "label": "hello",
    }


def model(inputs: Any) -> Any:
    parts = [inputs["layers"][0]["w"] * 2.0, inputs["layers"][1]["w"] ** 2]
    total = sum(part.sum() for part in parts)
    total += sum(2 * value.sum() for value in inputs["params"].values())
    total += 3 * inputs["extra"].sum()
    return total, parts, {key: 5 * value for key, value in inputs["params"].items()}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("compiled", [False, True])
def test_nested_inputs_and_outputs(opened: Any, compiled: bool) -> None:
    component = opened("nested")
    inputs = nested(KEYS)
    arrays, others = _split(inputs)
    assert component(inputs)["inner"]["label"] == "hello"

    def value(function: Any) -> Any:
        def of(arrays: Any) -> Any:
            return function(_joined(arrays, others))

        return jax.jit(of) if compiled else of

    def found(inputs: Any) -> Any:
        out = component(inputs)
        return out["inner"]["total"], out["parts"], out["by_key"]

    jax_support.same(value(found)(arrays), value(model)(arrays))

    def loss(function: Any) -> Any:
        def of(arrays: Any) -> Any:
            total, parts, by_key = function(_joined(arrays, others))
            return total * parts[1].sum() + sum(v.sum() for v in by_key.values())

        return jax.grad(jax.jit(of) if compiled else of)

    jax_support.same(loss(found)(arrays), loss(model)(arrays))


def _split(inputs: Any) -> tuple[Any, Any]:
    leaves, tree = jax.tree.flatten(inputs)
    arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array)]
    return arrays, (leaves, tree)


def _joined(arrays: Any, others: Any) -> Any:
    leaves, tree = others
    rest = iter(arrays)
    return jax.tree.unflatten(
        tree, [next(rest) if isinstance(leaf, jax.Array) else leaf for leaf in leaves]
    )


def test_paths_of_derivatives(opened: Any) -> None:
    component = opened("nested")
    inputs = nested(["a.b", "{c}"])
    f = lambda params: component({**inputs, "params": params})["by_key"]["a.b"].sum()  # noqa: E731
    made = component.calls(lambda: jax.jit(jax.grad(f))(inputs["params"]))
    assert made == [("vjp", ["params.{\\{c\\}}", "params.{a.b}"], ["by_key.{a.b}"])]


def test_none_is_structure(opened: Any) -> None:
    component = opened("nested")
    inputs = {**nested(), "extra": None}
    with_it = component(nested())["inner"]["total"]
    without = component(inputs)
    assert float(with_it - without["inner"]["total"]) == 12.0
    assert without["nothing"] is None
    del inputs["extra"]
    assert component(inputs)["inner"]["total"] == without["inner"]["total"]


def test_empty_containers(opened: Any) -> None:
    component = opened("nested")
    out = component({"layers": [], "params": {}, "extra": jnp.ones(1)})
    assert (float(out["inner"]["total"]), out["parts"], out["by_key"]) == (3.0, [], {})


def test_static_values_compile_anew(opened: Any) -> None:
    component = opened("nested")
    inputs = nested()

    def traced(w: Any, *, scale: float) -> Any:
        layer = {"w": w, "scale": scale}
        return component({**inputs, "layers": [layer], "counts": {"n": 2}})["inner"]["total"]

    function = jax.jit(traced, static_argnames="scale")
    w = jnp.ones(2)
    assert float(function(w, scale=3.0) - function(w, scale=1.0)) == 4.0
    for value in (0.0, -0.0, 1.0, True, 1):
        function(w, scale=value)


def test_static_values_are_told_apart(opened: Any) -> None:
    """Equal by ==, and yet not the same to a module."""
    component = opened(
        """
        class InputSchema(BaseModel):
            x: Array[(None,), Float64]
            v: Any
        class OutputSchema(BaseModel):
            text: str
            y: Array[(None,), Float64]
        def apply(inputs):
            return {"text": repr(inputs.v), "y": inputs.x}
        def abstract_eval(abstract_inputs):
            return {"text": repr(abstract_inputs.v), "y": abstract_inputs.x}
        """
    )
    x = jnp.ones(1)
    values = [1, 1.0, True, 0.0, -0.0, False, "1", float("inf")]
    assert [component({"x": x, "v": value})["text"] for value in values] == list(map(repr, values))
    jax_support.same(jax.jit(lambda x: component({"x": x, "v": float("nan")})["y"])(x), x)


def test_objects_as_static_values(opened: Any) -> None:
    """Values that JSON doesn't hold as they are reach the module untouched."""
    component = opened(
        """
        import enum
        class Colour(enum.Enum):
            RED = 1
        class InputSchema(BaseModel):
            x: Array[(None,), Float64]
            colour: Colour
            data: bytes = b""
        class OutputSchema(BaseModel):
            y: Array[(None,), Float64]
        def apply(inputs):
            assert inputs.colour is Colour.RED
            return {"y": inputs.x + len(inputs.data)}
        def abstract_eval(abstract_inputs):
            return {"y": abstract_inputs.x}
        """
    )
    colour = component.module.Colour.RED
    f = jax.jit(lambda x: component({"x": x, "colour": colour, "data": b"\xff\x00"})["y"])
    jax_support.same(f(jnp.ones(1)), jnp.full(1, 3.0))


SCALARS = """
class Inner(BaseModel):
    v: Float64
class InputSchema(BaseModel):
    x: Differentiable[Float64]
    many: list[Array[(None,), Float64]] = []
    inner: Inner = Inner(v=0.0)
    maybe: Optional[Array[(None,), Float64]] = None
    n: int = 0
class OutputSchema(BaseModel):
    y: Differentiable[Float64]
def apply(inputs):
    calls.append(type(inputs.x))
    return {"y": 2 * inputs.x + inputs.n}
def abstract_eval(abstract_inputs):
    return {"y": {"shape": (), "dtype": "float64"}}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return {"x": 2 * cotangent_vector["y"]}
"""


class _Array:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(3.0)


@pytest.mark.parametrize(
    "value", [3.0, 3, np.float32(3.0), np.int64(3), jnp.float64(3.0), np.asarray(3.0), _Array()]
)
def test_numbers_for_array_fields_become_arrays(opened: Any, value: Any) -> None:
    component = opened(SCALARS)
    jax_support.same(component({"x": value})["y"], jnp.float64(6.0))
    jax_support.same(jax.jit(lambda x: component({"x": x})["y"])(jnp.float64(3)), jnp.float64(6.0))


def test_numbers_do_not_compile_anew(opened: Any) -> None:
    component = opened(SCALARS)
    component({"x": 1.0})
    before = len(component.module.calls)
    for value in (2.0, 3.0, 4.0):
        component({"x": value})
    assert len(component.module.calls) == before + 3
    from tesseract_host.jax._spec import handle_of

    assert len(handle_of(component.tesseract._client).specs) == 1


@pytest.mark.parametrize("value", [[1.0], (1.0,), "1.0", [], {"a": 1.0}, b"1", object()])
def test_lists_and_texts_for_array_fields_are_refused(opened: Any, value: Any) -> None:
    component = opened(SCALARS)
    with pytest.raises(TypeError, match="'x'"):
        component({"x": value})
    with pytest.raises(TypeError, match=r"'many\.\[1\]'"):
        component({"x": 1.0, "many": [jnp.ones(2), value]})
    with pytest.raises(TypeError, match=r"'inner\.v'"):
        component({"x": 1.0, "inner": {"v": value}})


def test_lists_where_the_schema_may_have_something_else_are_left_to_it(opened: Any) -> None:
    component = opened(SCALARS)
    with pytest.raises(ValidationError):
        component({"x": 1.0, "maybe": [1.0, 2.0]})


def test_an_array_where_the_schema_has_none(opened: Any) -> None:
    component = opened(SCALARS)
    with pytest.raises(TypeError, match=r"'n' is no array.*traced value.*static_argnames.*schema"):
        jax.jit(lambda n: component({"x": 1.0, "n": n}))(3)
    with pytest.raises(TypeError, match="'n' is no array"):
        component({"x": 1.0, "n": jnp.ones(())})


@pytest.mark.parametrize(
    "inputs",
    [
        {},
        {"y": jnp.ones(3)},
        {"x": jnp.ones(3), "unknown": 1},
        {"x": jnp.ones((3, 3))},
        {"x": jnp.ones(3, jnp.complex64)},
        {"x": None},
        [jnp.ones(3)],
        None,
    ],
)
def test_inputs_that_do_not_fit_are_refused_when_tracing(opened: Any, inputs: Any) -> None:
    """By abstract_eval, whose errors come as they are."""
    noop = opened("noop")
    with pytest.raises(ValidationError):
        noop(inputs)
    if isinstance(inputs, dict) and all(isinstance(v, jax.Array) for v in inputs.values()):
        with pytest.raises(ValidationError):
            jax.jit(noop)(inputs)


def test_the_first_argument_must_be_a_tesseract(lane: str) -> None:
    from tesseract_host.jax import apply_tesseract, register

    with pytest.raises(TypeError, match="must be a Tesseract object"):
        apply_tesseract("tesseract_api.py", {})
    with pytest.raises(TypeError, match="must be a Tesseract object"):
        register(None)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", "bool", "float16", "float32"])
def test_other_dtypes_are_the_component_s_to_convert(opened: Any, dtype: str) -> None:
    noop = opened("noop")
    x = jnp.asarray([0, 1, 1], dtype)
    jax_support.same(jax.jit(lambda x: noop({"x": x})["y"])(x), x.astype(jnp.float64))


def test_weak_types_make_no_difference(opened: Any) -> None:
    component = opened(SCALARS)
    out = jax.jit(lambda x: component({"x": x})["y"])(2.0)
    assert out.dtype == jnp.float64 and not out.weak_type
    gradient = jax.grad(lambda x: component({"x": x})["y"])(2.0)
    assert float(gradient) == 2.0


@pytest.mark.parametrize("length", [0, 1, 5])
def test_arrays_of_any_length(opened: Any, length: int) -> None:
    noop = opened("noop")
    x = jnp.arange(float(length))
    jax_support.same(jax.jit(lambda x: noop({"x": x})["y"])(x), x)
    jax_support.same(jax.grad(lambda x: noop({"x": x})["y"].sum())(x), jnp.ones(length))


def test_an_empty_array_beside_a_full_one(opened: Any) -> None:
    two = opened("two")
    out = jax.jit(lambda x: two({"x": x, "a": 2.0}))(jnp.zeros(0))
    assert out["y"].shape == (0,) and float(out["z"]) == 0.5


def test_inputs_are_not_changed(opened: Any) -> None:
    component = opened(SCALARS)
    inputs = {"x": 1.0, "inner": {"v": 2.0}}
    component(inputs)
    assert inputs == {"x": 1.0, "inner": {"v": 2.0}} and type(inputs["x"]) is float


def test_numpy_arrays(opened: Any) -> None:
    noop = opened("noop")
    strided = np.arange(10.0)[::2]
    jax_support.same(noop({"x": strided})["y"], jnp.asarray(strided))
    jax_support.same(noop({"x": np.asfortranarray(strided)})["y"], jnp.asarray(strided))


def test_numpy_arrays_of_other_byte_order_and_of_no_numbers(opened: Any) -> None:
    noop = opened("noop")
    swapped = np.arange(3.0).astype(">f8")
    jax_support.same(noop({"x": swapped})["y"], jnp.arange(3.0))
    for array in (np.array(["a"]), np.array([object()])):
        with pytest.raises(TypeError):
            noop({"x": array})


NARROW = """
class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float32]]
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float32]]
def apply(inputs):
    return {"y": inputs.x}
def abstract_eval(abstract_inputs):
    return {"y": abstract_inputs.x}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return {"x": cotangent_vector["y"]}
"""


@pytest.mark.narrow
def test_wide_numpy_arrays_where_types_are_narrow(opened: Any) -> None:
    component = opened(NARROW)
    x = np.arange(3.0)
    f = lambda x: component({"x": x})["y"]  # noqa: E731
    for function in (f, jax.jit(f)):
        np.testing.assert_array_equal(function(x), x)
    np.testing.assert_array_equal(jax.grad(lambda x: f(x).sum())(x), np.ones(3))


@pytest.mark.narrow
def test_wide_outputs_need_wide_types(opened: Any) -> None:
    noop = opened("noop")
    with pytest.raises(ValueError, match=r"'y' is float64.*jax_enable_x64"):
        noop({"x": jnp.ones(3)})
    with pytest.raises(ValueError, match="jax_enable_x64"):
        jax.jit(noop)({"x": jnp.ones(3)})


@pytest.mark.narrow
def test_numbers_are_narrow_where_types_are(opened: Any) -> None:
    component = opened(
        """
        class InputSchema(BaseModel):
            x: Array[(), Float64]
        class OutputSchema(BaseModel):
            y: Array[(), Float32]
        def apply(inputs):
            return {"y": np.float32(inputs.x == np.float32(0.1))}
        def abstract_eval(abstract_inputs):
            return {"y": {"shape": (), "dtype": "float32"}}
        """
    )
    assert float(component({"x": 0.1})["y"]) == 1.0
