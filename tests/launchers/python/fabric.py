"""Lightning's own launchers: starts the other processes of this node itself, or takes Slurm's word.

    fabric.py DEVICES NODES PROGRAM [ARG]...
"""

import os
import subprocess
import sys

import lightning

if __name__ == "__main__":
    fabric = lightning.Fabric(accelerator="cpu", strategy="ddp", devices=int(sys.argv[1]), num_nodes=int(sys.argv[2]))
    fabric.launch()
    told = f"{fabric.global_rank} {fabric.local_rank}"
    sys.exit(subprocess.call(sys.argv[3:], env=dict(os.environ, TOLD=told)))
