"""PyTorch programs of several ranks: training.py CASE. Each ends with an error unless it comes out as in one process."""

import datetime
import logging
import os
import signal
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

ROWS = 24
STEPS = 3


def model():
    torch.manual_seed(4)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


def train(net, rank, size):
    """The losses of all rows in each step, every rank on its share of them."""
    rows = torch.linspace(-1, 1, ROWS * 8).reshape(ROWS, 8)
    wanted = rows.sum(1, keepdim=True).sin()
    mine = slice(rank * ROWS // size, (rank + 1) * ROWS // size)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(rows[mine]), wanted[mine])
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def mean_over_ranks(losses):
    dist.all_reduce(losses)
    return losses / dist.get_world_size()


def same_as_alone(losses, what):
    alone = train(model(), 0, 1)
    torch.testing.assert_close(losses, alone, rtol=1e-5, atol=1e-6)
    if dist.get_rank() == 0:
        print(f"{what}: the losses of {dist.get_world_size()} ranks are those of one")


def ddp():
    net = DistributedDataParallel(model())
    same_as_alone(mean_over_ranks(train(net, dist.get_rank(), dist.get_world_size())), "DDP")


def fsdp():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    net = model()
    fully_shard(net, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    same_as_alone(mean_over_ranks(train(net, dist.get_rank(), dist.get_world_size())), "FSDP")


def objects():
    rank, size = dist.get_rank(), dist.get_world_size()
    gathered = [None] * size if rank == 0 else None
    dist.gather_object({"rank": rank, "text": "x" * rank}, gathered)
    if rank == 0:
        assert gathered == [{"rank": r, "text": "x" * r} for r in range(size)], gathered
    everybodys = [None] * size
    dist.all_gather_object(everybodys, rank)
    assert everybodys == list(range(size)), everybodys
    dist.barrier()
    dist.monitored_barrier(timeout=datetime.timedelta(seconds=30))
    if rank == 0:
        print(f"objects and barriers of {size} ranks")


def sum_of_ranks():
    total = torch.tensor([float(dist.get_rank())])
    dist.all_reduce(total)
    if dist.get_rank() == 0:
        print(f"sum {int(total)} of {dist.get_world_size()}")


def launcher():
    import muster

    if dist.get_rank() == 0:
        print(f"started by {muster.launcher()}")


def already():
    """PyTorch's group is there: muster's module leaves it, forms none of its own and logs nothing."""
    import muster.torch

    said, group = listen(), dist.group.WORLD
    muster.torch.init_process_group("gloo")
    assert dist.group.WORLD is group and not muster.is_initialized() and not said, said
    sum_of_ranks()


def waits_for_ever():
    """Rank 1 is at work for ever, in the folder the pid of each; all other ranks wait for it."""
    with open(os.path.join(os.environ["PIDS"], str(dist.get_rank())), "w", encoding="utf-8") as file:
        file.write(str(os.getpid()))
    if dist.get_rank() == 1:
        signal.pause()
    dist.barrier()


def listen():
    """The log of muster's module from now on."""
    said = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logging.getLogger("muster").addHandler(handler)
    logging.getLogger("muster").setLevel(logging.INFO)
    return said


def through_muster():
    """Twice: the second call does nothing. One line reports it, and none in a world of one."""
    import muster.torch

    said = listen()
    muster.torch.init_process_group("gloo")
    muster.torch.init_process_group()
    told = dist.get_rank() == 0 and dist.get_world_size() > 1
    assert len(said) == told, said


def main():
    cases = {case.__name__: case for case in (ddp, fsdp, objects, sum_of_ranks, launcher, already, waits_for_ever)}
    if os.environ.get("THROUGH_MUSTER"):
        through_muster()
    else:
        dist.init_process_group("gloo")
    for name in sys.argv[1:]:
        cases[name]()
    dist.destroy_process_group()


main()
