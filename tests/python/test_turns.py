"""Turns: calls of a component one at a time, by the compiled loader and without one."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import support
from tesseract_host import _engine, _turns

LIMIT = 60.0  # for threads that wait for each other


@pytest.fixture(params=["compiled", "plain"])
def turns(request: pytest.FixtureRequest) -> Any:
    if request.param == "plain":
        return _turns.Turns()
    if _engine.library() is None:
        pytest.skip(f"no compiled loader: {_engine.missing}")
    return _turns.new()


@pytest.fixture
def often() -> Iterator[None]:
    """Python switches between threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_one_at_a_time(turns: Any, often: None) -> None:
    inside = most = calls = 0

    def body() -> None:
        nonlocal inside, most, calls
        inside += 1
        most = max(most, inside)
        for _ in range(20):
            calls += 1
        inside -= 1

    call = turns.bound(body)

    def work() -> None:
        for _ in range(2000):
            call()
            with turns:
                body()

    support.in_threads(*[work] * 4)
    assert (most, calls) == (1, 4 * 2000 * 2 * 20)


def test_a_thread_may_have_its_turn_again(turns: Any) -> None:
    def nested(depth: int) -> int:
        with turns:
            return depth if depth == 5 else call(depth + 1)

    call = turns.bound(nested)
    assert call(0) == 5
    taken = []
    support.in_threads(lambda: taken.append(turns.bound(list)()))
    assert taken == [[]]


def test_arguments_results_and_exceptions_pass(turns: Any) -> None:
    def body(*arguments: Any) -> Any:
        if not arguments:
            raise KeyError("none given")
        return arguments

    call = turns.bound(body)
    assert call(1, "two") == (1, "two")
    for _ in range(2):
        with pytest.raises(KeyError, match="none given"):
            call()
    with pytest.raises(KeyError), turns:
        raise KeyError
    support.in_threads(lambda: call(1))


def test_who_waits_is_served_though_another_goes_on_and_on(turns: Any) -> None:
    """Also where the other gives the interpreter away in its turns alone."""
    served = threading.Event()
    call = turns.bound(time.sleep)

    def go_on() -> None:
        end = time.monotonic() + LIMIT
        while not served.is_set() and time.monotonic() < end:
            call(0.0005)

    def wait() -> None:
        time.sleep(0.02)
        for _ in range(3):
            call(0)
        served.set()

    support.in_threads(go_on, wait)
    assert served.is_set()


def test_who_waits_long_is_served_in_order() -> None:
    if _engine.library() is None:
        pytest.skip(f"no compiled loader: {_engine.missing}")
    turns = _turns.new()
    order: list[int] = []

    def wait(number: int) -> None:
        time.sleep(0.05 * number)
        with turns:
            order.append(number)

    def hold() -> None:
        with turns:
            time.sleep(0.5)

    support.in_threads(hold, *[lambda n=n: wait(n) for n in (1, 2, 3, 4)])  # type: ignore[misc]
    assert order == [1, 2, 3, 4]


def test_a_turn_ends_only_where_it_is_taken(turns: Any) -> None:
    def end() -> None:
        with pytest.raises(RuntimeError):
            turns.__exit__(None, None, None)

    end()
    with turns:
        support.in_threads(end)
    end()


def test_a_function_and_its_client_are_collected(turns: Any) -> None:
    class Client:
        def __init__(self) -> None:
            self.call = turns.bound(self.body)

        def body(self) -> None:
            pass

    client = Client()
    gone = weakref.ref(client)
    client.call()
    del client
    gc.collect()
    assert gone() is None


INTERRUPTED = """
import os, signal, sys, threading, time
sys.path.insert(0, {package!r})
from tesseract_host import _turns
turns = getattr(_turns, {make!r})()
signal.signal(signal.SIGINT, signal.default_int_handler)  # may be inherited as ignored
signal.signal(signal.SIGUSR1, lambda *_: print("handled", flush=True))
held, over = threading.Event(), threading.Event()

def hold():
    with turns:
        held.set()
        over.wait()

def interrupt():
    for number in (signal.SIGUSR1, signal.SIGINT):
        time.sleep(0.2)
        os.kill(os.getpid(), number)

threading.Thread(target=hold).start()
held.wait()
threading.Thread(target=interrupt).start()
try:
    with turns:
        print("never")
except KeyboardInterrupt:
    print("interrupted", flush=True)
over.set()
with turns:
    print("taken", flush=True)
"""


@pytest.mark.parametrize("make", ["new", "Turns"])
def test_an_interrupt_ends_the_waiting(make: str) -> None:
    package = os.path.dirname(os.path.dirname(_turns.__file__))
    program = INTERRUPTED.format(package=package, make=make)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert done.stdout.split() == ["handled", "interrupted", "taken"], done.stderr


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_in_a_forked_child_no_other_thread_has_a_turn(turns: Any) -> None:
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with turns:
            held.set()
            over.wait(LIMIT)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(LIMIT)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        turns.renew()
        with turns:
            os._exit(0)
    over.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
