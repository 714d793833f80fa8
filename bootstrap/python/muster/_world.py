"""The one group of this process."""

import atexit
import ctypes
import datetime
import functools
import json
import os
import sys
import threading

from . import _library, _waiting
from ._errors import of_library, usage
from .communicator import Communicator

FACTS = ["rank", "size", "local_rank", "local_size", "node_rank", "num_nodes", "node", "nodes"]
CALLS = [
    "barrier",
    "broadcast",
    "gather",
    "all_gather",
    "broadcast_bytes",
    "gather_bytes",
    "all_gather_bytes",
    "all_reduce",
    "reduce",
    "broadcast_buffer",
    "gather_buffer",
    "all_gather_buffer",
    "scatter",
    "reduce_scatter",
    "all_to_all",
    "send",
    "recv",
    "split",
]


class _Process:
    lock = threading.Lock()
    library = None
    wait = None
    world = None
    pid = None


def library():
    if _Process.library is None:
        with _Process.lock:
            if _Process.library is None:
                loaded = _library.load()
                _Process.wait = _waiting.Waiter(loaded.muster_abandon)
                _Process.library = loaded
                atexit.register(_at_exit)
    return _Process.library


def init(config=None, **settings):
    """Finds out which rank this process is, meets the others and gives the group of all.

    config    a YAML file; None: $MUSTER_CONFIG, else the defaults
    settings  keys of the configuration (configs/REFERENCE.md): init(timeouts={"collective": "1h"}, backend="socket")

    Under `muster run` and `muster launch` the group is the supervisor's, and so is its configuration. Without a launcher it is a
    world of one, at no cost. A second call gives the first group; where it asks for another configuration it is refused. Waits
    for at most timeouts.resolve + timeouts.rendezvous + timeouts.init.
    """
    lib = library()
    if _Process.world is not None and _Process.pid == os.getpid() and config is None and not settings:
        return _Process.world
    texts = [text.encode() for text in _flatten(settings)]
    options = _library.Options(
        None if config is None else os.fsencode(config), (ctypes.c_char_p * len(texts))(*texts), len(texts)
    )
    pointer = ctypes.c_void_p()
    _raise(_Process.wait(lib.muster_init, _library.ABI_VERSION, ctypes.byref(options), ctypes.byref(pointer)))
    if _Process.world is None or _Process.pid != os.getpid():
        _Process.world, _Process.pid = Communicator(lib, _Process.wait, pointer.value, False), os.getpid()
        if _Process.world.size == 1:
            _Process.wait.rest()
    return _Process.world


def is_initialized():
    """Whether there is a group."""
    return _Process.world is not None and _Process.pid == os.getpid()


def world():
    """The group of all ranks."""
    if not is_initialized():
        raise usage("there is no group", "call muster.init() first" if _Process.world is None else "a forked child has none")
    return _Process.world


def shutdown():
    """Says goodbye to the group and waits, at most timeouts.shutdown, until nobody needs this rank any more. Done by itself at the
    end of a program that does not end with an exception. Does nothing where there is no group."""
    if not is_initialized():
        return
    _Process.world = None
    _raise(_Process.wait(_Process.library.muster_shutdown))


def launcher():
    """What launched this process: "slurm", "torchrun", "muster", ..., "none"."""
    world()
    return library().muster_launcher().decode()


def job_key():
    """What people and logs call this launch: "slurm:4.0:0"."""
    world()
    return library().muster_job_key().decode()


def collective_timeout():
    """timeouts.collective as the group's configuration has it, a timedelta."""
    world()
    nanoseconds = library().muster_collective_timeout_ns()
    return min(datetime.timedelta(microseconds=nanoseconds // 1000), datetime.timedelta(days=36500))


def fact(name):
    """The function of the module for a property of the world."""
    described = getattr(Communicator, name)

    def function():
        return getattr(world(), name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = described.__doc__
    return function


def call(name):
    """The function of the module for a method of the world."""

    @functools.wraps(getattr(Communicator, name))
    def function(*args, **kwargs):
        return getattr(world(), name)(*args, **kwargs)

    del function.__wrapped__
    return function


def _flatten(settings):
    """{"timeouts": {"collective": "1h"}} as muster's --set takes it."""
    for name, value in settings.items():
        if isinstance(value, dict):
            for inner, deep in value.items():
                yield f"{name}.{inner}={_text(deep)}"
        else:
            yield f"{name}={_text(value)}"


def _text(value):
    if isinstance(value, datetime.timedelta):
        return f"{value // datetime.timedelta(milliseconds=1)}ms"
    # JSON is YAML, and a string stands for itself.
    return value if isinstance(value, str) else json.dumps(value)


def _raise(error):
    if error:
        raise of_library(_Process.library, error)


def _at_exit():
    """No goodbye from a program that failed, or whose last call hangs: its end tells the others."""
    if not is_initialized() or _Process.wait.stuck or getattr(sys, "last_value", None) is not None:
        return
    shutdown()
