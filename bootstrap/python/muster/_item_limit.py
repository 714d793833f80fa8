"""The time limit of an item, carried out in the thread that is at work on it.

An exception is raised there when the time is over. In the main thread a signal does that, which also ends a call of Python that waits
(time.sleep, a socket, a subprocess). In other threads, and if the program has a handler of its own for that signal, the
interpreter raises it before its next instruction. Code of C that does not return cannot be ended so: after 2 s more the root has the
process ended.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from types import CodeType, FrameType
from typing import Callable, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., object])

_SIGNAL = signal.SIGALRM

_whole: set[CodeType] = set()


def whole(function: _Function) -> _Function:
    """Nothing is raised in this function, which calls `begin` or `end`."""
    _whole.add(function.__code__)
    return function


class ItemTimeout(BaseException):
    """An item has taken longer than the map's `timeout`. No Exception: a function that tries again after each of these ends, too."""


class ItemLimit:
    """Of each item of a map. `begin` and `end` are called in the thread that is at work on it."""

    def __init__(self, seconds: float) -> None:
        """0: no limit."""
        self.seconds = min(seconds, threading.TIMEOUT_MAX)
        self._lock = threading.Lock()
        self._ends: dict[int, float] = {}  # by thread, when its item is late
        self._late: dict[int, bool] = {}  # threads whose item is late; whether their exception has been raised
        self._closed = threading.Event()
        self._handles = seconds > 0 and self._install()
        if seconds > 0:
            threading.Thread(target=self._watch, name="muster map limit", daemon=True).start()

    @whole
    def begin(self) -> None:
        if self.seconds > 0:
            with self._lock:
                self._ends[threading.get_ident()] = time.monotonic() + self.seconds

    @whole
    def end(self) -> bool:
        """True: this was too late. No exception arrives from now on. Without the signal an exception may still leave this function."""
        if self.seconds <= 0:
            return False
        me = threading.get_ident()
        with self._lock:
            self._ends.pop(me, None)
            late = self._late.pop(me, None)
            if late:
                _take_back(me)
        return late is not None

    def close(self) -> None:
        """Also with an item at work. No signal arrives from now on: without the handler it would end the process."""
        with self._lock:
            self._closed.set()
            self._ends.clear()
        if self._signals():
            signal.signal(_SIGNAL, signal.SIG_DFL)
        self._handles = False

    def _install(self) -> bool:
        """Whether the signal is this map's."""
        if threading.current_thread() is not threading.main_thread() or signal.getsignal(_SIGNAL) is not signal.SIG_DFL:
            return False
        signal.signal(_SIGNAL, self._on_signal)
        return True

    def _signals(self) -> bool:
        """The function of an item may have changed the handler."""
        return self._handles and signal.getsignal(_SIGNAL) == self._on_signal

    def _on_signal(self, _number: int, frame: FrameType | None) -> None:
        me = threading.get_ident()
        if self._late.get(me) is False and (frame is None or frame.f_code not in _whole):
            self._late[me] = True
            raise ItemTimeout

    def _watch(self) -> None:
        wait = self.seconds
        while not self._closed.wait(wait):
            wait = self._end_late(time.monotonic())

    def _end_late(self, now: float) -> float:
        """Ends the items that are late. Returns the seconds until the next check: an item that begins meanwhile is late after that."""
        with self._lock:
            for thread in [thread for thread, end in self._ends.items() if end <= now]:
                del self._ends[thread]
                self._send(thread)
            return min([self.seconds, *(end - now for end in self._ends.values())])

    def _send(self, thread: int) -> None:
        by_signal = thread == threading.main_thread().ident and self._signals()
        self._late[thread] = not by_signal
        if by_signal:
            signal.pthread_kill(thread, _SIGNAL)
        elif (frame := sys._current_frames().get(thread)) and frame.f_code not in _whole:
            _raise_in(thread, ItemTimeout)


def _raise_in(thread: int, kind: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))


def _take_back(me: int) -> None:
    """An exception that has not arrived is replaced by one that arrives here. With NULL instead, the interpreter stays interrupted:
    in Python 3.11 the next call under a tracer (a debugger, coverage) never returns."""
    try:
        _raise_in(me, ItemTimeout)
        time.sleep(0)
    except ItemTimeout:
        pass
