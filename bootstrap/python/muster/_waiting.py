"""Calls that wait and that Ctrl-C ends.

Python runs signal handlers in the main thread, and only when a call into a C library has returned; a collective may return in
hours. So a second thread makes the calls of the main thread, which waits for it in Python. Other threads run no signal handlers
and call directly. The interpreter's lock is free during both.
"""

from __future__ import annotations

import os
import queue
import threading
from typing import Any, Callable, Generic, Optional, TypeVar

from ._errors import UsageError

_T = TypeVar("_T")

# The longest delay of a signal that arrives just before the wait begins, and of the record that a call has returned.
LOOK_S = 0.2

# How long a call waits for an earlier one, which was interrupted, to return with the failure of the group.
GRACE_S = 5


class _Job(Generic[_T]):
    def __init__(self, function: Callable[..., _T], arguments: tuple[object, ...]) -> None:
        self.function = function
        # Buffers included: they must live until the other thread has finished reading and writing.
        self.arguments = arguments
        self.results: list[_T] = []
        self.raised: BaseException | None = None
        self.finished = False
        # Released after that. No state: a signal handler may raise as soon as it has been acquired.
        self.done = threading.Lock()
        self.done.acquire()
        # The first one decides, in one operation: the second thread (True), or an interrupted thread (False).
        self._begins: dict[None, bool] = {}

    def begins(self) -> bool:
        """Of the second thread. False: the call is not to be made."""
        return self._begins.setdefault(None, True)

    def waits(self) -> bool:
        """Of an interrupted call: whether it has begun and not returned. If it has not begun, it never will."""
        return self._begins.setdefault(None, False) and not self.finished


_Jobs = queue.SimpleQueue[Optional[_Job[Any]]]


def _serve(jobs: _Jobs) -> None:
    while True:
        job = jobs.get()
        if job is None:
            return
        if not job.begins():
            continue
        try:
            job.results.append(job.function(*job.arguments))
        except BaseException as error:
            job.raised = error
        job.finished = True
        job.done.release()
        del job


class Waiter:
    """Makes calls that may wait. An interrupted thread leaves its call, which goes on in the background: in most cases the program
    exits now, and the other ranks fail because of that. If it makes another call instead, `abandon(reason)` fails the group on
    all ranks."""

    def __init__(self, abandon: Callable[[bytes], object]) -> None:
        self._abandon = abandon
        self._jobs: _Jobs | None = None
        self._pid: int | None = None
        self._alone = False
        self._awaited: _Job[Any] | None = None
        self._left: _Job[Any] | None = None
        self._reason = ""
        self.ending = False  # of the process: threads whose calls end with the group end as well, without a traceback

    def __call__(self, function: Callable[..., _T], *arguments: object) -> _T:
        jobs = self._queue()
        if jobs is None:
            result = function(*arguments)
            # A thread that waited for messages which never come, at the normal end of the program.
            if self.ending and threading.current_thread() is not threading.main_thread():
                raise SystemExit
            return result
        if self._left is not None:
            self._finish_left(self._left)
        job = _Job(function, arguments)
        try:
            self._awaited = job
            jobs.put(job)
            while not job.done.acquire(timeout=LOOK_S):
                pass
        except BaseException as interruption:
            self._left = job
            self._reason = type(interruption).__name__
            job.waits()
            raise
        self._awaited = None
        if job.raised is not None:
            raise job.raised
        return job.results[0]

    @property
    def stuck(self) -> bool:
        """Whether an interrupted call still waits."""
        left = self._left
        return left is not None and left.waits()

    def settle(self, timeout: float) -> bool:
        """Waits for an interrupted call that must return. False: it still waits."""
        left = self._left
        if left is not None and left.waits() and not left.done.acquire(timeout=timeout):
            return False
        self._left = None
        return True

    def _finish_left(self, left: _Job[Any]) -> None:
        # It may have returned, and the second thread has not recorded it yet.
        if left.waits() and not left.done.acquire(timeout=LOOK_S):
            self._abandon(f"was interrupted ({self._reason})".encode())
            if not left.done.acquire(timeout=GRACE_S):
                raise UsageError(
                    f"a call that was interrupted ({self._reason}) did not return within {GRACE_S} s", "exit this process"
                )
        self._left = None

    def rest(self) -> None:
        """From now on no call waits (a world of one): the second thread ends."""
        if self._jobs is not None and self._pid == os.getpid():
            self._jobs.put(None)
        self._alone, self._pid = True, None

    def wake(self) -> None:
        """After rest(): calls wait again."""
        self._alone = False

    def _queue(self) -> _Jobs | None:
        """The second thread's queue; None if this call is to be made directly: it may be that of a signal handler, while the call
        that the signal interrupted waits. A forked child has a thread of its own."""
        if self._alone or threading.current_thread() is not threading.main_thread():
            return None
        awaited = self._awaited
        if awaited is not None and awaited is not self._left and not awaited.finished and self._pid == os.getpid():
            return None
        if self._pid == os.getpid():
            return self._jobs
        jobs: _Jobs = queue.SimpleQueue()
        try:
            threading.Thread(target=_serve, args=(jobs,), name="muster", daemon=True).start()
        except RuntimeError:
            return None  # the interpreter is about to end
        self._jobs, self._pid = jobs, os.getpid()
        return jobs
