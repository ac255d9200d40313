"""Values at the edge: the component gets what was given, or an error says what can't be."""

from __future__ import annotations

import collections
import datetime
import decimal
import subprocess
import sys
import textwrap
from typing import Any

import jax_support
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp

SEEN = """
class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]
    any: Any = None
    plain: dict = {}
    pair: Tuple[int, int] = (0, 0)
    listed: List[Array[(None,), Float64]] = []
    keyed: Dict[str, Array[(None,), Float64]] = {}
    numbered: Dict[int, Array[(None,), Float64]] = {}
    either: Dict[Union[int, str], float] = {}
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]
def text(value):
    # with its types; the order of keys is JAX's to choose
    if isinstance(value, dict):
        return str(sorted((repr(key), text(item)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return type(value).__name__ + str([text(item) for item in value])
    return type(value).__name__ + repr(value)
def apply(inputs):
    calls.append({name: text(value) for name, value in inputs})
    return {"y": inputs.x}
def abstract_eval(abstract_inputs):
    return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return {"x": cotangent_vector["y"]}
"""

Pair = collections.namedtuple("Pair", "p q")
A = np.arange(2.0)

STATIC = [
    {"any": (1, 2)},
    {"any": [1, (2, 3)]},
    {"any": {1: 2}},
    {"any": {"a": {2: 3}}},
    {"any": Pair(1, 2)},
    {"any": Pair(A, 2)},
    {"any": (A, 1)},
    {"any": {"": A}},
    {"any": {"a.b": A}},
    {"any": {"[0]": A}},
    {"any": {"0": A, "1": 2}},
    {"any": {1: A}},
    {"any": {"a\0b": A}},
    {"any": {"k": [A, 3]}},
    {"any": "\ud800"},
    {"any": "\U0001f600"},
    {"any": {"\ud800": 1}},
    {"any": 2**70},
    {"any": -0.0},
    {"any": [[], {}, None]},
    {"plain": {"k": (1, 2)}},
    {"plain": {1: 2}},
    {"pair": (3, 4)},
    {"pair": [3, 4]},
    {"listed": (A, 2 * A)},
    {"listed": [A] * 100},
    {"keyed": {"": A}},
    {"keyed": {"\ud800": A}},
    {"keyed": {"a.b": A, "{x}": A, "\\": A, "\n": A, "a\0b": A, "\xfc": A}},
    {"numbered": {1: A}},
    {"either": {1: 2.0}},
]


@pytest.mark.parametrize("given", STATIC, ids=range(len(STATIC)))
def test_the_component_sees_what_was_given(opened: Any, given: Any) -> None:
    component = opened(SEEN)
    x = jnp.ones(2)
    component.tesseract.apply({"x": np.ones(2), **given})
    jax.block_until_ready(jax.jit(lambda x: component({"x": x, **given})["y"])(x))
    expected, found = component.module.calls
    for field in given:
        assert found[field] == expected[field]
    gradient = jax.grad(lambda x: component({"x": x, **given})["y"].sum())(x)
    jax_support.same(gradient, jnp.ones(2))


@pytest.mark.parametrize("given", [{}, {"any": (1, 2)}], ids=["text", "no text"])
def test_inputs_that_a_module_keeps(opened: Any, given: Any) -> None:
    component = opened(
        """
        class InputSchema(BaseModel):
            x: Array[(None,), Float64]
            any: Any = None
        class OutputSchema(BaseModel):
            y: Array[(None,), Float64]
        def apply(inputs):
            calls.append((inputs.x, np.asarray(inputs.x)[1:]))
            return {"y": inputs.x}
        def abstract_eval(abstract_inputs):
            return {"y": {"shape": abstract_inputs.x.shape, "dtype": "float64"}}
        """
    )
    function = jax.jit(lambda x: component({"x": x + 1, **given})["y"])
    for start in range(4):
        jax.block_until_ready(function(jnp.arange(5000.0) + start))
        jax.block_until_ready(jax.jit(jnp.sin)(jnp.ones(5000)))
    for start, (whole, part) in enumerate(component.module.calls):
        np.testing.assert_array_equal(whole, np.arange(5000.0) + start + 1)
        np.testing.assert_array_equal(part, np.arange(4999.0) + start + 2)


