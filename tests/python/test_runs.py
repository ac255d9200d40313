"""Module contract §10: the folder of a run, and what is captured in its log file."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import support

MODULE = """
import ctypes, os, subprocess, sys, threading, time
class InputSchema(BaseModel):
    code: str = ""
class OutputSchema(BaseModel):
    y: Any = None
def apply(inputs):
    names = {}
    exec(inputs.code, globals(), names)
    return {"y": names.get("result")}
"""

EVERYTHING = """
print("printed")
print("to stderr", file=sys.stderr)
os.write(1, b"descriptor 1\\n")
os.write(2, b"descriptor 2\\n")
subprocess.run(["echo", "a child"])
subprocess.run(["sh", "-c", "echo its stderr >&2"])
subprocess.run(["echo", "by stream"], stdout=sys.stdout)
print("unfinished", end="")
"""

LINES = [
    "printed",
    "to stderr",
    "descriptor 1",
    "descriptor 2",
    "a child",
    "its stderr",
    "by stream",
    "unfinished",
]


def call(opened: Any, code: str, **keywords: Any) -> Any:
    return opened.call("apply", {"inputs": {"code": code}}, **keywords)["y"]


def logs(folder: Path) -> list[Path]:
    return sorted(folder.glob("run_*/logs/tesseract.log"))


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_everything_is_in_the_log_file_in_order(component: Any, out: Path, capfd: Any) -> None:
    opened = component(MODULE, output_path=str(out))
    call(opened, EVERYTHING)
    (log,) = logs(out)
    assert lines(log) == LINES
    assert capfd.readouterr() == ("", "")


def test_output_of_native_code_is_flushed(component: Any, out: Path, capfd: Any) -> None:
    opened = component(MODULE, output_path=str(out))
    code = "libc = ctypes.CDLL(None); libc.printf(b'from C\\n'); print('after')"
    call(opened, code)
    assert lines(logs(out)[0]) == ["from C", "after"]
    assert capfd.readouterr() == ("", "")


def test_a_call_that_prints_nothing_leaves_nothing(component: Any, out: Path) -> None:
    opened = component(MODULE, output_path=out)
    call(opened, "")
    call(opened, "")
    assert list(out.iterdir()) == []


def test_the_log_of_a_named_run_is_there_from_the_beginning(component: Any, out: Path) -> None:
    opened = component(MODULE, output_path=out)
    path = out / "run_named" / "logs" / "tesseract.log"
    code = f"print('so far'); sys.stdout.flush(); result = open({str(path)!r}).read()"
    assert call(opened, code, run_id="named") == "so far\n"
    call(opened, "", run_id="silent")
    assert (out / "run_silent" / "logs" / "tesseract.log").read_text() == ""


def test_what_a_child_writes_later_is_in_no_other_log(component: Any, out: Path) -> None:
    opened = component(MODULE, output_path=out)
    code = "print(1); result = subprocess.Popen(['sh', '-c', 'read x; echo late'], stdin=-1)"
    child = call(opened, code)
    child.stdin.close()
    child.wait()
    call(opened, "print(2)")
    assert sorted(map(lines, logs(out))) == [["1"], ["2"]]


def test_a_log_that_can_not_be_written_does_not_fail_the_call(component: Any, out: Path) -> None:
    opened = component(MODULE, output_path=out)
    out.rmdir()
    out.write_text("in the way")
    with pytest.warns(RuntimeWarning, match="the log of a run is lost"):
        assert call(opened, "print(1); result = 2") == 2
    with pytest.raises(OSError):
        call(opened, "print(1)", run_id="named")


def test_each_call_has_its_own_run(component: Any, out: Path) -> None:
    opened = component(MODULE, output_path=str(out))
    call(opened, "print(1)")
    call(opened, "print(2)")
    assert sorted(lines(log)[0] for log in logs(out)) == ["1", "2"]


def test_a_run_id_names_the_folder(component: Any, out: Path) -> None:
    opened = component(MODULE, output_path=str(out))
    call(opened, "print(1)", run_id="mine")
    call(opened, "print(2)", run_id="mine")
    assert lines(out / "run_mine" / "logs" / "tesseract.log") == ["1", "2"]


@pytest.mark.parametrize("identity", ["../../../outside", "/../../../x"])
def test_a_run_id_stays_inside(component: Any, out: Path, identity: str) -> None:
    opened = component(MODULE, output_path=str(out / "deep"))
    with pytest.raises(ValueError, match="run id"):
        call(opened, "print(1)", run_id=identity)
    assert list(out.iterdir()) == [out / "deep"]
    assert call(opened, "result = 1") == 1


def test_a_run_id_without_output_path(
    component: Any, tmp_path: Path, monkeypatch: Any, capfd: Any
) -> None:
    import tempfile

    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    opened = component(MODULE)
    call(opened, "print(1)", run_id="mine")
    (log,) = logs(next((tmp_path / "temporary").iterdir()))
    assert lines(log) == ["1"]
    assert capfd.readouterr() == ("", "")
    opened.close()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_without_any_of_it_descriptors_stay(component: Any, capfd: Any) -> None:
    opened = component(MODULE, log=lambda *_: None)
    call(opened, EVERYTHING)
    captured = capfd.readouterr()
    assert "descriptor 1\na child\n" in captured.out
    assert "descriptor 2\nits stderr\n" in captured.err
    assert "printed" not in captured.out


@pytest.mark.parametrize("error", ["ValueError", "SystemExit", "KeyboardInterrupt"])
def test_descriptors_are_put_back(component: Any, out: Path, capfd: Any, error: str) -> None:
    opened = component(MODULE, output_path=str(out))
    with pytest.raises((RuntimeError, SystemExit, KeyboardInterrupt)):
        call(opened, f"print('so far', end=''); raise {error}('no')")
    os.write(1, b"mine\n")
    print("mine too")
    assert capfd.readouterr().out == "mine\nmine too\n"
    assert lines(logs(out)[0]) == ["so far"]


def test_no_descriptors_are_left_open(component: Any, out: Path) -> None:
    opened = component(MODULE, output_path=str(out), stream_logs=lambda _: None)
    call(opened, "print(1)")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        call(opened, "print(1)")
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_stdout_without_descriptor(
    component: Any, out: Path, monkeypatch: Any, capfd: Any
) -> None:
    opened = component(MODULE, output_path=str(out))
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    call(opened, EVERYTHING.replace("stdout=sys.stdout", "stdout=subprocess.DEVNULL"))
    captured = capfd.readouterr()
    assert "descriptor 1\na child\n" in captured.out  # not redirected
    assert lines(logs(out)[0]) == ["printed", "to stderr", "unfinished"]


def test_lines_are_streamed_to_a_function(component: Any, capfd: Any) -> None:
    seen: list[str] = []

    def sink(line: str) -> None:
        seen.append(line)
        print("sink:", line)

    opened = component(MODULE, stream_logs=sink)
    call(opened, EVERYTHING)
    assert seen == LINES
    assert capfd.readouterr() == ("".join(f"sink: {line}\n" for line in LINES), "")
    print("after")
    assert capfd.readouterr() == ("after\n", "")


def test_lines_are_streamed_while_the_call_runs(component: Any) -> None:
    arrived = threading.Event()
    opened = component(MODULE, stream_logs=lambda _: arrived.set())
    opened.module.arrived = arrived
    assert call(opened, "print('now'); result = arrived.wait(30)") is True


def test_lines_are_streamed_to_stderr(component: Any, capfd: Any) -> None:
    opened = component(MODULE, stream_logs=True)
    call(opened, "print('one'); os.write(1, b'two\\n')")
    assert capfd.readouterr() == ("", "one\ntwo\n")


def test_a_failing_function_does_not_fail_the_call(component: Any) -> None:
    def sink(line: str) -> None:
        raise OSError("full")

    assert call(component(MODULE, stream_logs=sink), "print(1); result = 2") == 2


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_bad_stream_logs(component: Any, value: Any) -> None:
    opened = component(MODULE, stream_logs=value)
    with pytest.raises(ValueError, match="stream_logs"):
        call(opened, "")


def test_the_log_callback_hears_of_it_too(component: Any, out: Path) -> None:
    heard: list[str] = []
    opened = component(MODULE, log=lambda _, line: heard.append(line), output_path=str(out))
    call(opened, "print('one'); print('two', end='')")
    assert heard == lines(logs(out)[0]) == ["one", "two"]


def test_nested_calls(component: Any, tmp_path: Path, out: Path) -> None:
    inner = support.Ours().open(
        support.write(tmp_path / "inner", MODULE), output_path=str(out / "inner")
    )
    outer = component(MODULE, output_path=str(out / "outer"))
    outer.module.inner = inner
    code = "os.write(1, b'inside\\n'); print('inside too')"
    call(
        outer,
        f"print('before'); inner.call('apply', {{'inputs': {{'code': {code!r}}}}})\n"
        "print('after'); os.write(1, b'at last\\n')",
    )
    assert lines(logs(out / "outer")[0]) == ["before", "after", "at last"]
    assert lines(logs(out / "inner")[0]) == ["inside", "inside too"]


def test_calls_from_two_threads_do_not_mix(tmp_path: Path, out: Path) -> None:
    path = support.write(tmp_path / "c", MODULE)
    opened = [support.Ours().open(path, output_path=str(out / name)) for name in "ab"]
    code = "for _ in range(20): os.write(1, b'{0}\\n'); print('{0}'); time.sleep(0)"
    threads = [
        threading.Thread(target=call, args=(one, code.format(name)))
        for one, name in zip(opened, "ab", strict=True)
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in "ab":
        assert [lines(log) for log in logs(out / name)] == [[name] * 40] * 3


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_forked_while_another_thread_is_captured(tmp_path: Path, out: Path) -> None:
    path = support.write(tmp_path / "c", MODULE)
    first, second = (support.Ours().open(path, output_path=str(out / name)) for name in "ab")
    first.module.begun, first.module.over = threading.Event(), threading.Event()
    thread = threading.Thread(target=call, args=(first, "begun.set(); over.wait(60)"))
    thread.start()
    assert first.module.begun.wait(30)
    child = os.fork()
    if child == 0:
        try:
            call(second, "print('in the child')")
            os._exit(7)
        finally:
            os._exit(1)
    first.module.over.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert lines(logs(out / "b")[0]) == ["in the child"]


def test_an_output_path_that_can_not_be_made(component: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        component(MODULE, output_path=str(tmp_path / "file"))


def test_records_of_functions_imported_in_the_endpoint(component: Any, out: Path) -> None:
    opened = component(MODULE, output_path=str(out))
    opened_without = component(MODULE)
    code = "from tesseract_core.runtime.experimental import log_metric; log_metric('a', 1)"
    call(opened, code)
    call(opened, code)
    assert len(list(out.glob("run_*/logs/metrics.csv"))) == 2
    call(opened_without, code)  # where no call has had a run so far
    call(opened_without, code)


def test_artifacts_may_be_folders(component: Any, out: Path, tmp_path: Path) -> None:
    (tmp_path / "fields").mkdir()
    (tmp_path / "fields" / "a.txt").write_text("a")
    opened = component(MODULE, output_path=str(out))
    code = "from tesseract_core.runtime.experimental import log_artifact; log_artifact({!r})"
    call(opened, code.format(str(tmp_path / "fields")))
    (copy,) = out.glob("run_*/logs/artifacts/fields/a.txt")
    assert copy.read_text() == "a"
    with pytest.raises(RuntimeError, match="no artifact"):
        call(opened, code.format(str(tmp_path / "none")))


def test_steps_are_counted_per_key(component: Any, out: Path) -> None:
    opened = component(MODULE, output_path=str(out))
    code = (
        "from tesseract_core.runtime.experimental import log_metric\n"
        "for key, step in [('a', None), ('a', 7), ('a', None), ('b', None)]:\n"
        "    log_metric(key, 1.0, step)\n"
    )
    call(opened, code)
    (path,) = out.glob("run_*/logs/metrics.csv")
    assert [line.split(",")[1:] for line in lines(path)[1:]] == [
        ["a", "1.0", "0"],
        ["a", "1.0", "7"],
        ["a", "1.0", "2"],
        ["b", "1.0", "0"],
    ]
