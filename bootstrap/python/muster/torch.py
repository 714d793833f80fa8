"""PyTorch's process group with everything filled in.

    import muster.torch
    muster.torch.init_process_group()

instead of RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and the timeout, whatever launched the processes.
"""

from __future__ import annotations

import datetime
import logging

import torch.distributed as dist

from . import _world
from ._errors import usage

_log = logging.getLogger("muster")

# For connecting to the store and for what PyTorch says in it: seconds of work, whatever the collectives may take.
_STORE_TIMEOUT = datetime.timedelta(minutes=5)

_FILLED_IN = ("init_method", "rank", "store", "world_size")


def init_process_group(backend=None, timeout=None, **more):
    """torch.distributed.init_process_group, unless somebody has called it already; then it does nothing.

    backend   as PyTorch takes it; None: its own choice for the devices at hand
    timeout   of collectives, a timedelta or seconds; None: muster's timeouts.collective
    more      everything else that PyTorch takes, but for rank, world_size, store and init_method

    Calls muster.init() where nobody has. Under `muster run` and `muster launch` PyTorch meets as their environment says; under any
    other launcher through muster: rank 0 opens a store on a free port and tells the others. In a world of one there is neither
    store nor port. Environment variables are left as they are.
    """
    if dist.is_initialized():
        return
    for name in _FILLED_IN:
        if name in more:
            raise usage(f"init_process_group: muster fills in {name}", "leave it out, or call PyTorch's")
    comm = _world.init()
    if timeout is None:
        timeout = _world.collective_timeout()
    elif not isinstance(timeout, datetime.timedelta):
        timeout = datetime.timedelta(seconds=timeout)
    dist.init_process_group(backend, timeout=timeout, **_meeting(comm), **more)
    if comm.size > 1 and comm.rank == 0:
        _log.info("PyTorch's process group: %s, %d ranks on %d nodes", dist.get_backend(), comm.size, comm.num_nodes)


def _meeting(comm):
    if comm.size > 1 and _world.launcher() == "muster":
        return {"init_method": "env://"}
    store = dist.HashStore() if comm.size == 1 else _store(comm)
    return {"store": store, "rank": comm.rank, "world_size": comm.size}


def _store(comm):
    """Rank 0's, on a port that the kernel chose; PyTorch's servers listen on all addresses."""
    host = (comm.node_addresses(comm.node_of(0)) or ["127.0.0.1"])[0]
    if comm.rank > 0:
        host, port = comm.broadcast()
        return dist.TCPStore(host, port, comm.size, False, _STORE_TIMEOUT)
    store = dist.TCPStore(host, 0, comm.size, True, _STORE_TIMEOUT, wait_for_workers=False)
    comm.broadcast((host, store.port))
    return store
