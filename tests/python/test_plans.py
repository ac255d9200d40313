"""Prepared calls: tensors by path and one JSON document, both ways."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import support
from pydantic import ValidationError

MODULE = """
import enum
class Color(enum.Enum):
    RED = "red"
class Item(BaseModel):
    p: Differentiable[Array[(None,), "float32"]]
    n: int = 0
class InputSchema(BaseModel):
    a: Differentiable[Array[(None,), "float64"]]
    s: Differentiable[Float32] = 2.0
    k: int = 3
    c: Color = Color.RED
    o: Optional[Array[(None,), "float64"]] = None
    items: list[Item] = []
    xs: list[Float64] = []
    d: dict[str, Differentiable[Float64]] = {}
    al: Float64 = Field(alias="other", default=0.0)
    code: str = "{}"
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), "float64"]] = np.zeros(0)
    z: Differentiable[Float32] = 0.0
    more: Any = None
    o: Optional[Float64] = None
    items: list[Item] = []
    xs: list[Optional[Float64]] = []
    d: dict[str, Differentiable[Float64]] = {}
    u: float | Array[(None,), "float64"] = 0.0
SEEN = []
def apply(inputs):
    SEEN.append(inputs)
    return eval(inputs.code, {**globals(), "inputs": inputs})
def jacobian(inputs, jac_inputs, jac_outputs):
    return {o: {i: 10.0 * len(o) + len(i) for i in jac_inputs} for o in jac_outputs}
def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    return {o: sum(np.sum(t) for t in tangent_vector.values()) for o in jvp_outputs}
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    total = sum(np.sum(c) for c in cotangent_vector.values())
    shapes = {"a": inputs.a.shape, "s": ()}
    return {i: np.full(shapes.get(i, ()), total) for i in vjp_inputs}
def abstract_eval(abstract):
    return {"y": abstract.a, "more": abstract.k, "xs": [None, {"shape": (), "dtype": "float64"}]}
