"""PyTorch's mp.spawn in one task on each node, as many examples have it: each process sets its own variables. Forked, as none
needs a PyTorch of its own.

    spawn.py COUNT PROGRAM [ARG]...
"""

import os
import sys

import torch.multiprocessing


def rank(local_rank, count, command):
    node, nodes = int(os.environ["SLURM_NODEID"]), int(os.environ["SLURM_STEP_NUM_NODES"])
    os.environ.update(
        RANK=str(node * count + local_rank),
        WORLD_SIZE=str(nodes * count),
        LOCAL_RANK=str(local_rank),
        MASTER_ADDR="gpu01",
        MASTER_PORT="29515",
    )
    os.execvp(command[0], command)


if __name__ == "__main__":
    torch.multiprocessing.start_processes(rank, (int(sys.argv[1]), sys.argv[2:]), int(sys.argv[1]), start_method="fork")
