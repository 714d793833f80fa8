"""PyTorch's process group as a launcher has prepared it: torch_ranks.py cuda|cpu. Rank 0 prints what is right."""

import os
import sys
import time

import torch
import torch.distributed as dist

device = sys.argv[1]
if device == "cuda":
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
start = time.monotonic()
dist.init_process_group("nccl" if device == "cuda" else "gloo")
rank, size = dist.get_rank(), dist.get_world_size()

sums = torch.arange(1000, dtype=torch.float32, device=device) + rank
dist.all_reduce(sums)
took = time.monotonic() - start
wanted = torch.arange(1000, dtype=torch.float32, device=device) * size + size * (size - 1) / 2
assert torch.equal(sums, wanted), "all_reduce"

sent = torch.full((77,), float(rank), device=device)
dist.broadcast(sent, size - 1)
assert bool((sent == size - 1).all()), "broadcast"

# The gradients of the mean of all ranks' losses are those of one process with all rows.
torch.manual_seed(3)
net = torch.nn.Linear(16, 4).to(device)
rows = torch.linspace(-1, 1, 16 * 8 * size, device=device).reshape(8 * size, 16)
whole = torch.autograd.grad(net(rows).square().mean(), list(net.parameters()))
parallel = torch.nn.parallel.DistributedDataParallel(net)
parallel(rows[rank * 8 : rank * 8 + 8]).square().mean().backward()
for parameter, gradient in zip(net.parameters(), whole):
    torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-6)

if rank == 0:
    backend = ".".join(map(str, torch.cuda.nccl.version())) if device == "cuda" else "none"
    print(f"PyTorch {torch.__version__}, NCCL {backend}: process group and a first all_reduce in {took:.2f} s")
    print(f"{size} ranks: sums, gradients and broadcasts are right")
dist.destroy_process_group()
