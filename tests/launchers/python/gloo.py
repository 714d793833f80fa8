"""PyTorch's own group of the ranks, by the variables alone: rank 0 prints their sum.

    gloo.py [ADDED]     each rank adds that to its number
"""

import sys

import torch
import torch.distributed

if __name__ == "__main__":
    torch.distributed.init_process_group("gloo")
    total = torch.tensor(torch.distributed.get_rank() + sum(map(int, sys.argv[1:])))
    torch.distributed.all_reduce(total)
    if torch.distributed.get_rank() == 0:
        print(f"sum {total.item()} of {torch.distributed.get_world_size()}")
    torch.distributed.destroy_process_group()
