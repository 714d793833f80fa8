"""The program that torch_init.py has started N times, under torchrun and under muster: a PyTorch program that forms its group, meets
once and ends.

    torch_init_peer.py DIR

Ranks begin together, when all have imported PyTorch: each leaves a file in DIR and waits for the others'. Rank 0
prints the seconds of the slowest."""

import os
import sys
import time

import torch
import torch.distributed


def begin_together(place, rank, size):
    open(os.path.join(place, str(rank)), "w", encoding="utf-8").close()
    while len(os.listdir(place)) < size:
        time.sleep(0.001)


if __name__ == "__main__":
    begin_together(sys.argv[1], os.environ["RANK"], int(os.environ["WORLD_SIZE"]))
    start = time.perf_counter()
    torch.distributed.init_process_group("gloo")
    torch.distributed.barrier()
    seconds = torch.tensor(time.perf_counter() - start)
    torch.distributed.all_reduce(seconds, torch.distributed.ReduceOp.MAX)
    if torch.distributed.get_rank() == 0:
        print(seconds.item())
    torch.distributed.destroy_process_group()
