"""Stands for a program that fails on one rank before it reaches the others."""

import os
import signal
import sys

if os.environ["RANK"] == "2":
    sys.exit("RuntimeError: no CUDA GPUs are available")
signal.pause()
