"""Endpoints called by the engine do what those called by pydantic do."""

from __future__ import annotations

import contextlib
import copy
import gc
import itertools
import os
import subprocess
import sys
import threading
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import support
from pydantic import ValidationError
from tesseract_host import _engine, loader
from tesseract_host.loader import calls
from tesseract_host.loader.failures import EndpointError, classify

pytestmark = pytest.mark.skipif(_engine.native is None, reason=_engine.missing)

SOURCE = """
calls = []

class Inner(BaseModel):
    p: Differentiable[Array[(None,), Float32]]
    n: int = 1

class InputSchema(BaseModel):
    a: Differentiable[Array[(None,), Float32]]
    s: Differentiable[Float64] = 1.0
    xs: list[Differentiable[Array[(2,), Float64]]] = []
    d: dict[str, Differentiable[Array[..., Float32]]] = {}
    i: Inner | None = None
    t: str = "t"
    what: Any = None

class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float32]]
    z: Differentiable[Float64] = 2.0
    r: list[int] = []

returned = {}

def note(*given):
    calls.append(given)
    value = returned.get(len(given))
    if isinstance(value, BaseException):
        raise value
    return value() if callable(value) else value

def apply(inputs):
    return note(inputs)

def jacobian(inputs, jac_inputs, jac_outputs):
    return note(inputs, jac_inputs, jac_outputs)

def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    return note(inputs, jvp_inputs, jvp_outputs, tangent_vector)

def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return note(inputs, vjp_inputs, vjp_outputs, cotangent_vector)
"""

A = np.arange(3, dtype="f4")
INNER = {"p": A}
FULL = {
    "a": A,
    "s": 2.0,
    "xs": [np.ones(2), [1, 2]],
    "d": {"k": A, "e f": np.float32(1)},
    "i": INNER,
    "t": "u",
}

INPUTS: list[Any] = [
    {"a": A},
    FULL,
    {"a": [1, 2, 3]},
    {"a": A.astype("f8"), "s": np.float64(3)},
    {"a": A[::2], "i": None},
    {"a": A, "i": {"p": A, "n": 2}},
    {"a": A, "what": {"any": [1]}},
    # Refused, or for pydantic to decide:
    {},
    {"a": "x"},
    {"a": A, "b": 1},
    {"a": A, "s": "2"},
    {"a": A, "i": {"n": 1}},
    {"a": A, "t": 3},
    {"a": A, 3: 3},
    {"a": {"shape": [2], "dtype": "float32", "data": {"buffer": [1, 2], "encoding": "json"}}},
    None,
    [("a", A)],
]

RESULTS: list[Any] = [
    {"y": A},
    {"y": [1, 2], "z": 3, "r": [1]},
    {"y": A.astype("f8"), "z": np.float32(1)},
    {"y": np.ones((3, 2), "f4")[:, 0], "z": np.array(1.0)},
    {"y": A, "r": (1, 2)},
    {"y": A, "r": ["1"]},
    {"y": A, "z": None},
    {"z": 1.0},
    {"y": A, "q": 1},
    {"y": 1j * A},
    {"y": np.ones((2, 2))},
    {"y": {"shape": [2], "dtype": "float32", "data": {"buffer": [1, 2], "encoding": "json"}}},
    None,
    [A],
    A,
    object(),
]


@pytest.fixture
def opened(component: Any) -> Any:
    return component(SOURCE)


def run(opened: Any, endpoint: str, given: dict[str, Any], direct: bool) -> tuple[Any, Any]:
    """What a call comes to, and what the module got."""
    seen = opened.module.calls
    seen.clear()
    call = opened.call if direct else lambda *a: calls.call(opened, *a)
    try:
        outcome: Any = ("ok", call(endpoint, given))
    except ValidationError as error:
        outcome = ("invalid", error.title, details(error), classify(error)[:3])
    except EndpointError as error:
        context = (error.__cause__, error.__suppress_context__, error.__context__ is error.original)
        text = str(error).splitlines()[-1]
        outcome = ("failed", type(error.original), text, context, classify(error)[:3])
    except BaseException as error:
        outcome = ("raised", type(error), str(error))
    assert len(seen) <= 1  # never twice
    return outcome, [parts(call) for call in seen]


