"""Gloo as PyTorch users have it: two processes of this, started and driven by allreduce.py.

    gloo_peer.py RANK WORLD_SIZE FILE

Reads lines of `BYTES:ITERATIONS` and answers each, on rank 0, with bytes and microseconds per call.
What is called is the Gloo process group itself, below torch.distributed's Python; what is left of
Python on the way (`dispatch`, answered with the microseconds of a call in a group of one) is in the figures.
"""

import datetime
import sys
import time

import torch
import torch.distributed as dist


def repeat(group, tensor, iterations):
    for _ in range(iterations):
        group.allreduce([tensor]).wait()


def microseconds(group, count, iterations, meet):
    tensor = torch.zeros(count, dtype=torch.float32)
    repeat(group, tensor, min(100, max(1, iterations // 10)))
    meet()
    start = time.perf_counter()
    repeat(group, tensor, iterations)
    return (time.perf_counter() - start) * 1e6 / iterations


def gloo_of(store, rank, world_size):
    return dist.ProcessGroupGloo(store, rank, world_size, datetime.timedelta(seconds=60))


def main():
    rank, world_size, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(1)
    group = gloo_of(dist.FileStore(path, world_size), rank, world_size)
    tensor = torch.ones(1)
    group.allreduce([tensor]).wait()
    assert tensor.item() == world_size
    print("ready", torch.__version__, flush=True)
    for line in sys.stdin:
        size, iterations = line.split(":")
        if size == "dispatch":
            alone = gloo_of(dist.HashStore(), 0, 1)
            taken = microseconds(alone, 2, int(iterations), lambda: None)
        else:
            taken = microseconds(group, max(1, int(size) // 4), int(iterations), lambda: group.barrier().wait())
        print(size, f"{taken:.3f}", flush=True)


main()