"""

A = np.array([1.0, 2.0])


@pytest.fixture
def opened(component: Any) -> Any:
    return component(MODULE)


def apply(
    opened: Any,
    given: dict[str, Any] | None = None,
    of: tuple[str, ...] = (),
    document: dict[str, Any] | None = None,
) -> Any:
    tensors = {"a": A} if given is None else given
    plan = opened.prepare("apply", tuple(tensors), of, (), json.dumps(document or {}))
    return plan.run(tuple(tensors.values()), ())


def seen(opened: Any) -> Any:
    return opened.module.SEEN[-1]


# ---- Inputs ------------------------------------------------------------------------------------


def test_tensors_arrive_where_their_paths_say(opened: Any) -> None:
    given = {
        "a": A,
        "items.[0].p": np.ones(2, "float32"),
        "items.[1].p": np.zeros(1),
        "items.[1].n": np.array(7),
        "xs.[0]": np.float64(5),
        "d.{a.b}": np.array(6.0),
        r"d.{\{x\}\\}": np.array(7.0),
        "al": np.array(8.0),
        "k": np.array(4),
    }
    apply(opened, given)
    inputs = seen(opened)
    assert support.same(inputs.items[0].p, np.ones(2, "float32"))
    assert support.same(inputs.items[1].p, np.zeros(1, "float32"))
    assert (inputs.items[1].n, inputs.k) == (7, 4)
    assert support.same(inputs.xs, [np.float64(5)])
    assert inputs.d == {"a.b": 6.0, "{x}\\": 7.0}
    assert inputs.al == 8.0
    assert np.shares_memory(inputs.a, A)
    assert not inputs.a.flags.writeable


def test_json_gives_everything_else(opened: Any) -> None:
    document = {"k": 9007199254740993, "c": "red", "s": 4, "xs": [1, 2.5], "d": {"q": float("nan")}}
    apply(opened, None, (), document)
    inputs = seen(opened)
    assert inputs.k == 9007199254740993
    assert inputs.c.value == "red"
    assert support.same(inputs.s, np.float32(4))
    assert support.same(inputs.xs, [np.float64(1), np.float64(2.5)])
    assert np.isnan(inputs.d["q"])


def test_arrays_in_the_json(opened: Any) -> None:
    encoded = {"shape": [2], "dtype": "float64", "data": {"buffer": [1, 2], "encoding": "json"}}
    for value in ([1, 2], encoded):
        apply(opened, {}, (), {"a": value})
        assert support.same(np.array(seen(opened).a), A)


def test_a_list_from_both(opened: Any) -> None:
    apply(opened, {"a": A, "xs.[1]": np.array(9.0)}, (), {"xs": [1, None, 3]})
    assert seen(opened).xs == [1, 9, 3]
    apply(opened, {"a": A, "items.[0].p": A}, (), {"items": [{"n": 5}]})
    assert seen(opened).items[0].n == 5


def test_containers_are_fresh_for_each_run(opened: Any) -> None:
    plan = opened.prepare("apply", ("a",), (), (), '{"xs": [1]}')
    plan.run((A,), ())
    seen(opened).xs.append(2)
    plan.run((A,), ())
    assert seen(opened).xs == [1]


BAD_REQUESTS = [
    # paths, document, path at fault, status
    (["a", "q"], "{}", "q", 2),
    (["a", "items.[0].q"], "{}", "items.[0].q", 2),
    (["a", "xs.[1]"], "{}", "xs.[0]", 2),
    (["a", "xs.[4000000000]"], "{}", "xs.[0]", 2),
    (["a", "xs.[0]"], '{"xs": [1]}', "xs.[0]", 2),
    (["a", "xs.[2]"], '{"xs": [1]}', "xs.[1]", 2),
    (["a", "d.{k}"], '{"d": {"k": 1}}', "d.{k}", 2),
    (["a", "d.{k}"], '{"d": 3}', "d.{k}", 2),
    (["a", "d.{k}"], '{"d": [1]}', "d.{k}", 2),
    (["a", "items.[0].p"], '{"items": {"x": 1}}', "items.[0].p", 2),
    (["a", "a"], "{}", "a", 2),
    (["a"], '{"a": 1}', "a", 2),
    (["a", "not a path"], "{}", "not a path", 2),
    (["a", "xs.[-1]"], "{}", "xs.[-1]", 2),
    (["a", ""], "{}", "", 2),
    (["a"], "{", None, 1),
    (["a"], "[]", None, 1),
    (["a"], "3", None, 1),
    (["a"], '{"k": ' + "[" * 100000 + "]" * 100000 + "}", None, 1),
    (["a"], '{"k": ' + "[" * 500 + "]" * 500 + "}", None, 1),
]


@pytest.mark.parametrize(
    ("paths", "document", "path", "status"), BAD_REQUESTS, ids=range(len(BAD_REQUESTS))
)
def test_bad_requests(opened: Any, paths: Any, document: str, path: Any, status: int) -> None:
    from tesseract_host import loader

    with pytest.raises(loader.RequestError) as caught:
        opened.prepare("apply", tuple(paths), (), (), document)
    assert loader.classify(caught.value)[:2] == (status, path)
    apply(opened)  # still usable


INVALID = [
    ({"a": np.ones((2, 2))}, {}, "a"),
    ({"a": A, "k": np.array(1.5)}, {}, "k"),
    ({"a": A}, {"z": 1}, "z"),
    ({"a": A}, {"xs": [1, "x"]}, "xs.[1]"),
    ({"a": A}, {"d": {"a.b": [1]}}, "d.{a.b}"),
    ({"a": A}, {"items": [{"p": [1], "n": "x"}]}, "items.[0].n"),
    ({"a": A}, {"items": [{}]}, "items.[0].p"),
    ({"a": A}, {"other": "x"}, "al"),
    ({"a": A}, {"o": [[1]]}, "o"),
    ({}, {}, "a"),
]


@pytest.mark.parametrize(("given", "document", "path"), INVALID)
def test_invalid_inputs(opened: Any, given: Any, document: Any, path: str) -> None:
    from tesseract_host import loader

    with pytest.raises(ValidationError) as caught:
        apply(opened, given, (), document)
    status, found, message, _ = loader.classify(caught.value)
    assert (status, found) == (2, path)
    assert "errors.pydantic.dev" not in message


def test_the_number_of_arrays_is_checked(opened: Any) -> None:
    plan = opened.prepare("apply", ("a",), (), (), "")
    for arrays in ((), (A, A)):
        with pytest.raises(ValueError, match="inputs"):
            plan.run(arrays, ())


# ---- Outputs -----------------------------------------------------------------------------------

P = np.array([1.0], "float32")


def returned(opened: Any, code: str, of: tuple[str, ...]) -> tuple[list[Any], Any]:
    tensors, text, _ = apply(opened, None, of, {"code": code})
    return tensors, json.loads(text)


def others(opened: Any, code: str, of: tuple[str, ...] = ()) -> dict[str, Any]:
    """The elements of containers that are not wanted by name."""
    return dict(apply(opened, None, of, {"code": code})[2])


EMPTY = {"more": None, "items": [], "xs": [], "d": {}}


@pytest.mark.parametrize(
    ("code", "of", "tensors", "rest"),
    [
        ("{'y': inputs.a * 2}", ("y",), [A * 2], {}),
        ("{'y': inputs.a, 'z': 3}", ("z", "y"), [np.float32(3), A], {}),
        ("{}", ("z",), [np.float32(0)], {}),
        ("{'more': [1, {'k': None}]}", (), [], {"more": [1, {"k": None}]}),
        ("{'more': float('nan')}", (), [], {"more": float("nan")}),
        ("{'o': 2}", ("o",), [np.float64(2)], {}),
        ("{'o': 2}", (), [], {}),
        ("{}", ("o",), [None], {}),
        ("{'xs': [1, 2]}", ("xs.[1]", "xs.[0]"), [np.float64(2), np.float64(1)], {"xs": ...}),
        ("{'xs': [None, 2]}", ("xs.[1]",), [np.float64(2)], {"xs": [None, None]}),
        ("{'d': {'a.b': 1}}", ("d.{a.b}",), [np.float64(1)], {"d": ...}),
        ("{'items': [{'p': [1], 'n': 4}]}", ("items.[0].p",), [P], {"items": [{"n": 4}]}),
        ("{'u': np.ones(2)}", ("u",), [np.ones(2)], {}),
        ("{'u': 2.5}", ("u",), [np.float64(2.5)], {}),
        ("{'u': 2.5}", (), [], {}),
        ("{'xs': [1, 2]}", (), [], {"xs": ...}),
        ("{'d': {'k': 1}}", (), [], {"d": ...}),
        ("{'more': 2**63}", (), [], {"more": 2**63}),
    ],
)
def test_outputs(opened: Any, code: str, of: Any, tensors: Any, rest: dict[str, Any]) -> None:
    got, document = returned(opened, code, of)
    assert support.same(got, tensors)
    wanted = {key: value for key, value in {**EMPTY, **rest}.items() if value is not ...}
    assert json.dumps(document, sort_keys=True) == json.dumps(wanted, sort_keys=True)


@pytest.mark.parametrize(
    ("code", "path"),
    [("{'xs': [1]}", "xs.[1]"), ("{}", "d.{k}"), ("{}", "items.[0].p"), ("{'more': 'x'}", "more")],
)
def test_wanted_outputs_that_are_not_there(opened: Any, code: str, path: str) -> None:
    from tesseract_host import loader

    with pytest.raises(loader.RequestError) as caught:
        returned(opened, code, (path,))
    assert loader.classify(caught.value)[:2] == (2, path)


@pytest.mark.parametrize(
    ("code", "of", "found"),
    [
        ("{}", (), {}),
        ("{'xs': [1, 2]}", (), {"xs.[0]": np.float64(1), "xs.[1]": np.float64(2)}),
        ("{'xs': [1, 2]}", ("xs.[0]",), {"xs.[1]": np.float64(2)}),
        ("{'xs': [None, 2]}", (), {"xs.[1]": np.float64(2)}),
        ("{'d': {'a.b': 1, '{': 2}}", (), {"d.{a.b}": np.float64(1), r"d.{\{}": np.float64(2)}),
        ("{'items': [{'p': [1]}, {'p': [1]}]}", ("y",), {"items.[0].p": P, "items.[1].p": P}),
    ],
)
def test_elements_that_are_not_named(
    opened: Any, code: str, of: tuple[str, ...], found: dict[str, Any]
) -> None:
    assert support.same(others(opened, code, of), found)


def test_without_containers_there_are_no_others(component: Any) -> None:
    source = support.schema_source("x: int = 0", "y: Float64 = 0.0; n: list[int] = []")
    assert component(source).prepare("apply", (), ("y",), (), "").run((), ()) == (
        [0.0],
        '{"n":[]}',
    )


CONTAINERS = """
class Sub(BaseModel):
    y: Array[(None,), "float64"]
    n: int = 0