def details(error: ValidationError) -> Any:
    return error.errors(include_url=False, include_context=False)


def parts(given: Any) -> Any:
    return [
        (type(p), vars(p), p.model_fields_set) if hasattr(p, "model_fields_set") else p
        for p in given
    ]


def like(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return support.same(first, second) and first.flags.writeable == second.flags.writeable
    if isinstance(first, dict) and isinstance(second, dict):
        return list(first) == list(second) and all(like(first[k], second[k]) for k in first)
    if isinstance(first, list | tuple) and type(first) is type(second):
        return len(first) == len(second) and all(map(like, first, second))
    if hasattr(first, "model_fields_set"):
        return type(first) is type(second) and like(vars(first), vars(second))
    return support.same(first, second) or first is second


def check_same(opened: Any, endpoint: str, payload: Any) -> tuple[Any, Any]:
    direct = run(opened, endpoint, copy.copy(payload), True)
    general = run(opened, endpoint, copy.copy(payload), False)
    assert like(direct, general), (payload, direct, general)
    return direct


def test_routes(opened: Any) -> None:
    assert opened.routes() == {
        name: {"route": "direct", "reasons": []} for name in ("apply", "jacobian", "jvp", "vjp")
    }


def test_inputs_of_apply(opened: Any) -> None:
    opened.module.returned[1] = {"y": A}
    reached = 0
    for inputs in INPUTS:
        outcome, seen = check_same(opened, "apply", {"inputs": inputs})
        reached += outcome[0] == "ok"
        assert bool(seen) == (outcome[0] == "ok")
    assert reached == 8


def test_payloads(opened: Any) -> None:
    opened.module.returned[1] = {"y": A}
    for payload in ({}, {"inputs": {"a": A}, "more": 1}, {"input": 1}, None, [], 3):
        outcome, _ = check_same(opened, "apply", payload)
        assert outcome[0] == "invalid"


@pytest.mark.parametrize("as_instance", [False, True])
def test_results_of_apply(opened: Any, as_instance: bool) -> None:
    schema = opened.module.OutputSchema
    good = 0
    for result in RESULTS:
        value = result
        if as_instance:
            if not isinstance(result, dict):
                continue
            fields = {"z": 2.0, "r": [], **result}
            value = schema.model_construct(**fields)
        opened.module.returned[1] = value
        with warnings.catch_warnings(record=True) as first:
            warnings.simplefilter("always")
            direct = run(opened, "apply", {"inputs": {"a": A}}, True)
        with warnings.catch_warnings(record=True) as second:
            warnings.simplefilter("always")
            general = run(opened, "apply", {"inputs": {"a": A}}, False)
        assert like(direct[0], general[0]), (value, direct[0], general[0])
        assert [str(w.message) for w in first] == [str(w.message) for w in second], value
        good += direct[0][0] == "ok"
    assert good >= 4


def test_results_are_the_callers(opened: Any) -> None:
    mine = np.ones(3, "f4")
    opened.module.returned[1] = {"y": mine, "r": [1]}
    first = opened.call("apply", {"inputs": {"a": A}})
    assert np.shares_memory(first["y"], mine) and not first["y"].flags.writeable
    first["r"].append(2)
    assert opened.call("apply", {"inputs": {"a": A}})["r"] == [1]


PATHS: list[tuple[Any, Any]] = [
    (["a"], ["y"]),
    (("a", "s"), ("y", "z")),
    ({"xs.[0]", "d.{k}"}, {"z"}),
    (["xs.[1]", "i.p", "d.{e f}", "a"], ["z", "y"]),
    (["a", "a"], ["y"]),
    (frozenset(("s",)), ["z"]),
    # Refused:
    ([], ["y"]),
    (["a"], []),
    (["xs.[2]"], ["y"]),
    (["d.{nothing}"], ["y"]),
    (["t"], ["y"]),
    (["a"], ["q"]),
    (["i"], ["y"]),
    ("a", ["y"]),
    ([1], ["y"]),
    (None, ["y"]),
    (["a"], {"y": 1}),
]

BLOCKS = (np.ones(3, "f4"), np.float64(1), 1.0, [1, 2, 3], np.ones((3, 3)), None, "x", 1j)


def seed_choices(paths: Any) -> list[Any]:
    if isinstance(paths, str) or not isinstance(paths, list | tuple | set | frozenset):
        return [{}]
    names = sorted(set(map(str, paths)))
    shaped = {n: np.ones(()) if n in ("s", "z", "d.{e f}") else np.ones(3) for n in names}
    shaped.update({n: np.ones(2) for n in names if n.startswith("xs")})
    return [
        {n: v.astype("f4") for n, v in shaped.items()},
        shaped,
        {n: v.astype("f4")[()] for n, v in shaped.items()},
        {n: v.tolist() for n, v in shaped.items()},
        dict(reversed(list(shaped.items()))),
        {n: np.ones(1) for n in names},
        {n: 1j * v for n, v in shaped.items()},
        {n: v * 1e300 for n, v in shaped.items()},
        {**shaped, "more": np.ones(3)},
        {},
        None,
        list(shaped.items()),
    ]


@pytest.mark.parametrize("endpoint", ["jvp", "vjp", "jacobian"])
def test_requests_of_derivatives(opened: Any, endpoint: str) -> None:
    names = calls.parameters(endpoint)
    opened.module.returned[len(names)] = RuntimeError("after the request")
    reached = refused = 0
    for ins, outs in PATHS:
        vectors: list[Any] = [None]
        if endpoint != "jacobian":
            vectors = seed_choices(ins if endpoint == "jvp" else outs)
        for inputs, vector in itertools.product((FULL, {"a": "x"}), vectors):
            payload = dict(zip(names, (inputs, ins, outs, vector), strict=False))
            for _ in range(2):  # the second time from the cache of paths
                outcome, _ = check_same(opened, endpoint, payload)
            reached += outcome[0] == "failed"
            refused += outcome[0] == "invalid"
    assert reached > 5 and refused > 10


@pytest.mark.parametrize("endpoint", ["jvp", "vjp"])
def test_results_of_products(opened: Any, endpoint: str) -> None:
    names = calls.parameters(endpoint)
    ins, outs = ["a", "s"], ["y", "z"]
    seeded, wanted = (ins, outs) if endpoint == "jvp" else (outs, ins)
    vector = {seeded[0]: np.ones(3, "f4"), seeded[1]: 1.0}
    payload = dict(zip(names, (FULL, ins, outs, vector), strict=True))
    results: list[Any] = [
        dict(zip(wanted, v, strict=True)) for v in itertools.product(BLOCKS, BLOCKS)
    ]
    results += [{}, None, [], {wanted[0]: A}, {**dict.fromkeys(wanted, A), "q": 1}, {1: 2, 3: 4}]
    good = 0
    for result in results:
        opened.module.returned[4] = result
        outcome, _ = check_same(opened, endpoint, payload)
        good += outcome[0] == "ok"
    assert 4 <= good < len(results)


def test_results_of_jacobians(opened: Any) -> None:
    payload = {"inputs": FULL, "jac_inputs": ["a", "s", "xs.[0]"], "jac_outputs": ["z", "y"]}
    row = {"a": np.ones((3, 3)), "s": np.ones(3), "xs.[0]": np.ones((3, 2), "f4")}
    scalar = {"s": np.float32(1), "a": np.ones(3, "f4"), "xs.[0]": [1, 2]}
    good = {"y": row, "z": scalar}
    results: list[Any] = [good, {"z": scalar, "y": row}, {"y": row}, {}, None, {"y": row, "z": 1}]
    for path, block in itertools.product(row, (*BLOCKS, np.ones((3, 2)), np.ones((1, 2)))):
        results.append({"y": {**row, path: block}, "z": scalar})
        results.append({"y": row, "z": {**scalar, path: block}})
    passed = 0
    for result in results:
        opened.module.returned[3] = result
        outcome, _ = check_same(opened, "jacobian", payload)
        passed += outcome[0] == "ok"
    assert 4 <= passed < len(results)


def test_the_module_owns_its_sets(opened: Any) -> None:
    """It may change them; the next call gets fresh ones, and the result is checked as asked."""

    def spoil() -> Any:
        _, ins, outs, vector = opened.module.calls[-1]
        ins.add("q")
        outs.clear()
        vector.clear()
        return {"a": A}

    opened.module.returned[4] = spoil
    payload = dict(zip(calls.parameters("vjp"), (FULL, ["a"], ["y"], {"y": A}), strict=True))
    for _ in range(3):
        assert run(opened, "vjp", payload, True)[0][0] == "ok"
        opened.module.returned[4] = {"a": A}
        _, ((_, ins, outs, vector),) = run(opened, "vjp", payload, True)
        assert (ins, outs, list(vector)) == ({"a"}, {"y"}, ["y"]) and type(ins) is set
        opened.module.returned[4] = spoil


@pytest.mark.parametrize(
    "error", [ValueError("no"), KeyError(3), MemoryError(), SystemExit(3), KeyboardInterrupt()]
)
def test_what_the_module_raises(opened: Any, error: BaseException) -> None:
    opened.module.returned[1] = error
    outcome, seen = check_same(opened, "apply", {"inputs": {"a": A}})
    assert outcome[0] == ("failed" if isinstance(error, Exception) else "raised") and len(seen) == 1
    opened.module.returned[1] = {"y": A}
    assert run(opened, "apply", {"inputs": {"a": A}}, True)[0][0] == "ok"


def test_the_traceback_names_the_module(opened: Any) -> None:
    opened.module.returned[1] = ValueError("no")
    with pytest.raises(EndpointError, match=r"in apply\n(.|\n)*ValueError: no"):
        opened.call("apply", {"inputs": {"a": A}})


def test_callers(opened: Any) -> None:
    opened.module.returned.update({1: {"y": A}, 3: {"y": {"a": np.ones((3, 3))}}, 4: {"a": A}})
    assert list(opened.caller("apply")({"a": A})) == ["y", "z", "r"]
    assert list(opened.caller("jacobian")({"a": A}, ["a"], ["y"])) == ["y"]
    assert list(opened.caller("vjp")({"a": A}, ["a"], ["y"], {"y": A})) == ["a"]
    with pytest.raises(ValidationError):
        opened.caller("apply")({"a": "x"})
    for bad in ((), (1, 2)):
        with pytest.raises(TypeError):
            opened.caller("apply")(*bad)
    with pytest.raises(TypeError):
        opened.caller("apply")(inputs={"a": A})
    with pytest.raises(NotImplementedError):
        opened.caller("abstract_eval")


def test_a_replaced_function_is_called(opened: Any) -> None:
    opened.module.apply = lambda inputs: {"y": inputs.a + 1}
    assert opened.call("apply", {"inputs": {"a": A}})["y"][0] == 1
    del opened.module.apply
    with pytest.raises(NotImplementedError):
        opened.call("apply", {"inputs": {"a": A}})


# ---- What surrounds a call -----------------------------------------------------------------------


def test_lines_and_warnings(component: Any) -> None:
    logged: list[Any] = []
    source = support.schema_source(
        "a: Array[(None,), Float32]", body="print('open', end=''); return {'y': float(inputs.a[0])}"
    )
    opened = component(source, log=lambda level, line: logged.append(line))
    for _ in range(2):
        opened.call("apply", {"inputs": {"a": A}})
    assert logged == ["open", "open"]


def test_runs(component: Any, tmp_path: Path) -> None:
    source = """
from tesseract_core.runtime.experimental import log_metric
class InputSchema(BaseModel):
    a: Array[(None,), Float32]
class OutputSchema(BaseModel):
    y: Array[(None,), Float32]
def apply(inputs):
    log_metric("m", 1.0)
    if inputs.a.size == 9:
        raise ValueError("nine")
    return {"y": inputs.a}
"""
    opened = component(source, output_path=str(tmp_path / "out"))
    assert opened.routes()["apply"]["route"] == "direct"
    for _ in range(2):
        assert opened.call("apply", {"inputs": {"a": A}})["y"].shape == (3,)
    assert len(list((tmp_path / "out").glob("run_*/logs/metrics.csv"))) == 2
    with pytest.raises(EndpointError, match="nine"):
        opened.call("apply", {"inputs": {"a": np.ones(9)}})
    opened.module.apply = lambda inputs: {"y": "x"}
    with pytest.raises(EndpointError):
        opened.call("apply", {"inputs": {"a": A}})


def test_nested_calls_and_threads(component: Any) -> None:
    opened = component(SOURCE)
    opened.module.apply = lambda inputs: (
        {"y": inputs.a} if inputs.s else opened.call("apply", {"inputs": {"a": A, "s": 1.0}})
    )
    errors: list[Any] = []

    def work() -> None:
        try:
            for _ in range(300):
                opened.call("apply", {"inputs": {"a": A, "s": 0.0}})
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_components_are_collected(tmp_path: Path) -> None:
    path = support.write(tmp_path / "c", SOURCE)
    opened = loader.open(str(path))
    opened.module.returned[1] = {"y": A}
    opened.call("apply", {"inputs": {"a": A}})
    gone = weakref.ref(opened)
    opened.close()
    del opened
    gc.collect()
    assert gone() is None


# ---- Memory ----------------------------------------------------------------------------------


def test_containers_that_change_meanwhile(component: Any) -> None:
    """User code that runs in a check may change what is being checked."""
    opened = component(SOURCE)
    opened.module.returned[1] = {"y": A}
    xs: list[Any] = []
    entries: dict[str, Any] = {}

    class Clears:
        def __array__(self, *_: Any, **__: Any) -> Any:
            xs.clear()
            entries.clear()
            gc.collect()
            return np.ones(2)

    for _ in range(50):
        xs[:] = [Clears(), np.ones(2), np.ones(2)]
        entries.update({str(i): Clears() for i in range(5)})
        with contextlib.suppress(ValidationError, RuntimeError):  # pydantic's, of a changed dict
            opened.call("apply", {"inputs": {"a": A, "xs": xs, "d": entries}})


def test_nothing_leaks(opened: Any) -> None:
    module = opened.module
    module.returned.update({1: {"y": A}, 3: {"y": {"a": np.ones((3, 3))}}, 4: {"a": A}})
    apply, vjp, jac = map(opened.caller, ("apply", "vjp", "jacobian"))
    ins, outs, seeds = ["a"], ["y"], {"y": A}

    def work(count: int) -> None:
        for i in range(count):
            apply(FULL)
            vjp(FULL, ins, outs, seeds)
            jac(FULL, ins, outs)
            if i % 100 == 0:
                module.calls.clear()
                for bad in ({"a": "x"}, {"a": A, "b": 1}):
                    with pytest.raises(ValidationError):
                        apply(bad)
        module.calls.clear()

    watched = [A, ins, outs, seeds, FULL, module.InputSchema, apply, None, INNER]
    watched.append(opened.schemas.requests["apply"].model_fields["inputs"].annotation)
    work(200)
    gc.collect()
    before, blocks = [sys.getrefcount(w) for w in watched], sys.getallocatedblocks()
    work(20_000)
    gc.collect()
    after = [sys.getrefcount(w) for w in watched]
    assert all(abs(x - y) < 100 for x, y in zip(after, before, strict=True))
    assert sys.getallocatedblocks() - blocks < 2000


# ---- Switching it off ------------------------------------------------------------------------


def test_off(tmp_path: Path) -> None:
    path = support.write(tmp_path / "c", SOURCE)
    program = f"""
import numpy as np
from tesseract_host import _engine, loader
c = loader.open({str(path)!r})
c.module.returned[1] = {{"y": [1, 2]}}
assert _engine.native is None, _engine.native
assert c.routes()["apply"]["route"] == "general" and "TESSERACT_HOST_ENGINE" in str(c.routes())
assert c.caller("apply")({{"a": [1]}})["y"].dtype == np.float32
assert c.call("apply", {{"inputs": {{"a": [1]}}}})["z"] == 2.0
"""
    package = str(Path(loader.__file__).parents[2])
    environment = {**os.environ, "TESSERACT_HOST_ENGINE": "0", "PYTHONPATH": package}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"inputs": 3},
        {"namespace": {}},
        {"name": "apply", "namespace": {}},
    ],
)
def test_bad_endpoints(members: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        _engine.native.Endpoint("apply", _engine.native.State(), **members)
    with pytest.raises(TypeError):
        _engine.native.Endpoint("apply", object(), **members)
    with pytest.raises(TypeError):
        _engine.native.Endpoint("other", _engine.native.State(), **members)
