"""Two C++ libraries in one process, PyTorch's and libmuster.so's own: both throw, whichever came first.

beside_torch.py torch muster|muster torch
"""

import importlib
import os
import sys

for name in sys.argv[1:]:
    importlib.import_module(name)
    if name == "muster":
        # Loads libmuster.so.
        sys.modules["muster"].version()

import muster  # noqa: E402  (the order is what is tested)
import torch  # noqa: E402


def torch_throws():
    try:
        torch.mm(torch.zeros(2, 3), torch.zeros(2, 3))
    except RuntimeError as error:
        assert "shapes cannot be multiplied" in str(error), error
    else:
        raise AssertionError("PyTorch threw nothing")


def muster_throws():
    """The YAML parser inside throws and muster catches; alone, for a launched rank would report to its peers."""
    os.environ["MUSTER_LAUNCHER"] = "none"
    try:
        muster.init(run={"command": "[unclosed"})
    except muster.ConfigurationError as error:
        assert "run.command" in str(error) or "--set" in str(error), error
    else:
        raise AssertionError("muster found nothing wrong")
    finally:
        del os.environ["MUSTER_LAUNCHER"]


for _ in range(3):
    torch_throws()
    muster_throws()
comm = muster.init()
tensor = torch.full((4,), comm.rank + 1.0, dtype=torch.bfloat16)
assert comm.all_reduce(tensor) is tensor and tensor.tolist() == [comm.size * (comm.size + 1) / 2] * 4
for dtype in (torch.int8, torch.uint8, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64):
    assert comm.all_reduce(torch.ones(3, dtype=dtype)).tolist() == [comm.size] * 3, dtype
array = torch.arange(3.0).numpy()
assert comm.all_reduce(array).tolist() == [0, comm.size, 2 * comm.size]
for wrong in (torch.zeros(4, 4).t()[1:], torch.zeros(2, dtype=torch.complex64)):
    try:
        comm.all_reduce(wrong)
    except muster.UsageError:
        pass
    else:
        raise AssertionError("a buffer that cannot be reduced was taken")
torch_throws()
muster.shutdown()
if comm.rank == 0:
    print(f"{' and '.join(sys.argv[1:])}: {comm.size} ranks")
