"""A PyTorch program whose rank 3 is not going to come to the barrier, with a time limit of hours.

    waits.py DIR        each rank writes its process id to DIR/RANK once the group is formed"""

import datetime
import os
import sys
import time

import torch
import torch.distributed

if __name__ == "__main__":
    torch.distributed.init_process_group("gloo", timeout=datetime.timedelta(seconds=60000))
    rank = torch.distributed.get_rank()
    path = os.path.join(sys.argv[1], str(rank))
    with open(path + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(path + ".new", path)
    if rank == 3:
        time.sleep(1000)
    torch.distributed.barrier()
