"""What modules print goes to the component's log, and nowhere else."""

from __future__ import annotations

import contextlib
import io
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

HEAD = """
import contextlib, io, os, subprocess, sys, threading
class InputSchema(BaseModel):
    code: str
class OutputSchema(BaseModel):
    y: Any = None
def apply(inputs):
    names = {}
    exec(inputs.code, globals(), names)
    return {"y": names.get("result")}
"""


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def run(component: Any, log: list[str]) -> Any:
    """Executes code in the module."""

    def collect(level: int, line: str) -> None:
        assert level == 5
        log.append(line)

    opened = component(HEAD, log=collect)
    return lambda code: opened.call("apply", {"inputs": {"code": code}})["y"]


PRINTING = [
    ("print('a', 1)", ["a 1"]),
    ("print('a'); print('b', end=''); print('c')", ["a", "bc"]),
    ("print('unfinished', end='')", ["unfinished"]),
    ("print('two\\nlines')", ["two", "lines"]),
    ("print()", [""]),
    ("print('e', file=sys.stderr)", ["e"]),
    ("sys.stdout.write('w\\n')", ["w"]),
    ("sys.stdout.writelines(['x\\n', 'y\\n'])", ["x", "y"]),
    ("from sys import stdout; stdout.write('f\\n'); stdout.flush()", ["f"]),
    ("sys.stdout.buffer.write(b'bytes\\n')", ["bytes"]),
    ("print('flushed', flush=True)", ["flushed"]),
    ("import sys as s; s.stderr.write('s\\n')", ["s"]),
]


@pytest.mark.parametrize(("code", "lines"), PRINTING)
def test_printing(run: Any, log: list[str], capfd: Any, code: str, lines: list[str]) -> None:
    run(code)
    assert log == lines
    assert capfd.readouterr() == ("", "")


def test_threads_of_the_module(run: Any, log: list[str]) -> None:
    run("t = threading.Thread(target=print, args=('from a thread',)); t.start(); t.join()")
    assert log == ["from a thread"]


def test_what_the_module_redirects_itself(run: Any, log: list[str]) -> None:
    code = (
        "buffer = io.StringIO()\n"
        "with contextlib.redirect_stdout(buffer):\n"
        "    print('kept')\n"
        "    sys.stdout.write('too')\n"
        "print('after')\n"
        "result = buffer.getvalue()\n"
    )
    assert run(code) == "kept\ntoo"
    assert log == ["after"]


def test_replacing_stdout(run: Any, log: list[str]) -> None:
    code = (
        "old, sys.stdout = sys.stdout, io.StringIO()\n"
        "print('kept')\n"
        "new, sys.stdout = sys.stdout, old\n"
        "print('after')\n"
        "result = new.getvalue()\n"
    )
    assert run(code) == "kept\n"
    assert log == ["after"]


def test_streams_have_the_real_descriptors(run: Any) -> None:
    with open("/dev/null", "w") as null, contextlib.redirect_stdout(null):
        assert run("result = sys.stdout.fileno()") == null.fileno()


def test_children_can_be_given_the_stream(run: Any, capfd: Any) -> None:
    code = "result = subprocess.run(['echo', 'child'], stdout=sys.stdout).returncode"
    with capfd.disabled(), open("/dev/null", "w") as null, contextlib.redirect_stdout(null):
        assert run(code) == 0


def test_the_callers_streams_stay(run: Any, log: list[str]) -> None:
    mine = io.StringIO()
    with contextlib.redirect_stdout(mine):
        run("print('theirs')")
        print("mine")
    assert (mine.getvalue(), log) == ("mine\n", ["theirs"])


