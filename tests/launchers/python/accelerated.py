"""A program that leaves everything to Accelerate: its training loss and gathered metrics are those of one process."""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

ROWS = 24


def losses(accelerator, batch):
    torch.manual_seed(4)
    net = torch.nn.Linear(8, 1)
    rows = torch.linspace(-1, 1, ROWS * 8).reshape(ROWS, 8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(rows, rows.sum(1, keepdim=True).sin()), batch_size=batch)
    if accelerator is not None:
        net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    found = []
    for inputs, wanted in loader:
        optimizer.zero_grad()
        each = (net(inputs) - wanted) ** 2
        if accelerator is None:
            each.mean().backward()
        else:
            accelerator.backward(each.mean())
            each = accelerator.gather_for_metrics(each)
        optimizer.step()
        found.append(each.detach().mean())
    return torch.stack(found)


accelerator = Accelerator(cpu=True)
size = accelerator.num_processes
together = losses(accelerator, ROWS // 3 // size)
torch.testing.assert_close(together, losses(None, ROWS // 3), rtol=1e-5, atol=1e-6)
accelerator.wait_for_everyone()
if accelerator.is_main_process:
    print(f"Accelerate: the losses of {size} ranks are those of one")
accelerator.end_training()
