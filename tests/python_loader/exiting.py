"""Python processes that end while threads Python doesn't know call components.

`exiting.py HOST_LIBRARY THREADS_LIBRARY` runs every order in a process of its own.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from joined import Host, HostError

SECONDS = 60.0
ROUNDS = 3  # of each order: what goes wrong does not always


class Process:
    """What an order has at hand."""

    def __init__(self, host_library: str, threads_library: str) -> None:
        self.host = Host(ctypes.CDLL(host_library))
        self.threads = ctypes.CDLL(threads_library)
        self.threads.start_threads.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
        self.threads.close_at_exit.argtypes = [ctypes.c_void_p]

    def call_from_threads(
        self, inputs: str, options: str = "{}", count: int = 3
    ) -> ctypes.c_void_p:
        component = self.host.open("threads", options)
        assert self.threads.start_threads(component, inputs.encode(), count) == 0
        while self.threads.calls_begun() < count:
            time.sleep(1e-3)
        time.sleep(0.02)
        return component


SHORT = '{"x": [1.0]}'
ASLEEP = '{"x": [1.0], "pause": 0.2}'


def returns(process: Process) -> None:
    process.call_from_threads(SHORT)


def returns_while_they_sleep(process: Process) -> None:
    process.call_from_threads(ASLEEP)


def returns_while_they_compute(process: Process) -> None:
    """For longer than anybody waits: they want the GIL when it is gone for ever."""
    process.call_from_threads('{"x": [1.0], "spin": 30.0}')


def returns_while_components_have_threads(process: Process) -> None:
    process.call_from_threads(SHORT, '{"threads": "owner"}')
    process.call_from_threads(ASLEEP, '{"threads": "owner"}')


def returns_while_they_wait_for_the_gil(process: Process) -> None:
    process.call_from_threads(SHORT, '{"threads": "concurrent"}', 8)
    sys.setswitchinterval(10.0)


def waits_for_their_end(process: Process, options: str = "{}") -> None:
    """Whoever owns the threads joins them when Python ends, as libraries join their pools."""
    process.call_from_threads(SHORT, options)

    class Pool:
        join = process.threads.stop_threads

        def __del__(self) -> None:
            self.join()

    sys.pool = Pool()  # type: ignore[attr-defined]


def waits_for_the_end_of_many(process: Process) -> None:
    """All but one of which wait for the GIL, or are about to."""
    waits_for_their_end(process, '{"threads": "concurrent"}')


def exits(process: Process) -> None:
    """Exit code 3."""
    process.call_from_threads(SHORT)
    sys.exit(3)


def raises(process: Process) -> None:
    """Exit code 1."""
    process.call_from_threads(ASLEEP)
    raise RuntimeError("meant to be raised")


def works_on_in_an_atexit_function(process: Process) -> None:
    component = process.host.open("environment")

    def call() -> None:
        assert process.host.apply(component)["prefix"] == sys.prefix
        process.host.library.tesseract_close(component)

    atexit.register(call)
    process.call_from_threads(SHORT)


def closes_when_python_has_ended(process: Process) -> None:
    component = process.host.open("threads")
    process.host.apply(component, SHORT)
    assert process.threads.close_at_exit(component) == 0


def closes_an_owner_when_python_has_ended(process: Process) -> None:
    component = process.host.open("threads", '{"threads": "owner"}')
    process.host.apply(component, SHORT)
    assert process.threads.close_at_exit(component) == 0


def shuts_down_first(process: Process) -> None:
    component = process.call_from_threads(ASLEEP)
    shutdown = process.host.library.tesseract_shutdown
    shutdown.argtypes = [ctypes.c_double, ctypes.c_void_p]
    assert shutdown(20.0, None) == 0
    try:
        process.host.apply(component, SHORT)
    except HostError as error:
        assert str(error).startswith("11:"), error
    else:
        raise AssertionError("a call after the shutdown")
    time.sleep(0.05)
    assert process.threads.calls_refused() > 0


def has_daemon_threads(process: Process) -> None:
    component = process.host.open("threads", '{"threads": "concurrent"}')

    def call() -> None:
        while True:
            process.host.apply(component, SHORT)

    for _ in range(3):
        threading.Thread(target=call, daemon=True).start()
    time.sleep(0.05)


def collects_garbage_at_the_end(process: Process) -> None:
    """The component is closed by the finalizer of an object in a cycle."""
    component = process.host.open("threads")
    process.host.apply(component, SHORT)

    class Owner:
        close = process.host.library.tesseract_close

        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            self.close(component)

    gc.disable()
    sys.kept = Owner()  # type: ignore[attr-defined]


ORDERS: dict[str, tuple[Callable[[Process], None], int]] = {
    order.__name__: (order, code)
    for order, code in (
        (returns, 0),
        (returns_while_they_sleep, 0),
        (returns_while_they_compute, 0),
        (returns_while_components_have_threads, 0),
        (returns_while_they_wait_for_the_gil, 0),
        (waits_for_their_end, 0),
        (waits_for_the_end_of_many, 0),
        (exits, 3),
        (raises, 1),
        (works_on_in_an_atexit_function, 0),
        (closes_when_python_has_ended, 0),
        (closes_an_owner_when_python_has_ended, 0),
        (shuts_down_first, 0),
        (has_daemon_threads, 0),
        (collects_garbage_at_the_end, 0),
    )
}


def failure(name: str, libraries: list[str]) -> str:
    """Why a round of an order failed; empty if it did not."""
    code = ORDERS[name][1]
    command = [sys.executable, __file__, *libraries, name]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "hangs"
    said = run.stdout + run.stderr
    expected = "meant to be raised" if name == "raises" else ""
    if run.returncode == code and (expected in said if expected else not said):
        return ""
    return f"exit code {run.returncode}, not {code}\n{said}"


def main() -> int:
    libraries, names = sys.argv[1:3], sys.argv[3:]
    if names:
        ORDERS[names[0]][0](Process(*libraries))
        return 0
    failed = 0
    for name in ORDERS:
        for _ in range(ROUNDS):
            why = failure(name, libraries)
            print(name, why or "ok", flush=True)
            failed += bool(why)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
