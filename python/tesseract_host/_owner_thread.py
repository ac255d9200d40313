"""The thread of a component that is bound to one: `threads="owner"`."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")

FORKED = "this process was forked, and the child has no such thread; open the component again"

_local = threading.local()  # `owner` and `chain`, on threads of this kind
_all: weakref.WeakSet[OwnerThread] = weakref.WeakSet()


class OwnerThread:
    """A thread that runs what other threads ask for, in the order in which they ask.

    They wait for it.  While it waits itself, for another of its kind, it does what its own chain of
    calls asks for: components that call each other in a circle don't wait for each other.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()  # also of jobs done for this thread
        self._later: deque[_Job | None] = deque()  # taken from the queue while it waited
        self._gone: str | None = None  # why nothing can be run any more
        threading.Thread(target=self._serve, name=f"tesseract-{name}", daemon=True).start()
        _all.add(self)

    def run(self, body: Callable[..., Result], *arguments: Any) -> Result:
        """Returns and raises what the body does, on the thread; in place where this is the thread.

        An exception that a signal's handler raises meanwhile, as Ctrl-C does, is raised once the
        body has returned, or at once if it had not begun.  Raises RuntimeError if the thread is no
        more.
        """
        here: OwnerThread | None = getattr(_local, "owner", None)
        if here is self:
            return body(*arguments)
        if self._gone is not None or sys.is_finalizing():
            raise RuntimeError(
                f"the thread of {self._name} is no more: {self._gone or 'the interpreter ends'}"
            )
        job = _Job(body, arguments, here)
        self._queue.put(job)
        if here is None:
            _wait(job)
        else:
            here._wait_here(job)
        return job.outcome()  # type: ignore[no-any-return]

    def end(self, body: Callable[..., Any] | None = None) -> None:
        """Ends the thread after what was asked for so far and a last body; does not wait."""
        if self._gone is not None:
            return
        self._gone = "the component is closed"
        if body is not None:
            self._queue.put(_Job(body, (), None))
        self._queue.put(None)

    def lose(self) -> None:
        """In a forked child: only a thread that forked itself goes on with what it does."""
        self._gone = FORKED

    def _serve(self) -> None:
        _local.owner = self
        while self._gone is not FORKED:
            job = self._later.popleft() if self._later else self._queue.get()
            if job is None:
                return
            job.execute()
            del job  # its result is the caller's

    def _wait_here(self, job: _Job) -> None:
        while not job.is_done:
            message = self._queue.get()
            if message is not None and message.chain is job.chain:
                if message is not job:
                    message.execute()
            else:
                self._later.append(message)


class _Job:
    """One body, its caller's until it is done."""

    def __init__(
        self, body: Callable[..., Any], arguments: tuple[Any, ...], waiting: OwnerThread | None
    ) -> None:
        self._body = body
        self._arguments = arguments
        self._waiting = waiting  # the thread that waits, if it is one of these
        self.chain: object = self if waiting is None else _local.chain
        self.begun = threading.Lock()  # taken by who begins it, or by who takes it back
        self.over = threading.Lock()
        self.over.acquire()
        self.is_done = False
        self._result: Any = None
        self._error: BaseException | None = None

    def execute(self) -> None:
        if not self.begun.acquire(blocking=False):
            return
        around = getattr(_local, "chain", None)
        _local.chain = self.chain
        try:
            self._result = self._body(*self._arguments)
        except BaseException as error:
            self._error = error
        _local.chain = around
        del self._body, self._arguments
        self.is_done = True
        if self._waiting is None:
            self.over.release()
        else:
            self._waiting._queue.put(self)

    def outcome(self) -> Any:
        error, self._error = self._error, None
        if error is None:
            return self._result
        try:
            raise error
        finally:
            del error  # whose traceback refers to this frame


def _wait(job: _Job) -> None:
    """Waits on a thread of any other kind, where handlers of signals may raise."""
    interrupt: BaseException | None = None
    while not job.is_done:
        try:
            job.over.acquire()
        except BaseException as error:
            interrupt = error
            if job.begun.acquire(blocking=False):
                break
    if interrupt is not None:
        try:
            raise interrupt
        finally:
            del interrupt


def _lose_all() -> None:
    for thread in list(_all):
        thread.lose()


os.register_at_fork(after_in_child=_lose_all)
