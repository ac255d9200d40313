"""Calls of the adapter from a callback that JAX makes on the buffers of a program.

The way of modules that use JAX: only around its own callbacks does JAX see to it that what they
start in turn can run.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Sequence
from typing import Any

from tesseract_host import _host
from tesseract_host.jax import _adapter


class CallError(RuntimeError):
    """What a program's error says of a failed call; halves of surrogate pairs are escaped.

    JAX's callback ends the process if it can't have the text of an exception as UTF-8.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text.encode(errors="backslashreplace").decode())


class HostCarrier:
    """One call site of a compiled program, prepared under a key.

    `on_device`: its buffers are on a device, and the callback's context tells the stream.
    """

    def __init__(self, prepared: _adapter.Prepared, on_device: bool = False) -> None:
        self._prepared = prepared
        self._on_device = on_device
        self._key = prepared.key
        self._run = _host.binding().run_buffers
        self._adapter_run = _adapter.address("tesseract_jax_run")

    def __call__(self, context: Any, results: Sequence[Any], *operands: Any) -> None:
        """Fills the results; what it raises becomes the error of the program."""
        try:
            # CUDA's null stream is the legacy default one, which the host calls 1.
            stream = (context.stream or 1) if self._on_device else 0
            failed = self._run(self._adapter_run, self._key, results, operands, stream)
            if failed is not None:
                status, message = failed
                raise CallError(f"{_adapter.code(status)}: {_adapter.taken_text(message)}")
        except KeyboardInterrupt:
            interrupt_later()
            raise CallError("CANCELLED: KeyboardInterrupt") from None


def interrupt_later() -> None:
    """Has the caller get an interrupt that arrived in a callback, which JAX would keep."""
    if threading.current_thread() is threading.main_thread():
        timer = threading.Timer(0.02, _thread.interrupt_main)
        timer.daemon = True
        timer.start()
