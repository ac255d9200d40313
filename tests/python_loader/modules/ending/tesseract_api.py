"""Leaves things behind that a process must cope with when it ends."""

import atexit
import sys
import threading
import time

from pydantic import BaseModel


class InputSchema(BaseModel):
    leave: str


class OutputSchema(BaseModel):
    done: bool


def spin() -> None:
    while True:
        sum(range(1000))


def apply(inputs: InputSchema) -> OutputSchema:
    if "daemon" in inputs.leave:
        threading.Thread(target=spin, daemon=True).start()
    if "thread" in inputs.leave:
        threading.Thread(target=finish_late).start()
    if "endless" in inputs.leave:
        threading.Thread(target=spin, name="endless").start()
    if "pool" in inputs.leave:
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(2)
        pool.submit(int).result()
        kept.append(pool)
    if "atexit" in inputs.leave:
        atexit.register(sys.__stdout__.write, "atexit ran\n")
    if "text" in inputs.leave:
        sys.__stdout__.write("buffered text\n")
    return OutputSchema(done=True)


kept = []


def finish_late() -> None:
    time.sleep(0.2)
    sys.__stdout__.write("thread finished\n")
