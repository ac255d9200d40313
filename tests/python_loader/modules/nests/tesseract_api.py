"""Calls a function of the host program's in its calls, without giving up the GIL for it."""

import ctypes
import threading
import time

from pydantic import BaseModel
from tesseract_host.runtime import check_cancelled

LOADED_ON = threading.get_ident()


class InputSchema(BaseModel):
    function: int = 0
    data: int = 0
    pause: float = 0.0
    line: str = ""
    fail: str = ""
    until_cancelled: bool = False


class OutputSchema(BaseModel):
    status: int
    loaded_on: int
    called_on: int


def apply(inputs: InputSchema) -> OutputSchema:
    time.sleep(inputs.pause)
    if inputs.line:
        print(inputs.line)
    if inputs.fail:
        raise RuntimeError(inputs.fail)
    while inputs.until_cancelled:
        check_cancelled()
        time.sleep(1e-4)
    status = 0
    if inputs.function:
        status = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(inputs.function)(inputs.data)
    time.sleep(inputs.pause)
    return OutputSchema(status=status, loaded_on=LOADED_ON, called_on=threading.get_ident())