def test_two_threads_do_not_mix_in_a_line(component: Any) -> None:
    lines: list[str] = []
    opened = component(HEAD, log=lambda _, line: lines.append(line), threads="concurrent")
    code = "for _ in range(200): print('ab', end=''); print('cd')"
    workers = [
        threading.Thread(target=opened.call, args=("apply", {"inputs": {"code": code}}))
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert lines == ["abcd"] * 800


def test_output_of_the_import_goes_to_the_real_stream(component: Any, capsys: Any) -> None:
    lines: list[str] = []
    component("print('importing')\n" + HEAD, log=lambda _, line: lines.append(line))
    assert (capsys.readouterr().out, lines) == ("importing\n", [])


def test_two_components(component: Any, tmp_path: Any) -> None:
    first: list[str] = []
    second: list[str] = []
    one = component(HEAD, log=lambda _, line: first.append(line))
    two = component(HEAD, log=lambda _, line: second.append(line))
    one.call("apply", {"inputs": {"code": "print(1)"}})
    two.call("apply", {"inputs": {"code": "print(2)"}})
    assert (first, second) == (["1"], ["2"])


def test_a_failing_log_does_not_fail_the_module(component: Any) -> None:
    def fail(level: int, line: str) -> None:
        raise OSError("full")

    opened = component(HEAD, log=fail)
    code = {"code": "print(1); result = 2"}
    assert opened.call("apply", {"inputs": code})["y"] == 2


def test_output_before_an_error_is_logged(run: Any, log: list[str]) -> None:
    with pytest.raises(RuntimeError):
        run("print('so far', end=''); raise ValueError")
    assert log == ["so far"]


def test_sys_is_otherwise_the_real_one(run: Any) -> None:
    code = (
        "import sys as real_looking\n"
        "sys.mark = 1\n"
        "result = (sys.modules is __import__('sys').modules, sys.path, sys.version, sys.mark)\n"
        "del sys.mark\n"
    )
    import sys

    assert run(code) == (True, sys.path, sys.version, 1)
    assert not hasattr(sys, "mark")


WARNING_MODULE = """
import warnings
import numpy as np
warnings.warn("at import")
class InputSchema(BaseModel):
    how: str
    @field_validator("how")
    def check(cls, how):
        warnings.warn(f"validating {how}")
        return how
class OutputSchema(BaseModel):
    y: Any = None
def apply(inputs):
    if inputs.how == "numpy":
        return {"y": np.ones(1) / np.zeros(1) > 0}
    if inputs.how == "record":
        with warnings.catch_warnings(record=True) as caught:
            warnings.warn("recorded")
        return {"y": len(caught)}
    if inputs.how == "error":
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                warnings.warn("raised")
            except UserWarning:
                return {"y": "raised"}
    return {}
"""


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What the process shows itself."""
    texts: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", lambda text, *_: texts.append(str(text)))
        yield texts


def test_warnings_go_to_the_log_of_their_component(component: Any, shown: list[str]) -> None:
    from tesseract_host import loader

    loader.route_warnings()
    loader.route_warnings()
    logs: tuple[list[tuple[int, str]], ...] = ([], [])
    one = component(WARNING_MODULE, log=lambda *line: logs[0].append(line))
    logs[0].clear()
    two = component(WARNING_MODULE, log=lambda *line: logs[1].append(line))
    assert logs[0] == []
    assert [level for level, _ in logs[1]] == [3]
    assert "UserWarning: at import (" in logs[1][0][1]
    assert "tesseract_api.py:" in logs[1][0][1]
    logs[1].clear()

    one.call("apply", {"inputs": {"how": "numpy"}})
    assert [level for level, _ in logs[0]] == [3, 3]
    assert "UserWarning: validating numpy (" in logs[0][0][1]
    assert "RuntimeWarning: divide by zero" in logs[0][1][1]
    assert logs[1] == []
    assert shown == []
    warnings.warn("of the program", stacklevel=1)
    assert shown == ["of the program"]

    two.call("apply", {"inputs": {"how": "record"}})
    two.call("apply", {"inputs": {"how": "error"}})
    assert [text.partition(" (")[0] for _, text in logs[1]] == [
        "UserWarning: validating record",
        "UserWarning: validating error",
    ]


def test_warnings_are_the_process_s_unless_routed(component: Any, shown: list[str]) -> None:
    log: list[Any] = []
    opened = component(WARNING_MODULE, log=lambda *line: log.append(line))
    opened.call("apply", {"inputs": {"how": "plain"}})
    assert shown == ["at import", "validating plain"]
    assert log == []
