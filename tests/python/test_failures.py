"""Module contract §9: what callers see when something fails, and its status in the C interface."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pytest
import support
from tesseract_host.loader import failures

MODULE = """
class Custom(Exception): pass
class InputSchema(BaseModel):
    x: Differentiable[Float64] = 0.0
    code: str = "0"
class OutputSchema(BaseModel):
    y: Differentiable[Float64] = 0.0
def helper(code):
    exec(code, globals())
def apply(inputs):
    helper(inputs.code)
    return {}
"""

OK, SCHEMA, UNSUPPORTED, NOT_FOUND, DOMAIN, COMPONENT, MEMORY, CANCELLED = 0, 2, 4, 5, 6, 7, 8, 9


def run(opened: Any, code: str) -> Any:
    return opened.call("apply", {"inputs": {"code": code}})


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise ValueError('too wet')", ("ValueError", "too wet")),
        ("raise Custom('mine')", ("Custom", "mine")),
        ("1 / 0", ("ZeroDivisionError",)),
        ("assert False, 'never'", ("AssertionError", "never")),
        ("InputSchema(x='a')", ("ValidationError",)),
        ("raise NotImplementedError('later')", ("NotImplementedError", "later")),
    ],
)
def test_exceptions_of_the_module(opened: Any, code: str, words: tuple[str, ...]) -> None:
    with pytest.raises(RuntimeError) as caught:
        run(opened(MODULE), code)
    error, text = caught.value, str(caught.value)
    assert all(word in text for word in words)
    assert "Traceback (most recent call last)" in text
    assert "tesseract_api.py" in text and "in helper" in text
    assert "Error running Tesseract API apply: " in text
    assert error.__cause__ is None
    assert error.__suppress_context__
    assert not isinstance(error, NotImplementedError | ValueError)
    assert run(opened(MODULE), "0")  # still usable


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_exits_pass_through(opened: Any, error: type[BaseException]) -> None:
    with pytest.raises(error):
        run(opened(MODULE), f"raise {error.__name__}")
    assert run(opened(MODULE), "0")


def test_warnings_do_not_fail(opened: Any) -> None:
    with pytest.warns(UserWarning, match="careful"):
        run(opened(MODULE), "import warnings; warnings.warn('careful')")


@pytest.mark.parametrize("endpoint", ["jacobian", "jvp", "vjp"])
def test_missing_endpoints(opened: Any, endpoint: str) -> None:
    short = {"jacobian": "jac"}.get(endpoint, endpoint)
    payload: dict[str, Any] = {"inputs": {}, f"{short}_inputs": ["x"], f"{short}_outputs": ["y"]}
    if endpoint == "jvp":
        payload["tangent_vector"] = {"x": 1}
    if endpoint == "vjp":
        payload["cotangent_vector"] = {"y": 1}
    with pytest.raises(NotImplementedError):
        opened(MODULE).call(endpoint, payload)


def test_missing_abstract_eval(opened: Any) -> None:
    with pytest.raises(RuntimeError):
        opened(MODULE).call("abstract_eval", {"inputs": {}})


def classified(component: Any, code: str, head: str = "") -> tuple[int, Any, str, str]:
    from tesseract_host import loader

    with pytest.raises(Exception) as caught:
        run(component(head + MODULE), code)
    return loader.classify(caught.value)


OUT = "from tesseract_host.runtime import OutOfDomain, register_out_of_domain\n"

STATUSES = [
    ("raise ValueError('v')", "", COMPONENT),
    ("raise NotImplementedError('v')", "", COMPONENT),
    ("raise FileNotFoundError('v')", "", COMPONENT),
    ("InputSchema(x='a')", "", COMPONENT),
    ("raise MemoryError('v')", "", MEMORY),
    ("raise OutOfDomain('v')", OUT, DOMAIN),
    ("from tesseract_host.runtime import OutOfDomain; raise OutOfDomain('v')", "", DOMAIN),
    ("register_out_of_domain(Custom); raise Custom('v')", OUT, DOMAIN),
    ("raise Custom('v')", OUT, COMPONENT),
    ("from tesseract_host.runtime import Cancelled; raise Cancelled('v')", "", CANCELLED),
]


@pytest.mark.parametrize(("code", "head", "status"), STATUSES)
def test_statuses(component: Any, code: str, head: str, status: int) -> None:
    got, path, message, text = classified(component, code, head)
    assert (got, path) == (status, None)
    assert "v" in message
    assert "Traceback" in text and "in helper" in text


@pytest.mark.parametrize("code", [3, "0"])
def test_bad_requests_show_no_frames_of_ours(component: Any, code: Any) -> None:
    opened = component(MODULE)
    with pytest.raises(ValueError) as caught:
        opened.call("apply", {"inputs": {"code": code, "q": 1}})
    assert "Traceback" in "".join(traceback.format_exception(caught.value))
    status, _, message, text = failures.classify(caught.value)
    assert status == SCHEMA and "q" in message
    assert "Traceback" not in text and "ApplyInputSchema" in text


def test_bad_options_show_no_frames_of_ours(component: Any) -> None:
    with pytest.raises(ValueError, match="unknown option nope") as caught:
        component(MODULE, nope=1)
    assert failures.classify(caught.value)[3] == ""


def test_an_exception_type_registered_by_one_component_is_its_own(tmp_path: Any) -> None:
    from tesseract_host import loader

    first = support.Ours().open(support.write(tmp_path / "a", OUT + MODULE))
    second = support.Ours().open(support.write(tmp_path / "b", OUT + MODULE))
    run(first, "register_out_of_domain(ArithmeticError)")
    statuses = []
    for opened in (first, second):
        with pytest.raises(RuntimeError) as caught:
            run(opened, "1 / 0")
        statuses.append(loader.classify(caught.value)[0])
    assert statuses == [DOMAIN, COMPONENT]


def test_out_of_domain_in_a_validator(component: Any) -> None:
    from tesseract_host import loader

    source = OUT + support.schema_source("x: Annotated[Float64, AfterValidator(check)]")
    source = "def check(v):\n    raise OutOfDomain('too large')\n" + source
    with pytest.raises(ValueError) as caught:
        component(source).call("apply", {"inputs": {"x": 1}})
    assert loader.classify(caught.value)[:2] == (DOMAIN, "x")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise SystemExit(4)", "SystemExit: 4"),
        ("raise type('Halt', (BaseException,), {})('b')", "Halt: b"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise KeyError('a')", "KeyError: 'a'"),
    ],
)
def test_messages_name_the_type(component: Any, code: str, message: str) -> None:
    from tesseract_host import loader

    with pytest.raises(BaseException) as caught:
        run(component(MODULE), code)
    assert loader.classify(caught.value)[:3] == (COMPONENT, None, message)


def test_bad_jacobian_blocks_name_their_output(component: Any) -> None:
    from tesseract_host import loader

    source = MODULE + (
        "def jacobian(inputs, jac_inputs, jac_outputs): return {'y': {'x': [1.0, 2.0]}}\n"
    )
    payload = {"inputs": {}, "jac_inputs": ["x"], "jac_outputs": ["y"]}
    with pytest.raises(RuntimeError) as caught:
        component(source).call("jacobian", payload)
    status, path, message, _ = loader.classify(caught.value)
    assert (status, path) == (COMPONENT, "y")
    assert "the block by x" in message


def test_bad_results_name_their_leaf(component: Any) -> None:
    from tesseract_host import loader

    source = MODULE + (
        "def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):\n"
        "    return {'y': [1.0]}\n"
    )
    plan = component(source).prepare("jvp", ("x",), ("y",), ("x",), "")
    with pytest.raises(RuntimeError) as caught:
        plan.run((np.float64(1),), (np.float64(1),))
    assert loader.classify(caught.value)[:2] == (COMPONENT, "y")


def test_opening(tmp_path: Any) -> None:
    from tesseract_host import loader

    def status(path: Any, **options: Any) -> int:
        with pytest.raises(Exception) as caught:
            loader.open(str(path), options)
        return loader.classify(caught.value)[0]

    assert status(tmp_path / "missing.py") == NOT_FOUND
    assert status(tmp_path) == COMPONENT
    assert status(support.write(tmp_path / "c", "raise FileNotFoundError('x')")) == COMPONENT
    assert status(support.write(tmp_path / "c", MODULE), colour=1) == 1


def test_cancelling(component: Any) -> None:
    from tesseract_host import loader
    from tesseract_host.runtime import errors

    asked: list[int] = []

    def hook() -> bool:
        asked.append(1)
        return len(asked) > 3

    source = MODULE + "from tesseract_host.runtime import check_cancelled\n"
    opened = component(source)
    run(opened, "check_cancelled()")
    errors.set_cancel_hook(hook)
    try:
        with pytest.raises(RuntimeError) as caught:
            run(opened, "while True: check_cancelled()")
    finally:
        errors.set_cancel_hook(None)
    assert loader.classify(caught.value)[0] == CANCELLED
    assert len(asked) == 4


NESTED = """
class InputSchema(BaseModel):
    depth: int
