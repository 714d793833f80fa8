"""A program for an installed wheel: rank 0 prints the paths of the module and its command, and the result of the ranks."""

import os
import shutil
import sys

import muster

with muster.init() as comm:
    total = muster.all_reduce(comm.rank)
    ranks = muster.gather(comm.rank)
    folder = os.path.dirname(os.path.dirname(muster.__file__))
    assert shutil.which("muster") == os.path.join(sys.prefix, "bin/muster"), shutil.which("muster")
    assert folder in sys.path and muster.version() == muster.__version__
    if comm.rank == 0:
        print(f"{os.path.relpath(folder, sys.prefix).split(os.sep)[-1]}: sum {total} of {ranks}")
