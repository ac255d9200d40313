"""Works until it is asked to stop."""

import threading
import time

from pydantic import BaseModel
from tesseract_host.runtime import Cancelled, check_cancelled


class InputSchema(BaseModel):
    how: str = "once"


class OutputSchema(BaseModel):
    asked: int


def in_another_thread() -> str:
    """What a thread that runs no call is told."""
    answers: list[str] = []

    def ask() -> None:
        try:
            check_cancelled()
            answers.append("go on")
        except Cancelled:
            answers.append("stop")

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return answers[0]


def apply(inputs: InputSchema) -> OutputSchema:
    if inputs.how == "thread":
        assert in_another_thread() == "go on"
        return OutputSchema(asked=0)
    print("begun")
    asked = 0
    while True:
        check_cancelled()
        asked += 1
        if inputs.how == "once":
            return OutputSchema(asked=asked)
        time.sleep(1e-4)
