"""Module contract §2: loading a module, and what is said when that fails."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
import support

GOOD = support.schema_source("x: Float64", "y: Float64", "return {'y': inputs.x}")

DERIVATIVE = "\ndef {}(**keywords): pass\n"


FAILURES = [
    # source, exception, words of the message
    ("raise KeyError('lost')", RuntimeError, ("tesseract_api.py",)),
    ("import no_such_module_anywhere", RuntimeError, ("tesseract_api.py",)),
    ("def (", RuntimeError, ("tesseract_api.py",)),
    ("x = Array[[3], 'float32']", RuntimeError, ("tesseract_api.py",)),
    ("sys = __import__('sys'); sys.exit(3)", SystemExit, ()),
    ("raise KeyboardInterrupt", KeyboardInterrupt, ()),
    (GOOD.replace("InputSchema", "Inputs"), AttributeError, ("InputSchema",)),
    (GOOD.replace("OutputSchema", "Outputs"), AttributeError, ("OutputSchema",)),
    (GOOD.replace("def apply", "def other"), AttributeError, ("apply",)),
    (GOOD + "class Thing: pass\nInputSchema = Thing\n", RuntimeError, ()),
    (GOOD + "OutputSchema = 3\n", RuntimeError, ()),
    (
        GOOD + DERIVATIVE.format("jacobian"),
        RuntimeError,
        ("No differentiable inputs found",),
    ),
    (
        support.schema_source("x: Differentiable[Float64]", "y: Float64")
        + DERIVATIVE.format("vector_jacobian_product"),
        RuntimeError,
        ("No differentiable outputs found",),
    ),
    (
        "class N(BaseModel):\n    n: Optional['N'] = None\n" + support.schema_source("n: N"),
        ValueError,
        ("N",),
    ),
    (
        "class Opaque: pass\n" + support.schema_source("x: Opaque"),
        RuntimeError,
        (),
    ),
]


@pytest.mark.parametrize(("source", "error", "words"), FAILURES)
def test_failing_loads(
    host: Any, opened: Any, source: str, error: type[BaseException], words: tuple[str, ...]
) -> None:
    path, modules = list(sys.path), set(sys.modules)
    with pytest.raises(error) as caught:
        opened(source)
    assert all(word in str(caught.value) for word in words)
    left = [name for name in set(sys.modules) - modules if "tsr_plugins.p" in name]
    assert not left
    if host.name == "tesseract_host":
        assert sys.path == path


def test_the_reason_is_in_the_cause_chain(opened: Any) -> None:
    with pytest.raises(RuntimeError) as caught:
        opened("raise KeyError('lost')")
    chain, error = [], caught.value
    while error is not None:
        chain.append(type(error))
        error = error.__cause__
    assert KeyError in chain


def test_a_folder_is_not_a_file(host: Any, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="not a file"):
        host.open(tmp_path)


def test_a_missing_file(host: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        host.open(tmp_path / "tesseract_api.py")


@pytest.mark.parametrize("name", ["tesseract_api.py", "other.py", "with-dash.py", "2nd.py"])
def test_any_file_name(host: Any, tmp_path: Path, name: str) -> None:
    path = support.write(tmp_path / "c", GOOD, name)
    assert host.open(path).call("apply", {"inputs": {"x": 2}})["y"] == 2


def test_a_suffix_of_its_own(tmp_path: Path) -> None:
    path = support.write(tmp_path / "c", GOOD, "module.txt")
    assert support.Ours().open(path).call("apply", {"inputs": {"x": 2}})["y"] == 2


def test_a_relative_path_and_the_working_directory(
    host: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    support.write(tmp_path / "c", GOOD + "import os\nHERE = os.getcwd()\n")
    monkeypatch.chdir(tmp_path)
    module = host.open("c/tesseract_api.py")
    assert module.call("apply", {"inputs": {"x": 2}})["y"] == 2
    assert os.getcwd() == str(tmp_path)


def test_name_and_file_of_the_module(host: Any, tmp_path: Path) -> None:
    source = support.schema_source(
        "x: int = 0",
        body="import sys; m = sys.modules[__name__]; "
        "return {'y': (m.__dict__ is globals(), __file__)}",
    )
    path = support.write(tmp_path / "c", source)
    own, file = host.open(path).call("apply", {"inputs": {}})["y"]
    assert own
    assert file == str(path)


def test_opened_twice_there_are_two_modules(host: Any, tmp_path: Path) -> None:
    source = "count = 0\n" + support.schema_source(
        "x: int = 0", body="global count; count += 1; return {'y': count}"
    )
    path = support.write(tmp_path / "c", source)
    first, second = host.open(path), host.open(path)
    counts = [m.call("apply", {"inputs": {}})["y"] for m in (first, first, second)]
    assert counts == [1, 2, 1]


def test_accepted_forms_of_schemas(opened: Any) -> None:
    source = """
        class N(BaseModel):
            v: Float64
        class InputSchema(BaseModel):
            a: List[N]
            b: Dict[str, N]
            c: N
            d: Tuple[int, ...] = ()
        class OutputSchema(RootModel[dict[str, Float64]]):
            pass
        def apply(inputs):
            return {"s": inputs.a[0].v + inputs.b["k"].v + inputs.c.v}
    """
    v = {"v": 1}
    result = opened(source).call("apply", {"inputs": {"a": [v], "b": {"k": v}, "c": v}})
    assert result == {"s": 3.0}


def test_a_dataclass_as_schema(opened: Any) -> None:
    source = """
        import dataclasses
        @dataclasses.dataclass
        class InputSchema:
            x: float
        class OutputSchema(BaseModel):
            y: float
        def apply(inputs):
            return {"y": inputs.x * 2}
    """
    assert opened(source).call("apply", {"inputs": {"x": 2}}) == {"y": 4.0}


def test_models_may_refer_to_later_ones(component: Any) -> None:
    source = """
        class Early(BaseModel):
            later: "Later"
        class InputSchema(BaseModel):
            early: Early
        class Later(BaseModel):
            v: Float64
        class OutputSchema(BaseModel):
            y: Float64
        def apply(inputs):
            return {"y": inputs.early.later.v}
    """
    inputs = {"early": {"later": {"v": 3}}}
    assert component(source).call("apply", {"inputs": inputs}) == {"y": 3.0}


def test_the_environment_is_left_alone(tmp_path: Path) -> None:
    support.write(tmp_path / "c", "X = 1\n", "helper.py", head="")
    path = support.write(tmp_path / "c", "import helper\n" + GOOD)
    before, path_before = dict(os.environ), list(sys.path)
    modules = {name for name in sys.modules if not name.startswith("tsr_plugins")}
    support.Ours().open(path)
    assert dict(os.environ) == before
    assert sys.path == path_before
    assert "tesseract_api" not in set(sys.modules) - modules
    assert "helper" not in sys.modules


def test_export_pythonpath(tmp_path: Path) -> None:
    path = support.write(tmp_path / "c", GOOD)
    support.Ours().open(path, export_pythonpath=True)
    assert str(path.parent) in os.environ["PYTHONPATH"].split(os.pathsep)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"colour": 1}, ("colour", "input_path", "threads", " loader,", " python,", " strict,")),
        ({"threads": "many"}, ("threads", "concurrent")),
        ({"runtime_config": 3}, ("runtime_config",)),
    ],
)
def test_options_are_checked(tmp_path: Path, options: dict[str, Any], words: Any) -> None:
    path = support.write(tmp_path / "c", GOOD)
    with pytest.raises(ValueError) as caught:
        support.Ours().open(path, **options)
    assert all(word in str(caught.value) for word in words)


def test_offered_endpoints(component: Any) -> None:
    source = support.schema_source("x: Differentiable[Float64]", "y: Differentiable[Float64]")
    source += DERIVATIVE.format("jacobian") + DERIVATIVE.format("vector_jacobian_product")
    assert component(source).endpoints == {"apply", "jacobian", "vjp"}


def test_closing_forgets_the_modules(component: Any) -> None:
    opened = component(GOOD)
    package = opened.module.__name__.rpartition(".")[0]
    plan = opened.prepare("apply", ("x",), ("y",), (), "")
    opened.close()
    assert not [name for name in sys.modules if name.startswith(package)]
    assert plan.run((2.0,), ())[0] == [2.0]
