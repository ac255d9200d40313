"""What a call writes, by whatever means, in the log file of its run.

The descriptors 1 and 2 belong to the whole process, so captured calls run one at a time, and what
other threads write meanwhile is captured too.  Only calls that ask for it are captured.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from tesseract_host.runtime._runs import Run

Sink = Callable[[str], Any]

LOG_FILE = "tesseract.log"

# Descriptors are the process's: one captured call at a time, which may call other components.
_one_at_a_time = threading.RLock()


def _renew_lock() -> None:
    """In a forked child the thread that held the lock may be gone."""
    if not _one_at_a_time._is_owned():  # type: ignore[attr-defined]
        _one_at_a_time._at_fork_reinit()  # type: ignore[attr-defined]


os.register_at_fork(after_in_child=_renew_lock)


def checked_sink(stream_logs: Any) -> Sink | bool:
    """The value of the option `stream_logs`, or ValueError."""
    if isinstance(stream_logs, bool) or callable(stream_logs):
        return stream_logs
    raise ValueError(
        f"stream_logs must be True, False or a function of a line, not {stream_logs!r}"
    )


class Spool:
    """An unnamed file that captures calls until something is written: most calls print nothing, and
    making folders for them would take longer than they do.
    """

    def __init__(self) -> None:
        self._file: int | None = None
        self._process = 0

    def take(self) -> int:
        """The descriptor of an empty file, which is the caller's until it is given back."""
        file, self._file = self._file, None
        if file is not None and self._process != os.getpid():
            os.close(file)  # the parent process goes on writing to it
            file = None
        if file is None:
            with tempfile.TemporaryFile(prefix="tesseract-") as fresh:
                file = os.dup(fresh.fileno())
        return file

    def give_back(self, file: int) -> None:
        """Takes a file in which nothing was written."""
        self.close()
        self._file, self._process = file, os.getpid()

    def close(self) -> None:
        """Closes the file, if there is one."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def __del__(self) -> None:
        self.close()  # a call has given it back after the component was closed


class Capture:
    """A log file that takes what is written to descriptors 1 and 2, by children too, and what the
    component's own streams are given, in the order of writing.

    The file of a run with a name is there from the beginning; of others it is made at the end, if
    something was written.
    """

    def __init__(self, run: Run, spool: Spool) -> None:
        self._run = run
        self._spool = spool
        self._kept: dict[int, int] = {}  # copies of the redirected descriptors
        if run.is_named:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self.file = os.open(run.folder() / LOG_FILE, flags, 0o666)
        else:
            self.file = spool.take()
        self.start = os.fstat(self.file).st_size  # a name may be used again

    def write(self, text: str) -> None:
        """Adds text behind everything written so far."""
        _flush_streams()
        data = memoryview(text.encode("utf-8", "replace"))
        while data:
            data = data[os.write(self.file, data) :]

    def begin(self) -> None:
        """Redirects the descriptors; none if `sys.stdout` has none, as in a notebook."""
        _flush_streams()
        for descriptor in _descriptors():
            with contextlib.suppress(OSError):  # it is closed
                self._kept[descriptor] = os.dup(descriptor)
                os.dup2(self.file, descriptor)

    def end(self) -> None:
        """Puts the descriptors back, and the log file in its place."""
        _flush_streams()
        for descriptor, kept in self._kept.items():
            os.dup2(kept, descriptor)
            os.close(kept)
        self._kept.clear()
        if not self._run.is_named:
            if os.fstat(self.file).st_size == 0:
                self._spool.give_back(self.file)
                return
            try:
                self._move()
            except OSError as error:  # no reason to lose the result
                warnings.warn(f"the log of a run is lost: {error}", RuntimeWarning, stacklevel=2)
        os.close(self.file)

    def _move(self) -> None:
        position = 0
        with (self._run.folder() / LOG_FILE).open("ab") as log_file:
            while content := os.pread(self.file, 1 << 20, position):
                log_file.write(content)
                position += len(content)

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
def captured(run: Run, spool: Spool, sink: Sink | bool) -> Iterator[Capture]:
    """Captures what is written meanwhile into `tesseract.log` of a run, and gives `sink` each line
    soon after; True stands for the caller's `sys.stderr`.
    """
    with _one_at_a_time:
        capture = Capture(run, spool)
        try:
            capture.begin()
            with _followed(capture, sink) if sink is not False else contextlib.nullcontext():
                yield capture
        finally:
            capture.end()


@contextlib.contextmanager
def _followed(capture: Capture, sink: Sink | bool) -> Iterator[None]:
    out, err = capture.caller_stream("stdout"), capture.caller_stream("stderr")
    follower = _Follower(capture, (lambda line: print(line, file=err)) if sink is True else sink)
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

    def __init__(self, capture: Capture, sink: Any) -> None:
        super().__init__(daemon=True, name="tesseract-log")
        self._file = capture.file
        self._position = capture.start
        self._sink = sink
        self._over = threading.Event()
        self._rest = b""

    def run(self) -> None:
        pause = self.SHORTEST
        while not self._over.wait(pause):
            pause = self.SHORTEST if self._pass_on() else min(2 * pause, self.LONGEST)
        while self._pass_on():
            pass
        if self._rest:
            self._send(self._rest)

    def finish(self) -> None:
        """Returns when everything written so far is passed on."""
        self._over.set()
        self.join()

    def _pass_on(self) -> bool:
        content = os.pread(self._file, 1 << 20, self._position)
        if not content:
            return False
        self._position += len(content)
        *lines, self._rest = (self._rest + content).split(b"\n")
        for line in lines:
            self._send(line)
        return True

    def _send(self, line: bytes) -> None:
        with contextlib.suppress(Exception):  # the caller's function must not fail the module
            self._sink(line.decode("utf-8", "replace"))
