"""The one group of this process."""

from __future__ import annotations

import atexit
import ctypes
import datetime
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Optional

from . import _library, _waiting
from ._errors import Error, UsageError, of_library
from .communicator import Communicator

if TYPE_CHECKING:
    from ._map_queue import Queue

# A section of the configuration: {"collective": "1h"}.
Section = Optional[Mapping[str, object]]


class _Process:
    """The library and the group, from the first init on."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self.wait = _waiting.Waiter(library.muster_abandon)
        self.world: Communicator | None = None
        self.pid: int | None = None
        self.queue: Queue | None = None  # of the map that this process began last

    @property
    def stuck(self) -> bool:
        """Whether a call on the group has not returned."""
        return self.wait.stuck or (self.queue is not None and self.queue.stuck)

    def raises(self, error: int | None) -> None:
        if error:
            raise of_library(self.library, error)


# Levels of muster_log.
INFO, WARNING, ERROR = 1, 2, 3

_lock = threading.Lock()
_process: _Process | None = None
# An exception that no handler caught. sys.last_value has others as well: those that pytest or a console has handled.
_failed = False


def process() -> _Process:
    """Loads the library when it is first needed."""
    global _process
    with _lock:
        if _process is None:
            _process = _Process(_library.load())
            atexit.register(_at_exit)
            _watch_for_failure()
        return _process


def init(
    config: str | os.PathLike[str] | None = None,
    *,
    launcher: str | None = None,
    backend: str | None = None,
    rendezvous: Section = None,
    timeouts: Section = None,
    liveness: Section = None,
    nccl: Section = None,
    run: Section = None,
    log: Section = None,
) -> Communicator:
    """Resolves this process's rank, joins the group and returns the communicator of all ranks.

    config  a YAML file; None: $MUSTER_CONFIG, else the defaults

    The other arguments are keys of the configuration (configs/REFERENCE.md), and override the file:
    init(timeouts={"collective": "1h"}, backend="socket").

    Under `muster run` and `muster launch` the group and its configuration are the supervisor's. Without a launcher the group is a
    world of one, at no cost. A second call returns the first group. After an error, and after shutdown(), it may be called again, on
    all ranks. Waits for at most timeouts.resolve + timeouts.rendezvous + timeouts.init. Call it and shutdown() in one thread.

    NotLaunchedError      an allocation, but this process was not started as one of its ranks
    BadEnvironmentError   variables of launchers are malformed or contradict each other
    ConfigurationError    a bad file, argument or MUSTER_* value; a second call with other arguments
    DeadlineError         ranks are missing when the time is over; the message names them
    PeerLostError         a rank ended while the group was forming
    DisagreementError     ranks differ in world size, configuration or version
    AuthenticationError   a peer could not prove its identity
    OperatingSystemError  the operating system refused (a socket, memory)
    InternalError         a bug in muster
    UsageError            a forked child, whose group belongs to its parent; libmuster is missing or too old
    """
    here = process()
    keys = dict(
        launcher=launcher,
        backend=backend,
        rendezvous=rendezvous,
        timeouts=timeouts,
        liveness=liveness,
        nccl=nccl,
        run=run,
        log=log,
    )
    texts = [text.encode() for text in _flatten(keys)]
    if here.world is not None and here.pid == os.getpid() and config is None and not texts:
        return here.world
    options = _library.Options(
        None if config is None else os.fsencode(config), (ctypes.c_char_p * len(texts))(*texts), len(texts)
    )
    pointer = ctypes.c_void_p()
    if not is_initialized():
        here.wait.wake()
    here.raises(here.wait(here.library.muster_init, _library.ABI_VERSION, ctypes.byref(options), ctypes.byref(pointer)))
    if here.world is None or here.pid != os.getpid():
        here.world, here.pid = Communicator(here.library, here.wait, pointer.value, False), os.getpid()
        _leave_at_the_end_of_a_child()
        if here.world.size == 1:
            here.wait.rest()
    return here.world


def is_initialized() -> bool:
    """Whether there is a group; False in a forked child."""
    return _process is not None and _process.world is not None and _process.pid == os.getpid()


def world() -> Communicator:
    """The group of all ranks. UsageError: there is none, as before init(), after shutdown() and in a forked child."""
    if _process is None or _process.world is None:
        raise UsageError("there is no group", "call muster.init() first")
    if _process.pid != os.getpid():
        raise UsageError("there is no group", "a forked child has none; call muster in its parent, or in a program that it executes")
    return _process.world


def shutdown() -> None:
    """Leaves the group and waits, for at most timeouts.shutdown, until no rank needs this one. A program that exits without an
    exception does it by itself. A call that waits in another thread raises UsageError. Such a call fails the group if it needs a rank
    that left more than 2 s ago: free its communicator first if ranks end further apart. Does nothing if there is no group, and in a
    forked child. Raises the group's failure, if it has one."""
    if _process is None or not is_initialized():
        return
    if _process.queue is not None:
        _process.queue.close()
    _process.world = None
    _process.raises(_process.wait(_process.library.muster_shutdown))