@pytest.mark.parametrize(
    "values",
    [
        (0j, complex(0.0, -0.0), complex(-0.0, 0.0)),
        (decimal.Decimal("1.0"), decimal.Decimal("1.00")),
        (frozenset([1]), frozenset([True]), frozenset([1.0])),
        (np.datetime64(50, "Y"), np.datetime64(50, "D")),
        tuple(
            datetime.datetime(
                2026, 1, 1, 12 + n, tzinfo=datetime.timezone(datetime.timedelta(hours=n))
            )
            for n in range(2)
        ),
    ],
    ids=repr,
)
def test_equal_static_values_that_differ_in_form(opened: Any, values: Any) -> None:
    component = opened(
        """
        class InputSchema(BaseModel):
            x: Array[(None,), Float64]
            any: Any
        class OutputSchema(BaseModel):
            y: Array[(None,), Float64]
            seen: str
        def apply(inputs):
            return {"y": inputs.x, "seen": repr(inputs.any)}
        def abstract_eval(abstract_inputs):
            return {"y": abstract_inputs.x, "seen": repr(abstract_inputs.any)}
        """
    )
    assert [component({"x": A, "any": v})["seen"] for v in values] == [repr(v) for v in values]


RETURNS = """
class InputSchema(BaseModel):
    x: Array[(None,), Float64]
    how: str
class OutputSchema(BaseModel):
    y: Array[(None,), Float64]
    any: Any = None
    either: Union[Array[(None,), Float64], str, None] = None
    maybe: Optional[Array[(None,), Float64]] = None
    keyed: Dict[str, Any] = {}
def made(x, how):
    return {
        "array": {"any": x * 2},
        "nested": {"any": {"a": x * 2, "n": 1}},
        "list": {"any": [x * 2, 1]},
        "either": {"either": x * 2},
        "text": {"either": "s"},
        "maybe": {"maybe": x * 2, "any": 3},
        "absent": {"maybe": None, "any": 3},
        "keyed": {"keyed": {"a.b": x * 2, "": 3}},
        "half": {"any": "\\ud800"},
        "function": {"any": len},
        "nan": {"any": float("nan")},
    }[how]
def apply(inputs):
    return {"y": inputs.x, **made(np.asarray(inputs.x), inputs.how)}
def abstracted(value):
    if isinstance(value, np.ndarray):
        return {"shape": value.shape, "dtype": "float64"}
    if isinstance(value, dict):
        return {key: abstracted(item) for key, item in value.items()}
    return [abstracted(item) for item in value] if isinstance(value, list) else value
def abstract_eval(abstract_inputs):
    x = np.ones(abstract_inputs.x.shape)
    return abstracted({"y": x, **made(x, abstract_inputs.how)})
"""

HOWS = ("array", "nested", "list", "either", "text", "maybe", "absent", "keyed", "half")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("how", [*HOWS, "function", "nan"])
def test_outputs_where_the_schema_leaves_the_type_open(opened: Any, how: str) -> None:
    component = opened(RETURNS)
    found = component({"x": A, "how": how})
    jax.block_until_ready([leaf for leaf in jax.tree.leaves(found) if isinstance(leaf, jax.Array)])
    expected = {"any": None, "either": None, "maybe": None, "keyed": {}, "y": A}
    expected |= component.module.made(A, how)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        if isinstance(b, np.ndarray):
            np.testing.assert_array_equal(a, b)
        else:
            assert a is b or repr(a) == repr(b)


@pytest.mark.narrow
@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**40, 10**30])
def test_integers_that_jax_would_cut_off(opened: Any, value: int) -> None:
    component = opened(
        """
        class InputSchema(BaseModel):
            x: Float32
        class OutputSchema(BaseModel):
            y: Float32
        def apply(inputs):
            return {"y": inputs.x}
        def abstract_eval(abstract_inputs):
            return {"y": {"shape": (), "dtype": "float32"}}
        """
    )
    with pytest.raises(OverflowError, match="'x'"):
        component({"x": value})
    assert component({"x": 2**31 - 1})["y"] == np.float32(2**31 - 1)
    assert component({"x": float(value)})["y"] == np.float32(value)


def test_integers_of_more_than_64_bits(opened: Any) -> None:
    component = opened("two")
    with pytest.raises(OverflowError, match="'a'"):
        component({"x": A, "a": 10**30})
    assert component({"x": A, "a": 2**64 - 1})["y"].shape == (2,)


