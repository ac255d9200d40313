"""The loader in a Python process: run by the interpreter under test with the host library's path.

Calls by ctypes, once with the GIL given up (CDLL) and once with it held (PyDLL).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import threading
import time
import warnings
from ctypes import POINTER, byref, c_char_p, c_uint32, c_uint64, c_void_p

MODULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "modules")
UP_TO_NUL = 2**64 - 1


class String(ctypes.Structure):
    """tesseract_string."""

    _fields_ = [("data", c_char_p), ("length", c_uint64)]


class OpenOptions(ctypes.Structure):
    """tesseract_open_options."""

    _fields_ = [
        ("size", c_uint32),
        ("flags", c_uint32),
        ("json", String),
        ("log", c_void_p),
        ("log_data", c_void_p),
        ("log_free", c_void_p),
    ]


class Leaves(ctypes.Structure):
    """tesseract_leaves."""

    _fields_ = [
        ("size", c_uint32),
        ("flags", c_uint32),
        ("count", ctypes.c_int64),
        ("items", c_void_p),
        ("json", String),
    ]


class HostError(Exception):
    """Status and message of an error of the host."""


class Host:
    """A few functions of the host, called through one kind of ctypes library."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        library.tesseract_error_message.restype = c_char_p
        library.tesseract_result_json.restype = c_char_p
        library.tesseract_error_message.argtypes = [c_void_p, c_void_p]
        library.tesseract_result_json.argtypes = [c_void_p, c_void_p]
        library.tesseract_error_free.argtypes = [c_void_p]
        library.tesseract_result_free.argtypes = [c_void_p]
        library.tesseract_close.argtypes = [c_void_p]
        library.tesseract_open.argtypes = [
            c_char_p,
            c_uint64,
            POINTER(OpenOptions),
            POINTER(c_void_p),
            POINTER(c_void_p),
        ]
        library.tesseract_apply.argtypes = [
            c_void_p,
            POINTER(Leaves),
            c_void_p,
            c_void_p,
            POINTER(c_void_p),
            POINTER(c_void_p),
        ]

    def check(self, status: int, error: c_void_p) -> None:
        """Raises what the host reports."""
        if status == 0:
            return
        text = self.library.tesseract_error_message(error, None).decode()
        self.library.tesseract_error_free(error)
        raise HostError(f"{status}: {text}")

    def open(self, name: str, options: str = "{}") -> c_void_p:
        """A component of one of the test modules."""
        component, error = c_void_p(), c_void_p()
        text = options.encode()
        given = OpenOptions(ctypes.sizeof(OpenOptions), 0, String(text, len(text)))
        path = os.path.join(MODULES, name).encode()
        status = self.library.tesseract_open(
            path, UP_TO_NUL, byref(given), byref(component), byref(error)
        )
        self.check(status, error)
        return component

    def apply(self, component: c_void_p, inputs: str = "{}") -> dict:
        """The outputs that are no arrays, from inputs given as JSON."""
        result, error = c_void_p(), c_void_p()
        text = inputs.encode()
        leaves = Leaves(ctypes.sizeof(Leaves), 0, 0, None, String(text, len(text)))
        status = self.library.tesseract_apply(
            component, byref(leaves), None, None, byref(result), byref(error)
        )
        self.check(status, error)
        values = json.loads(self.library.tesseract_result_json(result, None))
        self.library.tesseract_result_free(result)
        return values


def test_the_running_interpreter_is_used(host: Host) -> None:
    component = host.open("environment")
    assert host.apply(component)["prefix"] == sys.prefix
    host.library.tesseract_close(component)


def test_the_process_is_left_alone(host: Host) -> None:
    before = (list(sys.path), dict(os.environ), signal.getsignal(signal.SIGINT))
    component = host.open("helper_one")
    assert host.apply(component)["in_call"] == "one"
    assert before == (list(sys.path), dict(os.environ), signal.getsignal(signal.SIGINT))
    assert "helper" not in sys.modules
    assert sys.stdout is sys.__stdout__
    host.library.tesseract_close(component)


def test_another_environment_is_refused(host: Host) -> None:
    message = ""
    try:
        host.open("environment", json.dumps({"python": "/usr/bin/python3"}))
    except HostError as error:
        message = str(error)
    assert message.startswith("11:"), message
    assert sys.prefix in message
    assert "/usr " in message


def test_its_own_environment_may_be_named(host: Host) -> None:
    host.library.tesseract_close(host.open("scale", json.dumps({"python": sys.executable})))


def test_threads_may_share_a_component(host: Host) -> None:
    component = host.open("threads")
    failures: list[object] = []

    def work() -> None:
        # The module gives up the GIL in the call: other threads come and wait for its end.
        inputs = json.dumps({"x": [2.0], "pause": 1e-4})
        try:
            for count in range(1, 51):
                assert host.apply(component, inputs)["calls_of_this_thread"] == count
        except (AssertionError, HostError, KeyError) as error:
            failures.append(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
        assert not thread.is_alive(), "deadlock"
    assert not failures, failures
    host.library.tesseract_close(component)


def test_an_interrupt_reaches_the_caller(host: Host) -> None:
    component = host.open("threads")
    interrupt = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    interrupted = False
    try:
        with contextlib.suppress(HostError):
            host.apply(component, '{"x": [1.0], "spin": 30.0}')
        time.sleep(10.0)
    except KeyboardInterrupt:
        interrupted = True
    assert interrupted
    interrupt.join()
    host.apply(component, '{"x": [1.0]}')
    host.library.tesseract_close(component)


def test_warnings_stay_the_process_s(host: Host) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        component = host.open("misbehaving")
        host.apply(component, '{"how": "warn"}')
        host.library.tesseract_close(component)
    assert [str(warning.message) for warning in caught] == ["the mesh is coarse"]


def test_a_forked_child_goes_on(host: Host) -> None:
    component = host.open("environment")
    host.apply(component)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if host.apply(component)["prefix"] == sys.prefix else 2
            host.library.tesseract_close(host.open("helper_one"))
        except HostError as failure:
            print("in the child:", failure, flush=True)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, status
    assert host.apply(component)["prefix"] == sys.prefix
    host.library.tesseract_close(component)


def test_a_forked_child_lacks_the_threads_of_components(host: Host) -> None:
    component = host.open("environment", '{"threads": "owner"}')
    host.apply(component)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            host.apply(component)
        except HostError as error:
            code = 0 if str(error).startswith("11:") and "forked" in str(error) else 2
        host.library.tesseract_close(component)
        again = host.open("environment", '{"threads": "owner"}')
        code += 4 * (host.apply(again)["prefix"] != sys.prefix)
        os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, status
    assert host.apply(component)["prefix"] == sys.prefix
    host.library.tesseract_close(component)


def main() -> None:
    path = sys.argv[1]
    tests = [function for name, function in globals().items() if name.startswith("test_")]
    for library in (ctypes.PyDLL(path), ctypes.CDLL(path)):
        host = Host(library)
        for test in tests:
            test(host)
            print(f"{type(library).__name__} {test.__name__}", flush=True)
        host.open("scale")  # left open: the process must end all the same


if __name__ == "__main__":
    main()
