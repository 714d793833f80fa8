"""Horovod's launcher for Gloo, the real one. The workers' compiled half of Horovod is neither needed nor there.

    horovod_gloo.py HOST:SLOTS[,HOST:SLOTS]... COMMAND...

It reaches other hosts by the ssh that is first in PATH.
"""

import os
import sys

from horovod.runner.common.util.settings import BaseSettings
from horovod.runner.gloo_run import gloo_run


def main():
    hosts = sys.argv[1]
    slots = sum(int(host.split(":")[1]) for host in hosts.split(","))
    settings = BaseSettings(num_proc=slots, nics=["eth0"])
    settings.hosts = hosts
    # The address of its own key-value store; muster does not use it.
    server = hosts.split(":")[0]
    gloo_run(settings, settings.nics, dict(os.environ), server, sys.argv[2:])


if __name__ == "__main__":
    main()