@pytest.mark.parametrize("method", ["expand_dims", "broadcast_all"])
@pytest.mark.parametrize("size", [0, 1, 3])
def test_no_room_for_a_mapped_axis(opened: Any, method: str, size: int) -> None:
    component = opened("two")
    f = lambda x: component({"x": x, "a": 1.0}, vmap_method=method)["y"]  # noqa: E731
    with pytest.raises(ValueError, match=f"{method}.*rank.*sequential"):
        jax.make_jaxpr(jax.vmap(f))(jnp.ones((size, 2)))


def test_options_of_other_types(opened: Any) -> None:
    component = opened("two")
    for value in ("yes", [], np.array([1, 2])):
        with pytest.raises(TypeError, match="materialize_jacobian"):
            component({"x": A, "a": 1.0}, materialize_jacobian=value)


@pytest.mark.parametrize("shape", ["(-1,)", "(2**62,)", "(2**70,)", "(2**40, 2**40)"])
def test_shapes_that_no_array_has(opened: Any, shape: str) -> None:
    component = opened(
        f"""
        class InputSchema(BaseModel):
            x: Array[(None,), Float64]
        class OutputSchema(BaseModel):
            y: Array[..., Float64]
        def apply(inputs):
            return {{"y": inputs.x}}
        def abstract_eval(abstract_inputs):
            return {{"y": {{"shape": {shape}, "dtype": "float64"}}}}
        """
    )
    with pytest.raises(ValueError, match=r"'y'.*abstract_eval"):
        jax.make_jaxpr(lambda x: component({"x": x})["y"])(A)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_real_numbers_for_a_complex_array(opened: Any, dtype: str) -> None:
    component = opened(
        """
        class InputSchema(BaseModel):
            x: Differentiable[Array[(None,), Complex128]]
        class OutputSchema(BaseModel):
            y: Differentiable[Array[(None,), Complex128]]
        def apply(inputs):
            return {"y": (3 + 1j) * np.asarray(inputs.x)}
        def abstract_eval(abstract_inputs):
            return {"y": {"shape": abstract_inputs.x.shape, "dtype": "complex128"}}
        def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
            return {"x": (3 + 1j) * np.asarray(cotangent_vector["y"])}
        """
    )
    x = jnp.arange(3).astype(dtype)

    def gradients(f: Any) -> Any:
        loss = lambda x: f(x).real.sum()  # noqa: E731
        return jax.grad(loss)(x), jax.vmap(jax.grad(loss))(x[None]), jax.jacrev(loss)(x)

    found = gradients(lambda x: component({"x": x})["y"])
    jax_support.same(found, gradients(lambda x: (3 + 1j) * x.astype(complex)))


CRASH = """
    import sys
    sys.path.insert(0, sys.argv[1])
    import jax_support, pathlib, jax, tesseract_host.jax
    if sys.argv[3] == "client":
        sys.modules["tesseract_host.jax._adapter"].missing = lambda: "switched off"
    source = '''
    class InputSchema(BaseModel):
        x: Array[(None,), Float32]
    class OutputSchema(BaseModel):
        y: Array[(None,), Float32]
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no text")
    HOW = [None]
    def apply(inputs):
        raise HOW[0]
    def abstract_eval(abstract_inputs):
        return {"y": abstract_inputs.x}
    '''
    lane = None if sys.argv[3] == "client" else sys.argv[3]
    component = jax_support.open_(source, pathlib.Path(sys.argv[2]), lane=lane)
    f = jax.jit(lambda x: component({"x": x})["y"])
    for error in (
        ValueError("half \\udc80 of a pair"), ValueError("nul \\0"), ValueError("h" * 10**7),
        component.module.Mute(), StopIteration(), SystemExit(2), GeneratorExit(),
        BaseException("base"),
    ):
        component.module.HOW[0] = error
        for call in range(2):
            try:
                f(jax.numpy.ones(2)).block_until_ready()
            except (jax.errors.JaxRuntimeError, ValueError) as told:
                assert type(error).__name__ in str(told), told
            else:
                raise AssertionError(error)
    print("alive")
"""


@pytest.mark.parametrize("lane", ["python", "carrier", "client"])
def test_no_exception_ends_the_process(lane: str, tmp_path: Any) -> None:
    """In a process of its own, since the fault that is looked for is a crash."""
    if lane != "client":
        jax_support.needs_adapter()
    script = textwrap.dedent(CRASH)
    command = [sys.executable, "-c", script, str(jax_support.MODULES.parent), str(tmp_path), lane]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "alive" in done.stdout, done.stderr[-3000:]