class OutputSchema(BaseModel):
    y: int = 0
call = None
wrap = False
def apply(inputs):
    if inputs.depth == 0:
        raise ValueError("the mesh is tangled")
    try:
        call(inputs.depth - 1)
    except RuntimeError as error:
        if wrap:
            raise RuntimeError(f"failed: {error}") from error
        raise
    return {}
"""


@pytest.mark.parametrize("wrap", [False, True])
def test_texts_of_calls_inside_of_calls_do_not_grow_without_end(component: Any, wrap: bool) -> None:
    opened = component(NESTED)
    opened.module.wrap = wrap
    opened.module.call = lambda depth: opened.call("apply", {"inputs": {"depth": depth}})
    with pytest.raises(RuntimeError) as caught:
        opened.module.call(40)
    text = str(caught.value)
    assert len(text) < 300_000
    assert "ValueError: the mesh is tangled" in text
    assert "the mesh is tangled (see above for full traceback)" in text.splitlines()[-1]
    status, _, message, _ = failures.classify(caught.value)
    assert status == COMPONENT
    assert "the mesh is tangled" in message and len(message) < 300_000


def test_a_component_that_calls_itself_for_ever(component: Any) -> None:
    opened = component(NESTED)
    opened.module.call = lambda depth: opened.call("apply", {"inputs": {"depth": 5}})
    with pytest.raises((RuntimeError, RecursionError), match="recursion"):
        opened.module.call(5)
    opened.module.call = lambda depth: None
    assert opened.call("apply", {"inputs": {"depth": 1}}) == {"y": 0}
