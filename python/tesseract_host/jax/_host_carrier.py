"""Calls of the adapter from a callback that JAX makes on the buffers of a program.

The way of modules that use JAX: only around its own callbacks does JAX see to it that what they
start in turn can run.
"""

from __future__ import annotations

import _thread
import ctypes
import threading
from collections.abc import Sequence
from typing import Any

from tesseract_host.jax import _adapter

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


class CallError(RuntimeError):
    """What a program's error says of a failed call."""


class HostCarrier:
    """One call site of a compiled program, prepared under a key."""

    def __init__(self, prepared: _adapter.Prepared, operands: int, results: int) -> None:
        self._prepared = prepared
        self._key = prepared.key
        self._inputs: Any = ctypes.c_void_p * operands
        self._outputs: Any = ctypes.c_void_p * results
        self._counts = operands, results
        self._run = _adapter.library().tesseract_jax_run

    def __call__(self, context: Any, results: Sequence[Any], *operands: Any) -> None:
        """Fills the results; what it raises becomes the error of the program."""
        try:
            self._call(results, operands)
        except KeyboardInterrupt:
            interrupt_later()
            raise CallError("CANCELLED: KeyboardInterrupt") from None

    def _call(self, results: Sequence[Any], operands: Sequence[Any]) -> None:
        inputs = [operand.__dlpack__() for operand in operands]
        outputs = [result.__dlpack__() for result in results]
        given = [_pointer(capsule, b"dltensor") for capsule in inputs]
        taken = [_pointer(capsule, b"dltensor") for capsule in outputs]
        if results and results[0].__dlpack_device__()[1]:
            _renumber([*given, *taken])
        message = ctypes.c_void_p()
        status = self._run(
            self._key,
            self._inputs(*given),
            self._counts[0],
            self._outputs(*taken),
            self._counts[1],
            0,
            ctypes.byref(message),
        )
        if status:
            raise CallError(f"{_adapter.code(status)}: {_adapter.taken_text(message)}")


# Of DLPack's structs: the type of CPU memory, and where a tensor's device is.
_CPU = 1
_DEVICE = 8


def _renumber(tensors: Sequence[int]) -> None:
    """JAX numbers its parts of the host, which for DLPack is one device."""
    for address in tensors:
        device = (ctypes.c_int32 * 2).from_address(address + _DEVICE)
        if device[0] == _CPU:
            device[1] = 0


def interrupt_later() -> None:
    """Has the caller get an interrupt that arrived in a callback, which JAX would keep."""
    if threading.current_thread() is threading.main_thread():
        timer = threading.Timer(0.02, _thread.interrupt_main)
        timer.daemon = True
        timer.start()
