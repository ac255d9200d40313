"""`Tesseract.test`: the same specifications pass and fail as with tesseract-core."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import support
from pydantic import ValidationError

MODULE = """
class MyError(Exception):
    pass
class Sub(BaseModel):
    v: Array[(None,), "float64"]
    n: int
class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), "float64"]]
    fail: str = ""
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), "float64"]]
    n: int = 3
    f: float = 0.5
    s: str = "text"
    sub: Optional[Sub] = None
    subs: list[Sub] = []
    d: dict[str, Float32] = {}
def apply(inputs):
    if inputs.fail == "mine":
        raise MyError("my text")
    if inputs.fail == "result":
        return {}
    if inputs.fail == "nan":
        return {"y": [np.nan]}
    if inputs.fail == "deep":
        sub = {"v": [1.0], "n": 1}
        return {"y": inputs.x, "sub": sub, "subs": [sub, sub], "d": {"k": 1.0}}
    return {"y": 2 * inputs.x}
def jacobian(inputs, jac_inputs, jac_outputs):
    return {o: {i: 2 * np.eye(len(inputs.x)) for i in jac_inputs} for o in jac_outputs}
def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    return {} if inputs.fail else {o: 2 * tangent_vector["x"] for o in jvp_outputs}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return {i: 2 * cotangent_vector["y"] for i in vjp_inputs}
def abstract_eval(abstract_inputs):
    return {"y": abstract_inputs.x}
