"""muster: the processes of a launch as one group, whatever launched them.

    import muster

    comm = muster.init()                      # under srun, torchrun, mpirun, muster run, or on its own
    mine = evaluate(rows[comm.rank :: comm.size])
    total = muster.all_reduce(len(mine))      # a number, or a buffer in place
    results = muster.gather(mine)             # objects: a list on rank 0, None elsewhere
    muster.barrier()

`init` finds out which rank this process is and meets the others; the functions of this module are those of the group that it
gives (`Communicator`), and of no group before `init`. At the end of the program muster says goodbye by itself; a program that
ends with an exception does not, and so the other ranks learn at once that it failed. Every call ends: a peer that is lost, a
disagreement between ranks and a passed timeout are exceptions (`Error`) on every rank that waits, with the rank and the node to
blame. Other threads go on while a call waits, and Ctrl-C ends the wait.

Objects travel as pickles: ranks trust each other, as processes of one user and one job do. A pickle that was changed between
two nodes is never loaded: the group fails with `AuthenticationFailed`.
"""

from . import _world
from ._errors import (
    AuthenticationFailed,
    BadConfiguration,
    BadEnvironment,
    DeadlineExceeded,
    Disagreement,
    Error,
    InternalError,
    NotLaunched,
    PeerLost,
    SystemFailure,
    UsageError,
    WorkFailed,
)
from ._world import collective_timeout, init, is_initialized, job_key, launcher, shutdown, world
from .communicator import Communicator

__all__ = [
    "AuthenticationFailed",
    "BadConfiguration",
    "BadEnvironment",
    "Communicator",
    "DeadlineExceeded",
    "Disagreement",
    "Error",
    "InternalError",
    "NotLaunched",
    "PeerLost",
    "SystemFailure",
    "UsageError",
    "WorkFailed",
    "collective_timeout",
    "init",
    "is_initialized",
    "job_key",
    "launcher",
    "shutdown",
    "version",
    "world",
    *_world.FACTS,
    *_world.CALLS,
]


def version():
    """The release of the library in use, "0.1.0"."""
    return _world.library().muster_version().decode()


# muster.rank() is muster.world().rank, muster.barrier() is muster.world().barrier().
globals().update({name: _world.fact(name) for name in _world.FACTS})
globals().update({name: _world.call(name) for name in _world.CALLS})
