"""PyTorch's own store server, libuv's: prints its port; ends with its standard input."""

import os
import sys

import torch.distributed

store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, use_libuv=True)
print(store.port, flush=True)
sys.stdin.read()
# Not through PyTorch's own clean-up: the server's thread takes half a second to end.
os._exit(0)