class Other(BaseModel):
    z: Float32
class InputSchema(BaseModel):
    code: str
class OutputSchema(BaseModel):
    sub: Optional[Sub] = None
    either: Sub | Other | None = None
    table: dict[int, dict[str, Float64]] = {}
    numbers: set[Float64] = set()
    grid: Optional[tuple[Float64, int]] = None
    nested: list[RootModel[list[Float64]]] = []
    perhaps: Optional[list[Float64]] = None
    mixed: Float64 | list[Float64] = 0.0
    text: str | Float64 = ""
def apply(inputs): return eval(inputs.code)
"""


@pytest.mark.parametrize(
    ("code", "of", "tensors", "added", "rest"),
    [
        ("{}", ("sub.y", "either.y", "either.z"), [None] * 3, {}, {}),
        ("{'sub': {'y': [1]}}", ("sub.y",), [np.ones(1)], {}, {"sub": {"n": 0}}),
        ("{'either': {'z': 2}}", ("either.y", "either.z"), [None, np.float32(2)], {}, ...),
        ("{'table': {3: {'a': 1}}}", (), [], {"table.{3}.{a}": np.float64(1)}, ...),
        ("{'numbers': {4}}", (), [], {"numbers.[0]": np.float64(4)}, ...),
        ("{'grid': (1, 2)}", (), [], {"grid.[0]": np.float64(1), "grid.[1]": np.int64(2)}, ...),
        ("{'nested': [[1]]}", (), [], {"nested.[0].root.[0]": np.float64(1)}, ...),
        ("{'perhaps': [5]}", (), [], {"perhaps.[0]": np.float64(5)}, ...),
        ("{'mixed': 3}", (), [], {}, {"mixed": 3.0}),
        ("{'mixed': [3]}", (), [], {}, {"mixed": [3.0]}),
        ("{'text': 'word'}", (), [], {}, {"text": "word"}),
        ("{'text': np.float64(3)}", (), [], {}, {"text": 3.0}),
    ],
)
def test_containers_and_unions(
    component: Any, code: str, of: Any, tensors: Any, added: dict[str, Any], rest: Any
) -> None:
    opened = component(CONTAINERS)
    plan = opened.prepare("apply", (), of, (), json.dumps({"code": code}))
    got, text, others = plan.run((), ())
    assert support.same(got, tensors)
    assert support.same(dict(others), added)
    if rest is not ...:
        document = {k: v for k, v in json.loads(text).items() if k in rest}
        assert document == rest


@pytest.mark.parametrize("path", ["q", "items.[0].q", "y.[0]x", "z z"])
def test_unknown_outputs(opened: Any, path: str) -> None:
    with pytest.raises(ValueError, match=path.split(".")[0].replace("[", r"\[")):
        opened.prepare("apply", ("a",), (path,), (), "")


# ---- Derivatives -------------------------------------------------------------------------------


def test_jacobian_is_flat_outputs_first(opened: Any) -> None:
    plan = opened.prepare("jacobian", ("a", "d.{kk}"), ("z", "d.{q}"), ("s", "d.{kk}"), "")
    results, text = plan.run((A, np.array(1.0)), ())
    assert [float(r) for r in results] == [11.0, 16.0, 51.0, 56.0]
    assert text == "{}"


def test_products(opened: Any) -> None:
    plan = opened.prepare("jvp", ("a",), ("z", "d.{q}"), ("s", "a"), "")
    results, _ = plan.run((A,), (np.float32(3), np.array([1.0, 1.0])))
    assert support.same(results, [np.float32(5), np.float64(5)])
    plan = opened.prepare("vjp", ("a",), ("z", "y"), ("s", "a"), "")
    results, _ = plan.run((A,), (np.float32(3), np.ones(4)))
    assert support.same(results, [np.float32(7), np.array([7.0, 7.0])])


def test_seeds_that_are_zero_may_be_left_out(opened: Any) -> None:
    plan = opened.prepare("vjp", ("a",), ("z", "y"), ("s",), "")
    assert plan.run((A,), (None, np.ones(4)))[0] == [4.0]
    with pytest.raises(ValueError, match="zero"):
        plan.run((A,), (None, None))
    with pytest.raises(ValueError, match="seeds"):
        plan.run((A,), (None,))


@pytest.mark.parametrize(
    ("of", "wrt", "path"),
    [(("q",), ("a",), "q"), (("y",), ("k",), "k"), (("more",), ("a",), "more"), ((), ("a",), None)],
)
def test_derivative_paths_are_checked_when_prepared(
    opened: Any, of: Any, wrt: Any, path: Any
) -> None:
    from tesseract_host import loader

    for endpoint in ("jvp", "vjp", "jacobian"):
        with pytest.raises(loader.RequestError) as caught:
            opened.prepare(endpoint, ("a",), of, wrt, "")
        assert loader.classify(caught.value)[1] == path


@pytest.mark.parametrize(
    ("endpoint", "seed", "path"), [("jvp", np.ones(3), "a"), ("vjp", np.ones((1, 1)), "y")]
)
def test_bad_seeds_name_their_leaf(opened: Any, endpoint: str, seed: Any, path: str) -> None:
    from tesseract_host import loader

    plan = opened.prepare(endpoint, ("a",), ("y",), ("a",), "")
    with pytest.raises(ValidationError) as caught:
        plan.run((A,), (seed,))
    assert loader.classify(caught.value)[:2] == (2, path)


# ---- Abstract evaluation -----------------------------------------------------------------------


def test_abstract(opened: Any) -> None:
    plan = opened.prepare("abstract_eval", ("a",), ("y", "xs.[1]"), (), '{"k": 5, "s": 4}')
    shapes, text, others = plan.abstract((((7,), "float32"),))
    assert shapes == [((7,), "float64"), ((), "float64")]
    document = json.loads(text)
    assert (document["more"], document["xs"]) == (5, [None, None])
    assert others == []
    plan = opened.prepare("abstract_eval", ("a",), (), (), "")
    assert plan.abstract((((7,), "float32"),))[2] == [("xs.[1]", ((), "float64"))]


def test_arrays_in_the_json_of_an_abstract_call(opened: Any) -> None:
    plan = opened.prepare("abstract_eval", (), ("y",), (), '{"a": [1, 2, 3], "xs": [1]}')
    assert plan.abstract(())[0] == [((3,), "float64")]


def test_abstract_without_the_endpoint(component: Any) -> None:
    from tesseract_host import loader

    opened = component(support.schema_source("x: int = 0"))
    with pytest.raises(NotImplementedError) as caught:
        opened.prepare("abstract_eval", (), (), (), "")
    assert loader.classify(caught.value)[0] == 4


# ---- Root models -------------------------------------------------------------------------------


def test_root_models(component: Any) -> None:
    source = """
        class InputSchema(RootModel[list[Differentiable[Float64]]]): pass
        class OutputSchema(RootModel[dict[str, Differentiable[Float64]]]): pass
        def apply(inputs): return {"sum": sum(inputs.root), "first": inputs.root[0]}
        def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
            return {p: cotangent_vector["root.{sum}"] for p in vjp_inputs}
    """
    opened = component(source)
    paths = ("root.[0]", "root.[1]")
    plan = opened.prepare("apply", paths, ("root.{sum}",), (), "")
    results, text, others = plan.run((1.0, 2.0), ())
    assert (results, text, others) == ([3.0], "{}", [("root.{first}", 1.0)])
    plan = opened.prepare("apply", (), ("root.{first}",), (), '{"root": [4, 5]}')
    assert plan.run((), ())[0] == [4.0]
    plan = opened.prepare("vjp", paths, ("root.{sum}",), paths, "")
    assert plan.run((1.0, 2.0), (np.float64(3),))[0] == [3.0, 3.0]


def test_an_empty_key_has_no_path(component: Any) -> None:
    from tesseract_host import loader

    opened = component(
        "class InputSchema(BaseModel): pass\n"
        "class Part(BaseModel):\n    d: dict[str, Array[(None,), Float64]]\n"
        "class OutputSchema(BaseModel):\n    part: Part\n"
        "def apply(inputs): return {'part': {'d': {'a': [1.0], '': [2.0]}}}\n"
    )
    with pytest.raises(loader.RequestError, match="empty key") as caught:
        opened.prepare("apply", (), (), (), "{}").run((), ())
    assert loader.classify(caught.value)[:2] == (2, "part.d")