def launcher() -> str:
    """The launcher of this process: "slurm", "torchrun", "muster", ..., "none". UsageError: as world()."""
    world()
    name: bytes = process().library.muster_launcher()
    return name.decode()


def job_key() -> str:
    """The name of this launch in logs: "slurm:4.0:0". UsageError: as world()."""
    world()
    key: bytes = process().library.muster_job_key()
    return key.decode()


def collective_timeout() -> datetime.timedelta:
    """timeouts.collective of the group's configuration. UsageError: as world()."""
    world()
    nanoseconds: int = process().library.muster_collective_timeout_ns()
    return min(datetime.timedelta(microseconds=nanoseconds // 1000), datetime.timedelta(days=36500))


def log(level: int, message: str) -> None:
    """A line in muster's log."""
    process().library.muster_log(level, message.encode(errors="replace"))


def version() -> str:
    """The release of the library in use, "0.1.0"; muster.__version__ is that of the Python module. Needs no group. UsageError:
    libmuster is missing or too old."""
    name: bytes = process().library.muster_version()
    return name.decode()


def _flatten(keys: Mapping[str, object]) -> Iterator[str]:
    """{"timeouts": {"collective": "1h"}} as the words of muster's --set."""
    for name, value in keys.items():
        if isinstance(value, Mapping):
            for inner, deep in value.items():
                yield f"{name}.{inner}={_text(deep)}"
        elif value is not None:
            yield f"{name}={_text(value)}"


def _text(value: object) -> str:
    if isinstance(value, datetime.timedelta):
        return f"{value // datetime.timedelta(milliseconds=1)}ms"
    # JSON is YAML; a string needs no quotes.
    return value if isinstance(value, str) else json.dumps(value)


def _watch_for_failure() -> None:
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        global _failed
        # A console or a thread may call it, too, and the program goes on.
        _failed = _failed or _is_over()
        before(kind, error, traceback)

    hook.of_muster = True  # type: ignore[attr-defined]
    sys.excepthook = hook


def _is_over() -> bool:
    """The interpreter calls a hook for the program itself in the main thread, when no code of the program is left."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
    outermost = frame.f_code.co_name
    return threading.current_thread() is threading.main_thread() and outermost not in ("<module>", "_run_module_as_main")


def _has_failed() -> bool:
    # A hook that has replaced this module's may not call it.
    replaced = not getattr(sys.excepthook, "of_muster", False)
    return _failed or (replaced and getattr(sys, "last_value", None) is not None)


def _leave_at_the_end_of_a_child() -> None:
    """A child that multiprocessing has forked ends without atexit."""
    module = sys.modules.get("multiprocessing.process")
    if module is not None and module.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(None, _at_exit_of_child, exitpriority=0)


def _at_exit_of_child() -> None:
    """An exception that ends the child is on its way now."""
    error = sys.exc_info()[1]
    if error is None or (isinstance(error, SystemExit) and not error.code):
        _at_exit()


def _at_exit() -> None:
    """A program that failed, or whose last call still waits, does not leave the group: the other ranks fail when it exits."""
    if _process is None or _process.stuck or _has_failed():
        return
    _process.wait.ending = True
    try:
        shutdown()
    except Error as error:
        # The program has handled it, or made no call after it: a traceback would be a second failure.
        log(WARNING, f"the group had failed before this program exited: {error}")
