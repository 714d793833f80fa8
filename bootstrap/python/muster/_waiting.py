"""Calls that wait, made so that Ctrl-C reaches the program while they do.

A call into a C library holds up the signal handlers of Python's main thread until it returns, and a collective may return in
hours. So the main thread has its calls made by a second thread, and waits for it in Python, where a signal is heard at once.
Other threads hear no signals and call directly. The interpreter's lock is free during both.
"""

import os
import queue
import threading

from ._errors import usage

# A signal that comes between Python's last look and the kernel's first is seen after so long at the latest.
LOOK_S = 0.2

# How long a call waits for an earlier one, which was interrupted, to come back with the failure of the group.
GRACE_S = 5


class _Job:
    def __init__(self, function, arguments):
        self.function = function
        # Buffers included: what the other thread reads and writes must live until it is done.
        self.arguments = arguments
        self.result = None
        self.raised = None
        self.done = threading.Lock()
        self.done.acquire()


def _serve(jobs):
    while True:
        job = jobs.get()
        if job is None:
            return
        try:
            job.result = job.function(*job.arguments)
        except BaseException as error:
            job.raised = error
        job.done.release()
        del job


class Waiter:
    """Makes calls that may wait. Who is interrupted leaves the call, which goes on without it: mostly the program ends now, and
    its end tells the others. Where it calls again instead, `abandon(reason)` makes the group fail on all ranks."""

    def __init__(self, abandon):
        self._abandon = abandon
        self._jobs = None
        self._pid = None
        self._alone = False
        self._left = None
        self._reason = ""

    def __call__(self, function, *arguments):
        if self._alone or threading.current_thread() is not threading.main_thread() or not self._started():
            return function(*arguments)
        if self._left:
            self._finish_left()
        job = _Job(function, arguments)
        try:
            self._jobs.put(job)
            while not job.done.acquire(timeout=LOOK_S):
                pass
        except BaseException as interruption:
            self._left, self._reason = job, type(interruption).__name__
            raise
        if job.raised is not None:
            raise job.raised
        return job.result

    @property
    def stuck(self):
        """Whether a call that was left goes on."""
        return self._left is not None and self._left.done.locked()

    def _finish_left(self):
        if self.stuck:
            self._abandon(f"was interrupted ({self._reason})".encode())
            if not self._left.done.acquire(timeout=GRACE_S):
                raise usage(f"a call that was interrupted ({self._reason}) has not come back yet", "end this process")
        self._left = None

    def rest(self):
        """From now on no call waits (a world of one): the second thread ends."""
        if self._jobs is not None and self._pid == os.getpid():
            self._jobs.put(None)
        self._alone = True

    def _started(self):
        """A forked child has its own."""
        if self._pid == os.getpid():
            return True
        jobs = queue.SimpleQueue()
        try:
            threading.Thread(target=_serve, args=(jobs,), name="muster", daemon=True).start()
        except RuntimeError:
            return False  # the interpreter is about to end
        self._jobs, self._pid = jobs, os.getpid()
        return True