"""


def encoded(values: Any, dtype: str = "float64") -> dict[str, Any]:
    array = np.asarray(values, dtype)
    data = {"buffer": array.tolist(), "encoding": "json"}
    return {"shape": list(array.shape), "dtype": dtype, "data": data}


def apply(fail: str = "", **more: Any) -> dict[str, Any]:
    return {"endpoint": "apply", "payload": {"inputs": {"x": [1.0, 2.0], "fail": fail}}, **more}


def outputs(y: Any, **more: Any) -> dict[str, Any]:
    return apply(expected_outputs={"y": y}, **more)


BAD = {"endpoint": "apply", "payload": {"inputs": {"x": 1.0}}}
POINT = {"inputs": {"x": [1.0, 2.0]}}
JACOBIAN = {"endpoint": "jacobian", "payload": {**POINT, "jac_inputs": ["x"], "jac_outputs": ["y"]}}
JVP = {
    "endpoint": "jacobian_vector_product",
    "payload": {
        **POINT,
        "jvp_inputs": ["x"],
        "jvp_outputs": ["y"],
        "tangent_vector": {"x": [1, 0]},
    },
}
VJP = {
    "endpoint": "vector_jacobian_product",
    "payload": {
        **POINT,
        "vjp_inputs": ["x"],
        "vjp_outputs": ["y"],
        "cotangent_vector": {"y": [1, 0]},
    },
}
ABSTRACT = {
    "endpoint": "abstract_eval",
    "payload": {"inputs": {"x": {"shape": [2], "dtype": "float64"}}},
}
REST = {"n": 3, "f": 0.5, "s": "text"}
DEEP = {"v": encoded([1.0]), "n": 1}
DEEP_OUTPUTS = {
    "y": [1.0, 2.0],
    "sub": DEEP,
    "subs": [DEEP, DEEP],
    "d": {"k": encoded(1, "float32")},
}
FAILED_JVP = {**JVP, "payload": {**JVP["payload"], "inputs": {"x": [1.0], "fail": "x"}}}
FAILED_JVP["payload"]["tangent_vector"] = {"x": [1.0]}

PASS, FAIL, ERROR, MALFORMED = None, AssertionError, RuntimeError, ValidationError

CASES: list[tuple[Any, Any]] = [
    (outputs(encoded([2, 4])), PASS),
    (outputs([2.0, 4.0]), PASS),
    (outputs(np.array([2.0, 4.0])), PASS),
    (outputs([2, 4]), FAIL),  # int64
    (outputs(encoded([2, 4], "float32")), FAIL),
    (outputs(encoded([2, 5])), FAIL),
    (outputs(encoded([2])), FAIL),
    (outputs(encoded([[2, 4]])), FAIL),
    (outputs(encoded([2, 4.1]), atol=0.2), PASS),
    (outputs(encoded([2, 4.1]), rtol=0.2), PASS),
    (outputs(encoded([2, 4.1]), rtol=0.002), FAIL),
    (outputs(encoded([2, 4 + 1e-9])), PASS),
    (apply(expected_outputs={}), FAIL),
    (apply(expected_outputs={"y": [2.0, 4.0], "unknown": 1}), FAIL),
    (apply(expected_outputs={"y": [2.0, 4.0], **REST}), PASS),
    (apply(expected_outputs={"y": [2.0, 4.0], **REST, "n": 4}), FAIL),
    (apply(expected_outputs={"y": [2.0, 4.0], **REST, "f": 0.5 + 1e-9}), PASS),
    (apply(expected_outputs={"y": [2.0, 4.0], **REST, "f": 0.6}), FAIL),
    (apply(expected_outputs={"y": [2.0, 4.0], **REST, "s": "other"}), FAIL),
    (apply(expected_outputs={"y": [2.0, 4.0], "sub": DEEP}), FAIL),
    (apply("deep", expected_outputs=DEEP_OUTPUTS), PASS),
    (apply("deep", expected_outputs={**DEEP_OUTPUTS, "subs": [DEEP]}), FAIL),
    (apply("deep", expected_outputs={**DEEP_OUTPUTS, "d": {}}), FAIL),
    (apply("deep", expected_outputs={**DEEP_OUTPUTS, "subs": [DEEP, {**DEEP, "n": 2}]}), FAIL),
    (apply("nan", expected_outputs={"y": encoded([np.nan])}), PASS),
    (apply("nan", expected_outputs={"y": encoded([1.0])}), FAIL),
    (apply("mine", expected_outputs={"y": [2.0, 4.0]}), ERROR),
    (apply("result", expected_outputs={"y": [2.0, 4.0]}), ERROR),
    (apply("mine", expected_exception="tesseract_api.MyError"), PASS),
    (apply("mine", expected_exception="Exception"), PASS),
    (apply("mine", expected_exception="ValueError"), FAIL),
    (apply("mine", expected_exception="RuntimeError"), FAIL),
    (apply("mine", expected_exception="Exception", expected_exception_regex="my t"), PASS),
    (apply("mine", expected_exception="Exception", expected_exception_regex="^text"), FAIL),
    (apply("result", expected_exception="pydantic.ValidationError"), PASS),
    (apply("result", expected_exception="ValueError"), PASS),
    (apply(expected_exception="ValueError"), FAIL),
    ({**BAD, "expected_exception": "pydantic.ValidationError"}, PASS),
    ({**BAD, "expected_exception": "pydantic_core.ValidationError"}, PASS),
    ({**BAD, "expected_exception": "ValueError"}, PASS),
    ({**BAD, "expected_exception": ValueError}, PASS),
    ({**BAD, "expected_exception": "TypeError"}, FAIL),
    ({**BAD, "expected_exception": TypeError}, FAIL),
    ({**BAD, "expected_outputs": {"y": [2.0]}}, FAIL),
    ({"endpoint": "apply", "payload": {}, "expected_exception": "ValueError"}, PASS),
    ({**JACOBIAN, "expected_outputs": {"y": {"x": [[2.0, 0.0], [0.0, 2.0]]}}}, PASS),
    ({**JACOBIAN, "expected_outputs": {"y": {"x": [[2.0, 0.0], [0.0, 3.0]]}}}, FAIL),
    ({**JACOBIAN, "expected_outputs": {"y": {}}}, FAIL),
    ({**JVP, "expected_outputs": {"y": [2.0, 0.0]}}, PASS),
    ({**JVP, "expected_outputs": {"y": [2, 0]}}, FAIL),
    ({**JVP, "expected_outputs": {"x": [2.0, 0.0]}}, FAIL),
    ({**VJP, "expected_outputs": {"x": [2.0, 0.0]}}, PASS),
    ({**VJP, "expected_outputs": {"x": [2.0, 1.0]}}, FAIL),
    ({**FAILED_JVP, "expected_exception": "pydantic.ValidationError"}, PASS),
    ({**FAILED_JVP, "expected_outputs": {"y": [2.0]}}, ERROR),
    ({**ABSTRACT, "expected_outputs": {"y": {"shape": (2,), "dtype": "float64"}}}, PASS),
    ({**ABSTRACT, "expected_outputs": {"y": {"shape": [3], "dtype": "float64"}}}, FAIL),
    ({**ABSTRACT, "expected_outputs": {"y": {"shape": [2], "dtype": "float32"}}}, FAIL),
    ({"endpoint": "unknown", "payload": {}, "expected_outputs": {}}, FAIL),
    (apply(expected_outputs={"y": [2.0, 4.0]}, cli_config={"user": "u"}), PASS),
    (apply(expected_outputs={"y": [2.0, 4.0]}, unknown=1), PASS),
    (apply(), MALFORMED),
    (apply(expected_exception_regex="x"), MALFORMED),
    (apply(expected_outputs={}, expected_exception="ValueError"), MALFORMED),
    (apply(expected_exception="Nonsense"), MALFORMED),
    (apply(expected_exception="no.such.Thing"), MALFORMED),
    (apply(expected_exception=5), MALFORMED),
    ({"payload": {}}, MALFORMED),
    ({"endpoint": "apply"}, MALFORMED),
    ({"endpoint": "apply", "payload": 5, "expected_outputs": {}}, MALFORMED),
    (5, MALFORMED),
]


@pytest.fixture(scope="module", params=["tesseract_host", "tesseract_core"])
def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    if request.param == "tesseract_core":
        pytest.importorskip("tesseract_core.runtime")
    path = support.write(tmp_path_factory.mktemp("component"), MODULE)
    before, environment = list(sys.path), dict(os.environ)  # which tesseract-core changes
    yield importlib.import_module(request.param).Tesseract.from_tesseract_api(path)
    sys.modules.pop("tesseract_api", None)
    sys.path[:] = before
    os.environ.clear()
    os.environ.update(environment)


@pytest.mark.parametrize(("spec", "outcome"), CASES, ids=range(len(CASES)))
def test_specifications(
    opened: Any, spec: Any, outcome: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = getattr(opened._client, "component", None) or opened._client
    name = "module" if hasattr(module, "module") else "api_module"
    monkeypatch.setitem(sys.modules, "tesseract_api", getattr(module, name))
    if outcome is None:
        assert opened.test(spec) is None
        return
    with pytest.raises(outcome) as caught:
        opened.test(spec)
    assert type(caught.value) is outcome or outcome is RuntimeError


def test_a_failure_says_where() -> None:
    from tesseract_host import regression

    spec = regression.TestSpec.model_validate(outputs([1.0]))
    wanted = {"a": np.array([1.0, 2.0]), "b": [{"c": 1}], "s": "x", "k": {"z": 1}}
    got = {"a": np.array([1.0, 3.0]), "b": [{"c": 2}], "s": "y", "k": {"w": 1}}
    text = "\n".join(regression._differences(got, wanted, "", spec))
    assert "a at (1,) is 3.0, not 2.0 (1 of 2 values differ)" in text
    assert "b.[0].c is 2, not 1" in text and "s is 'y', not 'x'" in text
    assert "k has the keys ['w'], not ['z']" in text


def test_without_debug_there_is_none(tmp_path: Path) -> None:
    from tesseract_host import Tesseract

    path = support.write(tmp_path / "component", MODULE)
    opened = Tesseract.from_tesseract_api(path, runtime_config={"debug": False})
    with pytest.raises(NotImplementedError):
        opened.test(outputs([2.0, 4.0]))
