"""What a call writes, by whatever means, in the log file of its run.

The descriptors 1 and 2 belong to the whole process, so captured calls run one at a time, and what
other threads write meanwhile is captured too.  Only calls that ask for it are captured.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

Sink = Callable[[str], Any]

LOG_FILE = "tesseract.log"

# Descriptors are the process's: one captured call at a time, which may call other components.
_one_at_a_time = threading.RLock()


def checked_sink(stream_logs: Any) -> Sink | bool:
    """The value of the option `stream_logs`, or ValueError."""
    if isinstance(stream_logs, bool) or callable(stream_logs):
        return stream_logs
    raise ValueError(
        f"stream_logs must be True, False or a function of a line, not {stream_logs!r}"
    )


class Capture:
    """A log file that takes what is written to descriptors 1 and 2, by children too, and what the
    component's own streams are given, in the order of writing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        self._kept: dict[int, int] = {}  # copies of the redirected descriptors

    def write(self, text: str) -> None:
        """Adds text behind everything written so far."""
        _flush_streams()
        data = memoryview(text.encode("utf-8", "replace"))
        while data:
            data = data[os.write(self._file, data) :]

    def begin(self) -> None:
        """Redirects the descriptors; none if `sys.stdout` has none, as in a notebook."""
        _flush_streams()
        for descriptor in _descriptors():
            with contextlib.suppress(OSError):  # it is closed
                self._kept[descriptor] = os.dup(descriptor)
                os.dup2(self._file, descriptor)

    def end(self) -> None:
        """Puts the descriptors back and closes the file; an empty one is removed."""
        _flush_streams()
        for descriptor, kept in self._kept.items():
            os.dup2(kept, descriptor)
            os.close(kept)
        self._kept.clear()
        empty = os.fstat(self._file).st_size == 0
        os.close(self._file)
        if empty:
            with contextlib.suppress(OSError):  # the folders hold something else
                self.path.unlink()
                self.path.parent.rmdir()
                self.path.parent.parent.rmdir()

    def caller_stream(self, name: str) -> TextIO:
        """A new text file that writes where the caller's `sys.stdout` or `sys.stderr` does."""
        stream = getattr(sys, name)
        with contextlib.suppress(AttributeError, OSError, ValueError):
            kept = self._kept.get(stream.fileno())
            if kept is not None:
                return os.fdopen(os.dup(kept), "w", buffering=1, encoding="utf-8", errors="replace")
        return _Borrowed(stream)  # type: ignore[return-value]


class _Borrowed:
    """A stream that is not closed with its user."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def close(self) -> None:
        pass


def _flush_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # closed, or none
            stream.flush()
    _flush_c()


def _flush_c() -> None:
    """Native code's own buffers: what `printf` has kept back."""
    function = _c_flush.get("fflush")
    if function is None:
        import ctypes

        function = _c_flush.setdefault("fflush", ctypes.CDLL(None).fflush)
    function(None)


_c_flush: dict[str, Any] = {}


def _descriptors() -> list[int]:
    try:
        own = {sys.stdout.fileno(), sys.stderr.fileno()}
    except (AttributeError, OSError, ValueError):
        return []
    return sorted({1, 2} | own)


@contextlib.contextmanager
def captured(folder: Callable[[], Path], sink: Sink | bool) -> Iterator[Capture]:
    """Captures what is written meanwhile into `tesseract.log` of a folder, and gives `sink` each
    line soon after; True stands for the caller's `sys.stderr`.
    """
    with _one_at_a_time:
        capture = Capture(folder() / LOG_FILE)
        try:
            capture.begin()
            with _followed(capture, sink) if sink is not False else contextlib.nullcontext():
                yield capture
        finally:
            capture.end()


@contextlib.contextmanager
def _followed(capture: Capture, sink: Sink | bool) -> Iterator[None]:
    out, err = capture.caller_stream("stdout"), capture.caller_stream("stderr")
    follower = _Follower(
        capture.path, (lambda line: print(line, file=err)) if sink is True else sink
    )
    before = sys.stdout, sys.stderr
    # What the sink prints is the caller's, not the module's.
    sys.stdout = _Parted(before[0], out, follower)  # type: ignore[assignment]
    sys.stderr = _Parted(before[1], err, follower)  # type: ignore[assignment]
    follower.start()
    try:
        yield
    finally:
        _flush_streams()
        follower.finish()
        sys.stdout, sys.stderr = before
        out.close()
        err.close()


class _Parted:
    """A standard stream that is another one for a single thread."""

    def __init__(self, stream: Any, other: Any, thread: threading.Thread) -> None:
        self._streams = (stream, other)
        self._thread = thread

    def __getattr__(self, name: str) -> Any:
        return getattr(self._streams[threading.current_thread() is self._thread], name)


class _Follower(threading.Thread):
    """Reads a growing file and passes its lines on.

    A file never makes its writers wait, as a pipe does whose reader needs the interpreter's lock.
    """

    SHORTEST, LONGEST = 0.001, 0.05  # seconds between looks

    def __init__(self, path: Path, sink: Any) -> None:
        super().__init__(daemon=True, name="tesseract-log")
        self._file = path.open("rb")
        self._file.seek(0, os.SEEK_END)
        self._sink = sink
        self._over = threading.Event()
        self._rest = b""

    def run(self) -> None:
        pause = self.SHORTEST
        while not self._over.wait(pause):
            pause = self.SHORTEST if self._pass_on() else min(2 * pause, self.LONGEST)
        self._pass_on()
        if self._rest:
            self._send(self._rest)

    def finish(self) -> None:
        """Returns when everything written so far is passed on."""
        self._over.set()
        self.join()
        self._file.close()

    def _pass_on(self) -> bool:
        content = self._file.read()
        if not content:
            return False
        *lines, self._rest = (self._rest + content).split(b"\n")
        for line in lines:
            self._send(line)
        return True

    def _send(self, line: bytes) -> None:
        with contextlib.suppress(Exception):  # the caller's function must not fail the module
            self._sink(line.decode("utf-8", "replace"))
