"""Module contract §11: the functions a module imports."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

RUNTIMES = ["tesseract_host.runtime", "tesseract_core.runtime"]


@pytest.fixture(params=RUNTIMES)
def runtime(request: pytest.FixtureRequest) -> Any:
    pytest.importorskip(request.param, reason="tesseract-core[runtime] is not installed")
    return request.param


@pytest.fixture
def trees(runtime: str) -> Any:
    return importlib.import_module(f"{runtime}.tree_transforms")


@pytest.fixture
def experimental(runtime: str) -> Any:
    return importlib.import_module(f"{runtime}.experimental")


class Inner(BaseModel):
    v: int = 1


class Outer(BaseModel):
    inner: Inner = Inner()
    xs: list[int] = [1, 2]
    d: dict[str, int] = {"a.b": 3, "{": 4, "k": 5, "back\\slash": 6}


TREE = {"a": {"b": [10, {"c": 20}]}, "items": 1}


@pytest.mark.parametrize(
    ("tree", "path", "expected"),
    [
        (TREE, "", TREE),
        (TREE, "a.b.[0]", 10),
        (TREE, "a.b.[1].c", 20),
        (TREE, "a.b.[1].{c}", 20),
        (TREE, "items", 1),
        (Outer(), "inner.v", 1),
        (Outer(), "xs.[1]", 2),
        (Outer(), "d.{a.b}", 3),
        (Outer(), r"d.{\{}", 4),
        (Outer(), r"d.{back\\slash}", 6),
    ],
)
def test_get_at_path(trees: Any, tree: Any, path: str, expected: Any) -> None:
    assert trees.get_at_path(tree, path) == expected


@pytest.mark.parametrize(
    ("tree", "path", "error"),
    [
        (TREE, "a.b.[7]", IndexError),
        (TREE, "a.{x}", KeyError),
        (Outer(), "nothing", AttributeError),
        (Outer(), "inner.[x]", ValueError),
        (Outer(), "a b", ValueError),
        (Outer(), "xs.[-1]", ValueError),
        (Outer(), "inner..v", ValueError),
    ],
)
def test_get_at_path_errors(trees: Any, tree: Any, path: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        trees.get_at_path(tree, path)


def test_set_at_path_copies(trees: Any) -> None:
    changed = trees.set_at_path(TREE, {"a.b.[1].c": 21, "a.b.[0]": 11, "a.{new}": 5})
    assert changed["a"] == {"b": [11, {"c": 21}], "new": 5}
    assert TREE["a"] == {"b": [10, {"c": 20}]}
    model = trees.set_at_path(Outer(), {"inner.v": 9, "d.{k}": 8})
    assert (model.inner.v, model.d["k"]) == (9, 8)


def test_flatten_with_paths(trees: Any) -> None:
    flat = trees.flatten_with_paths(Outer(), ["inner.v", "xs.[0]"])
    assert flat == {"inner.v": 1, "xs.[0]": 1}


def test_filter_func(trees: Any) -> None:
    def function(tree: Any) -> Any:
        return {"y": {"sum": tree["a"] + tree["b"]["c"]}}

    defaults = {"a": 1, "b": {"c": 2}}
    assert trees.filter_func(function, defaults, {"y.sum"})({"b.c": 5}) == {"y.sum": 6}
    assert trees.filter_func(function, defaults)({}) == {"y": {"sum": 3}}
    flat = trees.filter_func(function, defaults, ["y.sum"], input_paths=["b.c", "a"])
    assert flat(10, 20) == {"y.sum": 30}
    with pytest.raises(ValueError):
        flat(1)
    with pytest.raises(TypeError):
        trees.filter_func(function, defaults)(3)


# ---- Derivatives -------------------------------------------------------------------------------


class Result(BaseModel):
    model_config = {"arbitrary_types_allowed": True}
    y: Any
    z: Any


def inputs_class(runtime: str) -> Any:
    types = importlib.import_module(f"{runtime}.schema_types")
    vector = types.Array[(None,), "float64"]

    class Inputs(BaseModel):
        x: vector  # type: ignore[valid-type]
        s: types.Float64

    return Inputs


def apply(inputs: Any) -> Result:
    x, s = inputs.x, inputs.s
    return Result(y=np.outer(x, [1.0, s]) * s, z=np.sum(x**2) * s)


def exact(inputs: Any) -> dict[str, dict[str, Any]]:
    x, s = np.asarray(inputs.x), float(inputs.s)
    dy_dx = np.einsum("ik,j->ijk", np.eye(len(x)), np.array([s, s * s]))
    return {
        "y": {"x": dy_dx, "s": np.outer(x, [1.0, 2 * s])},
        "z": {"x": 2 * x * s, "s": np.sum(x**2)},
    }


@pytest.fixture
def point(runtime: str) -> Any:
    return inputs_class(runtime)(x=[1.0, 2.0, -1.0], s=1.5)


INS, OUTS = {"x", "s"}, {"y", "z"}


@pytest.mark.parametrize(
    ("algorithm", "eps", "tolerance"),
    [
        ("central", 1e-4, 1e-6),
        ("forward", 1e-6, 1e-4),
        ("stochastic", 1e-4, 1e-6),
        ("central", {"x": 1e-4, "s": 1e-3}, 1e-6),
    ],
)
def test_finite_differences(
    experimental: Any, point: Any, algorithm: str, eps: Any, tolerance: float
) -> None:
    keywords = {"algorithm": algorithm, "eps": eps, "seed": 1}
    jacobian = experimental.finite_difference_jacobian(apply, point, INS, OUTS, **keywords)
    for out, row in exact(point).items():
        for path, block in row.items():
            assert jacobian[out][path].dtype == np.float64
            assert np.allclose(jacobian[out][path], block, atol=tolerance)


@pytest.mark.parametrize("eps", [{"x": 1e-4}, {"x": 1e-4, "s": 1e-4, "q": 1}])
def test_steps_must_name_exactly_the_inputs(experimental: Any, point: Any, eps: Any) -> None:
    with pytest.raises(ValueError, match="eps"):
        experimental.finite_difference_jacobian(apply, point, INS, OUTS, eps=eps)


def test_finite_difference_products(experimental: Any, point: Any) -> None:
    tangents = {"x": np.array([1.0, 0.5, 2.0]), "s": np.array(2.0)}
    cotangents = {"y": np.arange(6.0).reshape(3, 2), "z": np.array(3.0)}
    jac = exact(point)
    jvp = experimental.finite_difference_jvp(apply, point, INS, OUTS, tangents)
    assert np.allclose(jvp["z"], jac["z"]["x"] @ tangents["x"] + jac["z"]["s"] * 2, atol=1e-5)
    expected = np.tensordot(jac["y"]["x"], tangents["x"], 1) + jac["y"]["s"] * 2
    assert np.allclose(jvp["y"], expected, atol=1e-5)
    vjp = experimental.finite_difference_vjp(apply, point, INS, OUTS, cotangents)
    expected = np.tensordot(cotangents["y"], jac["y"]["x"], 2) + 3 * jac["z"]["x"]
    assert np.allclose(vjp["x"], expected, atol=1e-5)


def test_stochastic_estimate_is_unbiased(runtime: str) -> None:
    experimental = importlib.import_module(f"{runtime}.experimental")
    point = inputs_class(runtime)(x=np.linspace(-1, 1, 50), s=1.0)
    estimate = experimental.finite_difference_jacobian(
        apply, point, {"x"}, {"z"}, algorithm="stochastic", num_samples=40, seed=3
    )["z"]["x"]
    gradient = exact(point)["z"]["x"]
    assert estimate.shape == (50,)
    cosine = estimate @ gradient / np.linalg.norm(estimate) / np.linalg.norm(gradient)
    assert cosine > 0.5


def jacobian(inputs: Any, jac_inputs: Any, jac_outputs: Any) -> Any:
    blocks = exact(inputs)
    return {out: {path: blocks[out][path] for path in jac_inputs} for out in jac_outputs}


def test_products_from_a_jacobian(experimental: Any, point: Any) -> None:
    tangents = {"x": np.array([1.0, 0.5, 2.0]), "s": np.float64(2.0)}
    cotangents = {"y": np.arange(6.0).reshape(3, 2), "z": np.float64(3.0)}
    jac = exact(point)
    jvp = experimental.jvp_from_jacobian(jacobian, point, INS, OUTS, tangents)
    expected = np.tensordot(jac["y"]["x"], tangents["x"], 1) + jac["y"]["s"] * 2
    assert np.allclose(jvp["y"], expected)
    vjp = experimental.vjp_from_jacobian(jacobian, point, INS, OUTS, cotangents)
    assert np.allclose(vjp["s"], np.sum(cotangents["y"] * jac["y"]["s"]) + 3 * jac["z"]["s"])
    assert np.shape(vjp["x"]) == (3,)


def test_a_jacobian_from_products(experimental: Any, point: Any) -> None:
    def vjp(inputs: Any, vjp_inputs: Any, vjp_outputs: Any, cotangent_vector: Any) -> Any:
        return experimental.vjp_from_jacobian(
            jacobian, inputs, vjp_inputs, vjp_outputs, cotangent_vector
        )

    def jvp(inputs: Any, jvp_inputs: Any, jvp_outputs: Any, tangent_vector: Any) -> Any:
        return experimental.jvp_from_jacobian(
            jacobian, inputs, jvp_inputs, jvp_outputs, tangent_vector
        )

    for got in (
        experimental.jacobian_from_vjp(vjp, apply, point, INS, OUTS),
        experimental.jacobian_from_jvp(jvp, point, INS, OUTS),
    ):
        for out, row in exact(point).items():
            for path, block in row.items():
                assert np.allclose(got[out][path], block)
                assert np.shape(got[out][path]) == np.shape(block)


def test_jax_recipes(runtime: str) -> None:
    pytest.importorskip("jax", reason="jax is not installed")
    eqx = pytest.importorskip("equinox", reason="equinox is not installed")
    recipes = importlib.import_module(f"{runtime}.jax_recipes")
    types = importlib.import_module(f"{runtime}.schema_types")
    vector = types.Array[(None,), "float32"]

    class Inputs(BaseModel):
        x: vector  # type: ignore[valid-type]
        n: int = 2

    @eqx.filter_jit
    def function(tree: Any) -> Any:
        return {"y": tree["x"] ** tree["n"]}

    point = Inputs(x=[1.0, 2.0])
    assert np.allclose(recipes.jax_apply(function, point)["y"], [1, 4])
    jac = recipes.jax_jacobian(function, point, {"x"}, {"y"})
    assert np.allclose(jac["y"]["x"], np.diag([2, 4]))
    seeds = np.ones(2, "float32")
    jvp = recipes.jax_jvp(function, point, {"x"}, {"y"}, {"x": seeds})
    assert np.allclose(jvp["y"], [2, 4])
    vjp = recipes.jax_vjp(function, point, {"x"}, {"y"}, {"y": seeds})
    assert np.allclose(vjp["x"], [2, 4])

    class Abstract(BaseModel):
        x: types.ShapeDType
        n: int = 2

    shapes = recipes.jax_abstract_eval(
        function, Abstract(x=types.ShapeDType(shape=(7,), dtype="float32"))
    )
    assert tuple(shapes["y"]["shape"]) == (7,)


def test_importing_the_package_imports_neither_numpy_nor_pydantic() -> None:
    import subprocess
    import sys
    from pathlib import Path

    import tesseract_host

    code = (
        f"import sys; sys.path.insert(0, {str(Path(tesseract_host.__file__).parents[1])!r})\n"
        "import tesseract_host\n"
        "assert tesseract_host.__version__\n"
        "assert not {'numpy', 'pydantic'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)
