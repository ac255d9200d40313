"""Modules that misbehave: a clear error, and the process and the other components go on."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import support

MODULE = """
import os, sys, threading, time
class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), "float64"]] = [1.0]
    code: str = ""
class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), "float64"]]
    seen: Any = None
def apply(inputs):
    names = {}
    exec(inputs.code, {**globals(), "inputs": inputs}, names)
    return names.get("result", {"y": inputs.x, "seen": names.get("seen")})
"""


@pytest.fixture
def other(tmp_path: Path) -> Any:
    """A component that must not notice anything."""
    return support.Ours().open(support.write(tmp_path / "other", MODULE))


@pytest.fixture
def works(other: Any) -> Any:
    """Checks that a component, and another one, can be called."""

    def check(opened: Any = None) -> None:
        for one in (other, opened):
            if one is not None:
                result = one.call("apply", {"inputs": {"x": [1.0, 2.0]}})
                assert result["y"].tolist() == [1.0, 2.0]

    return check


def run(opened: Any, code: str, **inputs: Any) -> Any:
    return opened.call("apply", {"inputs": {"code": code, **inputs}})


# ---- At load -----------------------------------------------------------------------------------

GOOD = support.schema_source("x: Float64", "y: Float64", "return {'y': inputs.x}")

AT_LOAD = {
    "does not parse": ("def apply(:\n", RuntimeError, ("SyntaxError", "tesseract_api.py")),
    "bad indentation": ("if True:\nx = 1\n", RuntimeError, ("IndentationError",)),
    "null bytes": ("x = 1\0\n", RuntimeError, ("tesseract_api.py",)),
    "raises": ("raise KeyError('lost')", RuntimeError, ("KeyError", "lost")),
    "imports nothing": ("import not_there_at_all", RuntimeError, ("not_there_at_all",)),
    "recurses": ("def f(): f()\nf()", RuntimeError, ("RecursionError",)),
    "out of memory": ("raise MemoryError", RuntimeError, ("MemoryError",)),
    "exits": ("import sys; sys.exit(3)", SystemExit, ("3",)),
    "interrupts": ("raise KeyboardInterrupt", KeyboardInterrupt, ()),
    "base exception": ("class B(BaseException): pass\nraise B('b')", BaseException, ("b",)),
    "no apply": (GOOD.replace("apply", "run"), AttributeError, ("apply",)),
    "no inputs": (GOOD.replace("InputSchema", "In"), AttributeError, ("InputSchema",)),
    "no outputs": (GOOD.replace("OutputSchema", "Out"), AttributeError, ("OutputSchema",)),
    "no schema": (GOOD + "InputSchema = 3\n", RuntimeError, ()),
    "bad shape": (GOOD + "Array[[3], 'float32']\n", RuntimeError, ("[3]",)),
    "bad dtype": (GOOD + "Array[(3,), 'floaty']\n", RuntimeError, ("floaty",)),
    "nothing": ("", AttributeError, ("InputSchema",)),
}


@pytest.mark.parametrize("name", AT_LOAD)
def test_at_load(component: Any, works: Any, name: str) -> None:
    source, kind, words = AT_LOAD[name]
    modules = set(sys.modules)
    with pytest.raises(kind) as caught:
        component(source)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert not [m for m in set(sys.modules) - modules if m.startswith("tsr_plugins.p")]
    works()


def test_binary_and_empty_files(tmp_path: Path, works: Any) -> None:
    path = tmp_path / "tesseract_api.py"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(RuntimeError, match=r"tesseract_api\.py"):
        support.Ours().open(path)
    works()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file(tmp_path: Path, works: Any) -> None:
    path = support.write(tmp_path, GOOD)
    path.chmod(0)
    with pytest.raises(RuntimeError, match="PermissionError"):
        support.Ours().open(path)
    works()


def test_a_thread_at_import(component: Any, works: Any) -> None:
    opened = component("import threading\nthreading.Thread(target=int).start()\n" + MODULE)
    works(opened)


# ---- In calls ----------------------------------------------------------------------------------

FAILING = {
    "recurses": ("f = lambda f: f(f)\nf(f)", "RecursionError"),
    "asserts": ("assert 1 == 2, 'sums'", "AssertionError: sums"),
    "writes to its input": ("inputs.x[0] = 7", "read-only"),
    "adds to its input": ("inputs.x += 1", "read-only"),
    "out of memory": ("bytearray(2 ** 62)", "MemoryError"),
    "does not compile": ("(", "SyntaxError"),
    "stops": ("raise StopIteration", "StopIteration"),
    "returns nothing": ("result = None", "ApplyOutputSchema"),
    "returns text": ("result = 'y'", "ApplyOutputSchema"),
    "returns a class": ("result = OutputSchema", "ApplyOutputSchema"),
    "returns a list": ("result = [1]", "ApplyOutputSchema"),
    "returns its inputs": ("result = inputs", "ApplyOutputSchema"),
    "lacks a key": ("result = {}", "y"),
    "adds a key": ("result = {'y': inputs.x, 'more': 1}", "more"),
    "wrong rank": ("result = {'y': 1.0}", "y"),
}


@pytest.mark.parametrize("name", FAILING)
def test_in_calls(component: Any, works: Any, name: str) -> None:
    code, words = FAILING[name]
    opened = component(MODULE)
    mine = np.array([1.0, 2.0])
    with pytest.raises(RuntimeError) as caught:
        run(opened, code, x=mine)
    assert words in str(caught.value)
    assert "Error running Tesseract API apply" in str(caught.value)
    assert mine.tolist() == [1.0, 2.0] and mine.flags.writeable
    works(opened)


@pytest.mark.parametrize("kind", ["SystemExit", "KeyboardInterrupt", "GeneratorExit", "Own"])
def test_base_exceptions_pass_through(component: Any, works: Any, kind: str) -> None:
    opened = component(MODULE + "class Own(BaseException): pass\n")
    with pytest.raises(BaseException) as caught:
        run(opened, f"raise {kind}('now')")
    assert type(caught.value).__name__ == kind
    works(opened)


@pytest.mark.parametrize("endpoint", ["jacobian", "jvp", "vjp"])
def test_wrong_argument_names(component: Any, works: Any, endpoint: str) -> None:
    functions = (
        "def jacobian(a, b, c): pass\n"
        "def jacobian_vector_product(a, b, c, d): pass\n"
        "def vector_jacobian_product(): pass\n"
    )
    opened = component(MODULE + functions)
    short = {"jacobian": "jac"}.get(endpoint, endpoint)
    payload: dict[str, Any] = {"inputs": {}, f"{short}_inputs": ["x"], f"{short}_outputs": ["y"]}
    if endpoint == "jvp":
        payload["tangent_vector"] = {"x": [1.0]}
    elif endpoint == "vjp":
        payload["cotangent_vector"] = {"y": [1.0]}
    with pytest.raises(RuntimeError, match="TypeError"):
        opened.call(endpoint, payload)
    works(opened)


def test_inputs_that_are_kept(component: Any) -> None:
    opened = component("KEPT = []\n" + MODULE)
    mine = np.array([1.0, 2.0])
    run(opened, "KEPT.append(inputs.x)", x=mine)
    mine[0] = 5.0
    assert run(opened, "seen = [k.tolist() for k in KEPT]")["seen"] == [
        [5.0, 2.0]
    ]  # a view of mine
    del mine
    assert run(opened, "seen = [k.tolist() for k in KEPT]")["seen"] == [[5.0, 2.0]]


def test_inputs_that_are_returned(component: Any) -> None:
    mine = np.array([1.0, 2.0])
    result = run(component(MODULE), "", x=mine)["y"]
    assert np.shares_memory(result, mine)
    assert not result.flags.writeable
    assert mine.flags.writeable


def test_what_the_module_keeps_is_not_handed_out_writeable(component: Any) -> None:
    opened = component("CACHE = np.zeros(2)\n" + MODULE)
    result = run(opened, "result = {'y': CACHE}")["y"]
    assert not result.flags.writeable
    assert run(opened, "CACHE[0] = 3; result = {'y': CACHE}")["y"].tolist() == [3.0, 0.0]


def test_a_changed_working_directory(
    component: Any, works: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    support.write(tmp_path / "component", "VALUE = 4\n", "late_helper.py", "")
    opened = component(MODULE)
    (tmp_path / "elsewhere").mkdir()
    run(opened, f"os.chdir({str(tmp_path / 'elsewhere')!r})")
    assert run(opened, "import late_helper; seen = late_helper.VALUE")["seen"] == 4
    works(opened)


@pytest.mark.parametrize("with_path", [False, True])
def test_megabytes_of_output(component: Any, tmp_path: Path, with_path: bool) -> None:
    sizes: list[int] = []
    options = {"output_path": str(tmp_path / "out")} if with_path else {}
    opened = component(MODULE, log=lambda _, line: sizes.append(len(line)), **options)
    run(opened, "for _ in range(20_000): print('x' * 199)")
    run(opened, "for _ in range(20_000): print('x' * 199, end='')")
    assert sizes == [199] * 20_000 + [199 * 20_000]
    if with_path:
        found = sorted(p.stat().st_size for p in (tmp_path / "out").glob("run_*/logs/*.log"))
        assert found == [199 * 20_000, 200 * 20_000]


def test_threads_that_outlive_the_call(component: Any, works: Any) -> None:
    lines: list[str] = []
    opened = component(MODULE, log=lambda _, line: lines.append(line))
    opened.module.go = threading.Event()
    code = (
        "def work():\n"
        "    go.wait(30)\n"
        "    print('from the thread')\n"
        "t = threading.Thread(target=work, daemon=True); t.start(); seen = [t]\n"
    )
    (thread,) = run(opened, code)["seen"]
    works(opened)
    opened.module.go.set()
    thread.join(30)
    assert lines == ["from the thread"]


def test_a_failing_thread(component: Any, works: Any, monkeypatch: Any) -> None:
    caught: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", caught.append)
    opened = component(MODULE)
    run(opened, "t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()")
    assert len(caught) == 1
    works(opened)


def test_a_module_edited_on_disk(tmp_path: Path) -> None:
    path = support.write(tmp_path / "c", MODULE + "VERSION = 1\n")
    opened = support.Ours().open(path)
    support.write(tmp_path / "c", "raise ValueError('edited')\n")
    assert run(opened, "seen = VERSION")["seen"] == 1
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run(opened, "1 / 0")  # the traceback's lines are gone
    path.unlink()
    assert run(opened, "seen = VERSION")["seen"] == 1
    support.write(tmp_path / "c", MODULE + "VERSION = 2\n")
    again = support.Ours().open(path)
    assert [run(o, "seen = VERSION")["seen"] for o in (opened, again)] == [1, 2]


def test_a_call_in_a_running_event_loop(component: Any) -> None:
    opened = component(MODULE)

    async def main() -> Any:
        return run(opened, "")["y"]

    assert asyncio.run(main()).tolist() == [1.0]


def test_a_module_that_calls_itself(component: Any) -> None:
    opened = component(MODULE)
    opened.module.me = opened
    code = "seen = me.call('apply', {'inputs': {'x': [5.0]}})['y'].tolist()"
    assert run(opened, code)["seen"] == [5.0]


# ---- Environments ------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["numpy", "pydantic"])
def test_an_environment_without(missing: str) -> None:
    import tesseract_host

    code = (
        f"import sys; sys.path.insert(0, {str(Path(tesseract_host.__file__).parents[1])!r})\n"
        f"sys.modules[{missing!r}] = None\n"
        "import tesseract_host\n"
        "try:\n"
        "    from tesseract_host import loader\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True
    )
    assert missing in done.stdout and sys.executable in done.stdout
    assert "install numpy and pydantic" in done.stdout
