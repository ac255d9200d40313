"""Threads and forks that call components of `Tesseract`."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import support

MEETING = """
import threading
inside, most = [0], [0]
lock = threading.Lock()
class InputSchema(BaseModel):
    wait: float = 0.0
class OutputSchema(BaseModel):
    most: int
def apply(inputs):
    import time
    with lock:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
    time.sleep(inputs.wait)
    with lock:
        inside[0] -= 1
    return {"most": most[0]}
"""


def in_threads(call: Callable[[], Any], count: int = 4) -> list[Any]:
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(call())) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_calls_are_made_one_at_a_time(both: Any, tmp_path: Path) -> None:
    opened = both.from_tesseract_api(support.write(tmp_path / "meeting", MEETING))
    results = in_threads(lambda: opened.apply({"wait": 0.02})["most"])
    assert results == [1] * 4


def test_or_at_once_if_wished(ours: Any, tmp_path: Path) -> None:
    file = support.write(tmp_path / "meeting", MEETING)
    opened = ours.from_tesseract_api(file, threads="concurrent")
    assert max(in_threads(lambda: opened.apply({"wait": 0.2})["most"])) > 1
    with pytest.raises(ValueError, match='"serial", "concurrent" or "owner"'):
        ours.from_tesseract_api(file, threads="many")


def test_a_call_may_call_its_own_component(ours: Any, tmp_path: Path) -> None:
    source = support.schema_source(
        "call: Any = None", "n: int", "return {'n': inputs.call() if inputs.call else 1}"
    )
    opened = ours.from_tesseract_api(support.write(tmp_path / "again", source))
    assert opened.apply({"call": lambda: opened.apply({})["n"] + 1}) == {"n": 2}


FORKING = """
import os, sys, threading, time
sys.path.insert(0, {package!r})
from tesseract_host import Tesseract
t = Tesseract.from_tesseract_api({path!r})
thread = threading.Thread(target=t.apply, args=({{"wait": 0.5}},))
thread.start()
time.sleep(0.2)
child = os.fork()
if child == 0:
    t.apply({{}})
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread.join()
"""


def test_a_child_need_not_wait_for_the_parents_call(tmp_path: Path) -> None:
    file = support.write(tmp_path / "meeting", MEETING)
    package = str(Path(support.__file__).parents[2] / "python")
    script = FORKING.format(package=package, path=str(file))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "7", done.stderr
