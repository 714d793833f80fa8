"""One of several PyTorch programs that run one after the other in every rank, and leave keys in the store.

    program_after.py NAME [PREVIOUS]...

Fails if it finds a key of a previous one. Rank 0 stays a while with the store open: its peers go ahead."""

import sys
import time

import torch
import torch.distributed

if __name__ == "__main__":
    torch.distributed.init_process_group("gloo")
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    store = torch.distributed.distributed_c10d._get_default_store()
    for previous in sys.argv[2:]:
        assert not store.check([f"left by {previous}"]), f"rank {rank}: {sys.argv[1]} sees a key of {previous}"
    arrived = store.add("arrived", 1)
    assert 1 <= arrived <= size, f"rank {rank}: {arrived} arrived"
    store.set(f"left by {sys.argv[1]}", str(rank))
    total = torch.tensor(rank)
    torch.distributed.all_reduce(total)
    torch.distributed.destroy_process_group()
    if rank == 0:
        time.sleep(1)
        print(f"{sys.argv[1]}: sum {total.item()} of {size}")
