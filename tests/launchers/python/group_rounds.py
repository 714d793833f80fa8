"""Process groups after each other in one process, by the variables alone; rank 0 prints how many there were.

    group_rounds.py ROUNDS [WHAT]...

WHAT happens beside the loop:
    subgroups     in each round, two subgroups
    published     rank 0 publishes a value over a connection of its own and closes it; all ranks read it in each round
    client        every rank keeps a second client of the store open for the whole time
    probe         the last rank connects and hangs up before all else, and between the rounds
    worker        in each round a child process of the last rank (started anew) reads a key over a client of its own
    slow          rank 0 closes its connections late
"""

import datetime
import multiprocessing
import os
import sys
import time

import torch
import torch.distributed as dist

LIMIT = datetime.timedelta(seconds=60)
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def client():
    return dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False, timeout=LIMIT)


def total_of(group=None):
    total = torch.tensor(rank)
    dist.all_reduce(total, group=group)
    return total.item()


def read_published(wanted):
    assert client().get("published") == wanted


def one_round(number, what):
    dist.init_process_group("gloo", timeout=LIMIT)
    assert total_of() == size * (size - 1) // 2
    if "subgroups" in what:
        halves = [dist.new_group(range(0, size // 2)), dist.new_group(range(size // 2, size))]
        half = range(0, size // 2) if rank < size // 2 else range(size // 2, size)
        assert total_of(halves[rank >= size // 2]) == sum(half)
    if "published" in what:
        read_published(b"value")
    if "worker" in what:
        if rank == 0:
            client().set("published", f"round {number}")
        dist.barrier()
    if "worker" in what and rank == size - 1:
        child = multiprocessing.get_context("spawn").Process(target=read_published, args=(f"round {number}".encode(),))
        child.start()
        child.join()
        assert child.exitcode == 0
    dist.barrier()
    if "slow" in what and rank == 0:
        time.sleep(0.5)
    dist.destroy_process_group()
    if "probe" in what and rank == size - 1:
        client().num_keys()


if __name__ == "__main__":
    rounds, what = int(sys.argv[1]), sys.argv[2:]
    held = client() if "client" in what else None
    if "probe" in what and rank == size - 1:
        client().num_keys()
    if "published" in what and rank == 0:
        client().set("published", "value")
    for number in range(rounds):
        one_round(number, what)
    if rank == 0:
        print(f"{rounds} rounds of {size}")
