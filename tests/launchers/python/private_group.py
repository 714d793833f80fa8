"""A private group beside PyTorch's own, at a port of its own on rank 0's node.

    private_group.py store     a TCPStore that rank 0 binds
    private_group.py tcp       init_process_group at tcp://MASTER_ADDR:PORT, and nothing else

Rank 0 chooses the port and publishes it in a file: private_group.py HOW FILE."""

import datetime
import os
import socket
import sys
import time

import torch
import torch.distributed


def port_of(rank, path):
    if rank == 0:
        with socket.create_server(("", 0)) as probe:
            port = probe.getsockname()[1]
        with open(path + ".new", "w") as file:
            file.write(str(port))
        os.rename(path + ".new", path)
        return port
    while not os.path.exists(path):
        time.sleep(0.02)
    with open(path) as file:
        return int(file.read())


if __name__ == "__main__":
    rank, size, host = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), os.environ["MASTER_ADDR"]
    port = port_of(rank, sys.argv[2])
    limit = datetime.timedelta(seconds=60)
    if sys.argv[1] == "store":
        torch.distributed.init_process_group("gloo")
        store = torch.distributed.TCPStore(host, port, size, is_master=rank == 0, timeout=limit)
        total = store.add("sum", rank)
        torch.distributed.barrier()
        total = store.add("sum", 0)
    else:
        torch.distributed.init_process_group(
            "gloo", init_method=f"tcp://{host}:{port}", rank=rank, world_size=size, timeout=limit
        )
        value = torch.tensor(rank)
        torch.distributed.all_reduce(value)
        total = value.item()
    torch.distributed.barrier()
    if rank == 0:
        print(f"sum {total} of {size}")
    torch.distributed.destroy_process_group()
