"""`threads="owner"`: a component of `Tesseract` with a thread of its own."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import support

# Where the module was loaded, and where `do`, which is any function of the caller's, runs.
BOUND = "import threading\nloaded_on = threading.get_ident()\n" + support.schema_source(
    "do: Any = None",
    "loaded_on: int = 0\n    called_on: int = 0\n    value: Any = None",
    "return OutputSchema(loaded_on=loaded_on, called_on=threading.get_ident(), "
    "value=inputs.do and inputs.do())",
)
BOUND += """
def abstract_eval(abstract_inputs):
    return {"loaded_on": loaded_on, "called_on": threading.get_ident()}
"""


@pytest.fixture
def open_bound(tmp_path: Path) -> Callable[..., Any]:
    from tesseract_host import Tesseract

    def opened(name: str = "bound", **options: Any) -> Any:
        file = support.write(tmp_path / name, BOUND)
        return Tesseract.from_tesseract_api(file, **{"threads": "owner", **options})

    return opened


def ended(thread: int) -> bool:
    """Whether a thread ends soon."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if thread not in {t.ident for t in threading.enumerate()}:
            return True
        time.sleep(0.005)
    return False


def test_loading_and_all_calls_are_on_one_thread(open_bound: Any, tmp_path: Path) -> None:
    opened = open_bound(output_path=tmp_path / "out")
    results = [opened.apply({}), opened.apply({}, run_id="r"), opened.abstract_eval({})]
    threads = [
        threading.Thread(target=lambda: results.append(opened.with_encoding().apply({})))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    places = {result[key] for result in results for key in ("loaded_on", "called_on")}
    assert len(results) == 7 and len(places) == 1
    assert threading.get_ident() not in places
    opened.test({"endpoint": "apply", "payload": {"inputs": {}}, "expected_outputs": results[0]})
    assert opened.openapi_schema["info"]


def test_two_components_have_two_threads(open_bound: Any) -> None:
    opened = [open_bound(), open_bound()]
    first, second = (one.apply({}) for one in opened)
    assert first["loaded_on"] != second["loaded_on"]


def test_calls_are_made_one_at_a_time(open_bound: Any) -> None:
    opened, inside, most = open_bound(), [], []

    def meet() -> None:
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.02)
        inside.pop()

    threads = [threading.Thread(target=opened.apply, args=({"do": meet},)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4


def test_nested_calls_are_in_place(open_bound: Any) -> None:
    opened = open_bound()
    outer = opened.apply({"do": lambda: opened.apply({})})
    assert outer["value"]["called_on"] == outer["called_on"]


def test_a_circle_of_components_does_not_wait_for_itself(open_bound: Any) -> None:
    first, second, third = open_bound("a"), open_bound("b"), open_bound("c", threads="serial")
    call = {"do": lambda: third.apply({"do": lambda: first.apply({})})}
    outer = first.apply({"do": lambda: second.apply(call)})
    innermost = outer["value"]["value"]["value"]
    assert innermost["called_on"] == outer["called_on"] == outer["loaded_on"]


def test_who_waits_for_others_serves_strangers_later(open_bound: Any) -> None:
    first, second = open_bound("a"), open_bound("b")
    order: list[str] = []
    stranger = threading.Thread(
        target=first.apply, args=({"do": lambda: order.append("stranger")},)
    )

    def wait() -> None:
        stranger.start()
        time.sleep(0.1)
        first.apply({"do": lambda: order.append("own chain")})

    first.apply({"do": lambda: second.apply({"do": wait}) and order.append("end")})
    stranger.join(20)
    assert order == ["own chain", "end", "stranger"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit(3)])
def test_what_is_no_exception_passes_through(open_bound: Any, error: Any) -> None:
    def fail() -> None:
        raise error

    opened = open_bound()
    with pytest.raises(type(error) if isinstance(error, SystemExit) else error):
        opened.apply({"do": fail})
    assert opened.apply({})["value"] is None


def test_exceptions_are_those_of_other_components(open_bound: Any, tmp_path: Path) -> None:
    from tesseract_host import Tesseract
    from tesseract_host.exceptions import EndpointError, OpenError

    opened = open_bound()
    with pytest.raises(EndpointError, match="ZeroDivisionError") as caught:
        opened.apply({"do": lambda: 1 // 0})
    assert isinstance(caught.value.original, ZeroDivisionError)
    with pytest.raises(ValueError, match="unknown"):
        opened.apply({"unknown": 1})
    with pytest.raises(NotImplementedError, match="jacobian"):
        opened.jacobian({}, ["x"], ["y"])
    before = threading.active_count()
    with pytest.raises(OpenError):
        Tesseract.from_tesseract_api(support.write(tmp_path / "bad", "1 / 0"), threads="owner")
    with pytest.raises(FileNotFoundError):
        Tesseract.from_tesseract_api(tmp_path / "none.py", threads="owner")
    deadline = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.005)
    assert threading.active_count() == before


def test_dropping_it_frees_the_component_and_ends_the_thread(open_bound: Any) -> None:
    opened = open_bound()
    name = opened._client.component.module.__name__
    view = opened.with_encoding(output_format="json")
    thread, gone = view.apply({})["loaded_on"], weakref.ref(opened._client.component)
    del opened
    assert view.apply({})["loaded_on"] == thread
    del view
    gc.collect()
    assert ended(thread)
    gc.collect()
    assert gone() is None and name not in sys.modules


def test_results_are_not_kept(open_bound: Any) -> None:
    class Value:
        pass

    opened = open_bound()
    gone = weakref.ref(opened.apply({"do": Value})["value"])
    gc.collect()
    assert gone() is None


def test_dropped_during_its_own_call(open_bound: Any) -> None:
    held = [open_bound()]

    def drop() -> int:
        held.clear()
        gc.collect()
        return 1

    result = held[0].apply({"do": drop})
    assert result["value"] == 1 and ended(result["called_on"])


def test_a_module_object(open_bound: Any) -> None:
    from tesseract_host import Tesseract

    module = open_bound()._client.component.module
    opened = Tesseract.from_tesseract_api(module, threads="owner")
    assert opened.apply({})["called_on"] != threading.get_ident()


def test_components_by_themselves_have_no_thread(tmp_path: Path) -> None:
    from tesseract_host import loader

    with pytest.raises(ValueError, match=r'threads is "owner": .*Tesseract'):
        loader.open(str(support.write(tmp_path / "bound", BOUND)), {"threads": "owner"})


# ---- Signals, forks and the end of the process -------------------------------------------------

PROGRAM = """
import os, signal, sys, threading, time
sys.path.insert(0, {package!r})
from tesseract_host import Tesseract
t = Tesseract.from_tesseract_api({path!r}, threads="owner")
started, over = threading.Event(), []
def interrupt():
    started.wait()
    time.sleep(0.2)  # until the main thread waits for its call
    os.kill(os.getpid(), signal.SIGINT)
def long():
    started.set()
    time.sleep(1)
    over.append(1)
"""

INTERRUPTED = """
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where the tests run
threading.Thread(target=interrupt).start()
try:
    t.apply({"do": long})
except KeyboardInterrupt:
    print("interrupted", over)
# Not begun, since another thread's call is running.
started.clear()
ran = []
other = threading.Thread(target=t.apply, args=({"do": long},))
other.start()
threading.Thread(target=interrupt).start()
try:
    t.apply({"do": lambda: ran.append(1)})
except KeyboardInterrupt:
    print("not begun", len(over))
other.join()
print(t.apply({})["value"], ran)
"""

FORKING = """
def fork():
    child = os.fork()
    if child == 0:
        t.apply({})  # in place, on the thread that forked
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
child = os.fork()
if child == 0:
    try:
        t.apply({})
    except RuntimeError as error:
        print(error, flush=True)
    del t
    os._exit(6)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(t.apply({"do": fork})["value"])
"""

ENDING = """
import atexit
def last():
    print(t.apply({"do": lambda: "at exit"})["value"], flush=True)
atexit.register(last)
class Later:
    def __del__(self, t=t):
        try:
            t.apply({})
        except RuntimeError as error:
            os.write(1, str(error).encode())
sys.later = Later()
threading.Thread(target=t.apply, args=({"do": lambda: time.sleep(0.1)},), daemon=True).start()
"""


def output_of(program: str, tmp_path: Path) -> list[str]:
    file = support.write(tmp_path / "bound", BOUND)
    package = str(Path(support.__file__).parents[2] / "python")
    script = PROGRAM.format(package=package, path=str(file)) + program
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_an_interrupt_is_raised_when_the_call_returns(tmp_path: Path) -> None:
    lines = output_of(INTERRUPTED, tmp_path)
    assert lines == ["interrupted [1]", "not begun 1", "None []"]


def test_forks(tmp_path: Path) -> None:
    text, outside, inside = output_of(FORKING, tmp_path)
    assert "the thread of" in text and "forked" in text and "open the component again" in text
    assert (outside, inside) == ("6", "7")


def test_the_end_of_the_process(tmp_path: Path) -> None:
    lines = output_of(ENDING, tmp_path)
    assert lines[0] == "at exit"
    assert len(lines) == 1 or "the interpreter ends" in lines[1]
