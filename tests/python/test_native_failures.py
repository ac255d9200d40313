"""Native components in `Tesseract`: what fails, threads, interrupts and logs."""

from __future__ import annotations

import gc
import logging
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import native
import numpy as np
import pytest
from native import opened

X = np.arange(3.0)


# ---- Errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "path", "text"),
    [
        ({"x": "text"}, "x", "expected an array of numbers, not str"),
        ({"x": ["a"]}, "x", "list of dtype"),
        ({"x": [1, [2]]}, "x", "x: "),
        ({"x": object()}, "x", "not object"),
        ({"x": np.ones((2, 2))}, "x", "expected rank 1, found 2"),
        ({"x": X * 1j}, "x", "complex128"),
        ({"x": X.astype("datetime64[s]")}, "x", "datetime64"),
        ({"x": X.astype(np.longdouble)}, "x", ""),
        ({"a": 1.0}, "x", "required"),
        ({"x": X, "z": 1}, "z", "unknown"),
        ({"x": X, "z": X}, "z", "unknown"),
        ({"x": X, "z": {"y": X}}, "z.y", "unknown"),
        ({"x": X, 3: X}, None, "the key 3 is no text"),
        ({"x": X, "z": object()}, "z", "neither an array nor a JSON value"),
        ({"x": X, "a": [1.0]}, "a", "rank 0"),
        ({"x": X, "z": 2**64}, "z", "64 bits"),
        ([X], None, "inputs must be a dict"),
        (None, None, "inputs must be a dict"),
    ],
)
def test_bad_inputs(inputs: Any, path: str | None, text: str) -> None:
    from tesseract_host.exceptions import InputError

    square = opened("square")
    for _ in range(2):
        with pytest.raises(InputError) as caught:
            square.apply(inputs)
        assert isinstance(caught.value, ValueError)
        assert text in str(caught.value) and "square" in str(caught.value)
        assert caught.value.path == path
        assert square.apply({"x": X})["y"].tolist() == [0, 1, 4]


@pytest.mark.parametrize(
    "arguments",
    [
        ({"x": X}, [], ["y"], {"y": X}),
        ({"x": X}, ["x"], [], {}),
        ({"x": X}, "x", ["y"], {"y": X}),
        ({"x": X}, ["z"], ["y"], {"y": X}),
        ({"x": X}, ["x"], ["z"], {"z": X}),
        ({"x": X}, ["x"], ["y"], {}),
        ({"x": X}, ["x"], ["y"], {"y": X, "x": X}),
        ({"x": X}, ["x"], ["y"], {"y": np.ones(2)}),
        ({"x": X}, ["x"], ["y"], {"y": "text"}),
        ({"x": X}, ["x"], ["y"], None),
        ({"x": X}, [3], ["y"], {"y": X}),
        ({"x": X}, None, ["y"], {"y": X}),
    ],
)
def test_bad_paths_and_seeds(arguments: Any) -> None:
    square = opened("square")
    for _ in range(2):
        with pytest.raises(ValueError, match="square"):
            square.vector_jacobian_product(*arguments)
    assert square.apply({"x": X})["y"].tolist() == [0, 1, 4]


def test_a_component_that_fails() -> None:
    from tesseract_host.exceptions import EndpointError

    square, throws = opened("square"), opened("throws")
    for _ in range(2):
        with pytest.raises(EndpointError, match="a is negative") as caught:
            square.apply({"x": X, "a": -1.0})
        assert caught.value.out_of_domain
        with pytest.raises(EndpointError, match="thrown by apply") as caught:
            throws.apply({"kind": 1})
        assert not caught.value.out_of_domain
        assert throws.apply({"kind": 0}) == {"y": 1.0}
    with pytest.raises(MemoryError):
        throws.apply({"kind": 3})


def test_the_error_of_an_inner_component_is_the_cause() -> None:
    from tesseract_host.exceptions import EndpointError

    outer = opened("nested", options={"inner": str(native.plugin("square"))})
    assert outer.apply({"x": X})["y"].tolist() == [1, 2, 5]
    with pytest.raises(EndpointError) as caught:
        outer.apply({"x": X, "a": -1.0})
    assert "a is negative" in str(caught.value.__cause__)


def test_what_can_t_be_opened(tmp_path: Path) -> None:
    native.need_binding()
    from tesseract_host import Tesseract
    from tesseract_host.exceptions import OpenError

    with pytest.raises(FileNotFoundError, match="nowhere"):
        Tesseract.from_library(tmp_path / "nowhere.so")
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises((OpenError, FileNotFoundError)):
        Tesseract.from_library(tmp_path / "text.so")
    for name in ("no_entry", "missing_symbol"):
        with pytest.raises(RuntimeError, match=name):
            opened(name)
    with pytest.raises(ValueError, match="loss"):
        opened("stateful", options={"loss": 1})
    with pytest.raises(TypeError):
        opened("stateful", options={"gain": object()})


# ---- Threads -----------------------------------------------------------------------------------


def test_calls_run_without_the_gil() -> None:
    """Each of three calls returns once all are inside; no other test has so many."""
    meeting = opened("concurrent")
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(meeting.apply({"together": 3})), daemon=True)
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [int(result["in_instance"]) for result in results] == [3, 3, 3]


def test_a_serial_component_s_callers_wait() -> None:
    serial = opened("serial_instance")
    results = []

    def call() -> None:
        for _ in range(50):
            results.append(int(serial.apply({})["in_instance"]))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1] * 200


