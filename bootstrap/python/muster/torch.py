"""PyTorch's process group under any launcher.

    import muster.torch
    muster.torch.init_process_group()

fills in the rank, the world size, the store and the timeout.
"""

from __future__ import annotations

import datetime
import logging
from typing import Any

import torch.distributed as dist

from . import _world
from .communicator import Communicator

_log = logging.getLogger("muster")

# Of connections to the store and of PyTorch's requests to it, which take seconds whatever the collectives may take.
_STORE_TIMEOUT = datetime.timedelta(minutes=5)


def init_process_group(
    backend: str | None = None,
    timeout: datetime.timedelta | float | None = None,
    *,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Calls torch.distributed.init_process_group. Does nothing if there is a process group already.

    backend   as PyTorch takes it; None: PyTorch's choice for the devices
    timeout   of collectives: a timedelta or seconds; None: timeouts.collective of muster's configuration

    The other arguments are PyTorch's. Calls muster.init() if there is no group. Under `muster run` and `muster launch` PyTorch meets
    as in their environment. Under another launcher rank 0 opens a store on a free port, and muster sends its address to the other
    ranks. A world of one has neither store nor port. Environment variables do not change. Errors and waits are those of muster.init(),
    of Communicator.broadcast and of PyTorch. A timeout of 0 or less is passed to PyTorch.
    """
    if dist.is_initialized():
        return
    comm = _world.init()
    if timeout is None:
        timeout = _world.collective_timeout()
    elif not isinstance(timeout, datetime.timedelta):
        timeout = datetime.timedelta(seconds=timeout)
    # PyTorch before 2.3 has no device_id.
    devices = {} if device_id is None else {"device_id": device_id}
    dist.init_process_group(
        backend, timeout=timeout, group_name=group_name, pg_options=pg_options, **devices, **_meeting(comm)
    )
    if comm.size > 1 and comm.rank == 0:
        _log.info("PyTorch's process group: %s, %d ranks on %d nodes", dist.get_backend(), comm.size, comm.num_nodes)


def _meeting(comm: Communicator) -> dict[str, Any]:
    if comm.size > 1 and _world.launcher() == "muster":
        return {"init_method": "env://"}
    store = dist.HashStore() if comm.size == 1 else _store(comm)
    return {"store": store, "rank": comm.rank, "world_size": comm.size}


def _store(comm: Communicator) -> Any:
    """Rank 0's, on a port that the kernel chooses. PyTorch's server listens on all addresses."""
    host = (comm.node_addresses(comm.node_of(0)) or ["127.0.0.1"])[0]
    if comm.rank > 0:
        host, port = comm.broadcast()
        return dist.TCPStore(host, port, comm.size, False, _STORE_TIMEOUT)
    store = dist.TCPStore(host, 0, comm.size, True, _STORE_TIMEOUT, wait_for_workers=False)
    comm.broadcast((host, store.port))
    return store
