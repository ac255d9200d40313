"""Where a module's `print`, `sys.stdout` and `sys.stderr` go: to the component's log, by line."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tesseract_host import _engine
from tesseract_host.loader.capture import Capture

LEVEL_WARNING = 3  # TESSERACT_LOG_WARNING
LEVEL_OUTPUT = 5  # TESSERACT_LOG_OUTPUT

Log = Callable[[int, str], None]


class Output:
    """The two streams of one component.

    While the module is being imported, and without a log, text goes to the process's streams; in a
    captured call also, and first, to the log file of the run.  Lines are gathered per thread, so
    that threads don't mix in one line.
    """

    def __init__(self, log: Log | None) -> None:
        self.log = log
        self.state = _engine.new_state()
        self._unfinished: set[int] = set()
        self._capture: Capture | None = None
        self._local = threading.local()
        self.stdout = Stream(self, "stdout")
        self.stderr = Stream(self, "stderr")

    @contextlib.contextmanager
    def direct(self) -> Iterator[None]:
        """What this thread writes meanwhile goes to the process's streams."""
        before = getattr(self._local, "direct", False)
        self._local.direct = True
        try:
            yield
        finally:
            self._local.direct = before

    @contextlib.contextmanager
    def into(self, capture: Capture) -> Iterator[None]:
        """What the module writes meanwhile, on any thread, goes to this log file too."""
        before, self._capture = self._capture, capture
        try:
            yield
        finally:
            self._capture = before

    @property
    def is_direct(self) -> bool:
        if getattr(self._local, "direct", False):
            return True
        return self.log is None and self._capture is None

    def write(self, text: str) -> None:
        """Sends complete lines to the log and keeps the rest."""
        capture = self._capture
        if capture is not None:
            capture.write(text)
        if self.log is None:
            return
        begun = self._local.__dict__.setdefault("begun", [])
        begun.append(text)
        if "\n" in text:
            *lines, rest = "".join(begun).split("\n")
            begun[:] = [rest] if rest else []
            for line in lines:
                self._send(line)
        if begun:
            self._unfinished.add(threading.get_ident())
            self.state.unfinished = True

    def finish(self) -> None:
        """Sends what this thread has written without a line end."""
        self._unfinished.discard(threading.get_ident())
        self.state.unfinished = False
        if self._unfinished:  # asked last: another thread may begin a line at any time
            self.state.unfinished = True
        begun = self._local.__dict__.get("begun")
        if begun:
            rest = "".join(begun)
            begun.clear()
            self._send(rest)

    def _send(self, line: str) -> None:
        if self.log is not None:
            with contextlib.suppress(Exception):  # the caller's log must not fail the module
                self.log(LEVEL_OUTPUT, line)


class Stream(io.TextIOBase):
    """What a module has as `sys.stdout` or `sys.stderr`.

    It has the descriptor of the process's own stream, since modules hand it to child processes.
    """

    def __init__(self, output: Output, name: str) -> None:
        self._output = output
        self._name = name
        self.name = f"<{name}>"
        self.mode = "w"

    @property
    def _real(self) -> Any:
        real = getattr(sys, self._name)
        return getattr(sys, f"__{self._name}__") if isinstance(real, Stream) else real

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return "replace"

    @property
    def buffer(self) -> Any:
        """The stream for bytes."""
        if self._output.is_direct and hasattr(self._real, "buffer"):
            return self._real.buffer
        return _Bytes(self)

    def write(self, text: str) -> int:
        if self._output.is_direct:
            if self._real is not None:
                self._real.write(text)
        else:
            if not isinstance(text, str):
                raise TypeError(f"write() takes str, not {type(text).__name__}")
            self._output.write(text)
        return len(text)

    def flush(self) -> None:
        if self._output.is_direct and self._real is not None:
            self._real.flush()

    def fileno(self) -> int:
        real = self._real
        if real is None:
            raise io.UnsupportedOperation("fileno")
        descriptor: int = real.fileno()
        return descriptor

    def isatty(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Does nothing: the stream lives as long as the component."""


class _Bytes(io.RawIOBase):
    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        raw = bytes(data)
        self._stream.write(raw.decode("utf-8", "replace"))
        return len(raw)

    def fileno(self) -> int:
        return self._stream.fileno()