def test_one_endpoint_called_by_many_threads() -> None:
    values = opened("values")

    def call(start: int) -> None:
        for i in range(start, start + 60):
            result = values.apply({"x": np.full(4, float(i)), "anything": i % 40})
            assert result["sum"] == 4 * i and result["seen"]["anything"] == i % 40
            done.append(i)

    done: list[int] = []
    threads = [threading.Thread(target=call, args=(100 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 240


def test_a_thread_of_its_own() -> None:
    square = opened("square", threads="owner")
    assert square.apply({"x": X})["y"].tolist() == [0, 1, 4]
    assert square._client.description["threads"] == "owner"


INTERRUPTED = """
import signal, sys, threading, time
sys.path.insert(0, {package!r})
from tesseract_host import Tesseract
meeting = Tesseract.from_library({file!r})
main = threading.get_ident()
signal.signal(signal.SIGINT, signal.default_int_handler)  # may be inherited as ignored

def come_late():
    time.sleep(0.3)
    signal.pthread_kill(main, signal.SIGINT)
    time.sleep(0.3)
    print("late")
    sys.stdout.flush()
    meeting.apply({{"together": 2}})

threading.Thread(target=come_late).start()
try:
    meeting.apply({{"together": 2}})
except KeyboardInterrupt:
    print("interrupted")
print(meeting.apply({{}})["in_instance"])
"""


def test_an_interrupt_is_raised_when_the_call_returns() -> None:
    package = str(Path(__file__).parents[2] / "python")
    program = INTERRUPTED.format(package=package, file=str(native.plugin("concurrent")))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.split() == ["late", "interrupted", "2"], done.stderr


def test_the_log(caplog: pytest.LogCaptureFixture) -> None:
    lines: list[tuple[int, str]] = []
    own = opened("own_thread", log=lambda level, line: lines.append((level, line)))
    own.apply({})
    assert (2, "applied") in lines
    with caplog.at_level(logging.DEBUG, logger="tesseract_host"):
        opened("own_thread").apply({})
    assert "applied" in caplog.messages
    del own
    gc.collect()
    assert lines[-1] == (2, "destroyed")
    assert {line for _, line in lines} >= {"debug", "info", "warning", "error", "output"}


def test_a_log_that_raises_harms_nothing() -> None:
    def log(_level: int, _line: str) -> None:
        raise KeyError("in the log")

    seen = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda problem: seen.append(problem.exc_type)
    try:
        own = opened("own_thread", log=log)
        assert own.apply({}) == {}
        del own
        gc.collect()
    finally:
        sys.unraisablehook = hook
    assert seen and set(seen) == {KeyError}


TALKING = """
import sys, time
sys.path.insert(0, {package!r})
from tesseract_host import Tesseract
heard = []
tesseract = Tesseract.from_library({file!r}, log=lambda level, line: heard.append(line))
while not heard:
    time.sleep(0.001)
sys.setswitchinterval({interval})
"""


@pytest.mark.parametrize("interval", [0.005, 1e-6], ids=["as usual", "busy"])
def test_python_ends_while_a_component_logs_that_joins_its_thread(interval: float) -> None:
    package = str(Path(__file__).parents[2] / "python")
    file = str(native.plugin("talkative"))
    program = TALKING.format(package=package, file=file, interval=interval)
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


SLOW_LOCALS = """
import ctypes, threading
begun, local = threading.Event(), threading.local()
class Slow:
    def __init__(self, seconds):
        self.seconds = seconds
    def __del__(self, begin=begun.set, sleep=time.sleep):
        begin()
        sleep(self.seconds)
def listen(level, line):
    local.slow = Slow(1.5)
tesseract = Tesseract.from_library({file!r}, log=listen)
begun.wait()
sys.slow = Slow(1)  # Python is still about to end then
ctypes.pythonapi.Py_IncRef(ctypes.py_object(tesseract))  # nobody joins the thread
"""


def test_python_ends_while_what_a_log_function_keeps_for_its_thread_is_freed() -> None:
    """Which happens as the thread leaves Python; for longer than anybody waits."""
    package = str(Path(__file__).parents[2] / "python")
    file = str(native.plugin("talkative"))
    program = TALKING.partition("heard")[0] + SLOW_LOCALS
    done = subprocess.run(
        [sys.executable, "-c", program.format(package=package, file=file)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


RETURNING = """
import threading
tesseract = Tesseract.from_library({file!r})
inputs = {{"x": [1.0] * {length}}}
def call():
    while True:
        tesseract.apply(inputs)
for _ in range(3):
    threading.Thread(target=call, daemon=True).start()
sys.setswitchinterval({interval})
time.sleep(0.1)
class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(0.2)
sys.slow = Slow()  # calls return while Python ends
"""


@pytest.mark.parametrize(
    ("plugin", "length", "interval"),
    [("stateful", 100_000, 0.005), ("values", 1, 1e-6)],
    ids=["from the component", "from Python code that their calls ran"],
)
def test_python_ends_while_daemon_threads_return(plugin: str, length: int, interval: float) -> None:
    package = str(Path(__file__).parents[2] / "python")
    program = (TALKING.partition("heard")[0] + RETURNING).format(
        package=package, file=str(native.plugin(plugin)), length=length, interval=interval
    )
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
