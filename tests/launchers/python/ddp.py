"""A small model trained on all ranks with DistributedDataParallel: rank 0 prints its loss, which does not depend on
how many ranks there are. On the way: gather_object, barrier, monitored_barrier."""

import torch
import torch.distributed

ROWS = 48
STEPS = 5


def train(rank, size):
    torch.manual_seed(7)
    model = torch.nn.Linear(8, 1).double()
    rows = torch.randn(ROWS, 8).double()
    wanted = rows.sum(1, keepdim=True)
    mine = slice(rank * ROWS // size, (rank + 1) * ROWS // size)
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(parallel(rows[mine]), wanted[mine]).backward()
        optimizer.step()
    return torch.nn.functional.mse_loss(model(rows), wanted).item()


if __name__ == "__main__":
    torch.distributed.init_process_group("gloo")
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    loss = train(rank, size)
    gathered = [None] * size if rank == 0 else None
    torch.distributed.gather_object({"rank": rank, "loss": loss}, gathered)
    torch.distributed.barrier()
    torch.distributed.monitored_barrier()
    if rank == 0:
        assert [one["rank"] for one in gathered] == list(range(size)), gathered
        assert len({one["loss"] for one in gathered}) == 1, gathered
        print(f"loss {loss:.9f}")
    torch.distributed.destroy_process_group()
