"""muster: the processes of a launch as one group, under any launcher.

    import muster

    comm = muster.init()                      # under srun, torchrun, mpirun, muster run, or on its own
    mine = evaluate(rows[comm.rank :: comm.size])
    total = muster.all_reduce(len(mine))      # a number, or a buffer in place
    results = muster.gather(mine)             # objects: a list on rank 0, None elsewhere
    muster.barrier()

`init` resolves this process's rank, joins the group and returns a `Communicator`. The functions of this module are its methods;
`group` chooses another communicator, from `split`. Without a group they raise UsageError. A program that exits without an exception
leaves the group by itself; an exception fails the group on all ranks.

    answers = muster.map(evaluate, rows, journal="out/answers.journal")

shares the rows among the ranks instead: a rank that is slow gets fewer, one that ends gives its rows back, and the next run does
what is left.

No call waits forever. A lost peer, a disagreement between ranks and a passed timeout raise an `Error` on every waiting rank, which
names the rank and the node. Other threads run while a call waits, and Ctrl-C ends the wait.

Objects travel as pickles: ranks trust each other, as processes of one user and one job do. A pickle that was changed between
two nodes is never loaded: the group fails with `AuthenticationError`.
"""

from typing import TYPE_CHECKING

from ._errors import (
    AuthenticationError,
    BadEnvironmentError,
    ConfigurationError,
    DeadlineError,
    DisagreementError,
    Error,
    FailedItem,
    InternalError,
    MapError,
    NotLaunchedError,
    OperatingSystemError,
    PeerLostError,
    TimeIsUpError,
    UsageError,
    WorkFailedError,
)
from ._functions import (
    all_gather,
    all_gather_buffer,
    all_gather_bytes,
    all_reduce,
    all_to_all,
    barrier,
    broadcast,
    broadcast_buffer,
    broadcast_bytes,
    gather,
    gather_buffer,
    gather_bytes,
    local_rank,
    local_size,
    node,
    node_rank,
    nodes,
    num_nodes,
    rank,
    recv,
    reduce,
    reduce_scatter,
    scatter,
    send,
    size,
    split,
)
from ._world import collective_timeout, init, is_initialized, job_key, launcher, shutdown, version, world
from .communicator import Communicator

if TYPE_CHECKING:
    from ._map_queue import MapOutcome
    from ._maps import MapItem, MapItems, map_items
    from ._maps import map as map  # not in __all__: `from muster import *` leaves Python's own alone
else:
    _MAPS = ("MapItem", "MapItems", "MapOutcome", "map", "map_items")

    def __getattr__(name: str) -> object:
        """The parts for maps are loaded at their first use: a program without a map needs none of it."""
        if name not in _MAPS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from . import _maps

        globals().update({one: getattr(_maps, one) for one in _MAPS})
        return globals()[name]

    def __dir__() -> list[str]:
        return sorted({*globals(), *_MAPS})

__version__ = "0.1.0"

__all__ = [
    "AuthenticationError",
    "BadEnvironmentError",
    "Communicator",
    "ConfigurationError",
    "DeadlineError",
    "DisagreementError",
    "Error",
    "FailedItem",
    "InternalError",
    "MapError",
    "MapItem",
    "MapItems",
    "MapOutcome",
    "NotLaunchedError",
    "OperatingSystemError",
    "PeerLostError",
    "TimeIsUpError",
    "UsageError",
    "WorkFailedError",
    "__version__",
    "all_gather",
    "all_gather_buffer",
    "all_gather_bytes",
    "all_reduce",
    "all_to_all",
    "barrier",
    "broadcast",
    "broadcast_buffer",
    "broadcast_bytes",
    "collective_timeout",
    "gather",
    "gather_buffer",
    "gather_bytes",
    "init",
    "is_initialized",
    "job_key",
    "launcher",
    "local_rank",
    "local_size",
    "map_items",
    "node",
    "node_rank",
    "nodes",
    "num_nodes",
    "rank",
    "recv",
    "reduce",
    "reduce_scatter",
    "scatter",
    "send",
    "shutdown",
    "size",
    "split",
    "version",
    "world",
]
