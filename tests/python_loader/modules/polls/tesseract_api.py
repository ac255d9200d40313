"""Works until it is asked to stop."""

import threading
import time

from pydantic import BaseModel
from tesseract_host.runtime import Cancelled, check_cancelled


class InputSchema(BaseModel):
    how: str = "once"


class OutputSchema(BaseModel):
    asked: int
    in_another_thread: str = "not asked"


def is_asked_to_stop() -> bool:
    try:
        check_cancelled()
    except Cancelled:
        return True
    return False


def in_another_thread() -> str:
    """What a thread that runs no call is told."""
    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(str(is_asked_to_stop())))
    thread.start()
    thread.join()
    return answers[0]


def apply(inputs: InputSchema) -> OutputSchema:
    print("begun")
    asked = 1
    if inputs.how == "once":
        check_cancelled()
    elif inputs.how == "endless":
        while True:
            check_cancelled()
            time.sleep(1e-4)
    else:
        while not is_asked_to_stop():
            asked += 1
            time.sleep(1e-4)
        return OutputSchema(asked=asked, in_another_thread=in_another_thread())
    return OutputSchema(asked=asked)
