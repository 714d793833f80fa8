#!/usr/bin/env python3
"""Things on this node that a job could have left: one line each for processes, sockets and files.

    on gpu01 inventory.py
"""

import glob
import os

LISTENING = "0A"


def processes():
    """Of this network namespace, except this one and slurmd with what it starts: those are no job's."""
    own = os.readlink("/proc/self/ns/net")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
            # A zombie has no namespace.
            if name != "slurmd" and int(pid) != os.getpid() and os.readlink(f"/proc/{pid}/ns/net") == own:
                yield f"process {pid} {name}{rest[:2]}"
        except OSError:
            pass


def listeners():
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}", encoding="utf-8") as file:
            for line in list(file)[1:]:
                fields = line.split()
                if fields[3] == LISTENING:
                    yield f"port {int(fields[1].rsplit(':', 1)[1], 16)}"


def unix_sockets():
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        for line in file:
            name = line.split()[-1]
            if name.startswith("@muster-") or "/muster-" in name:
                yield f"socket {name}"


def files():
    yield from (f"file {path}" for path in glob.glob("/dev/shm/*"))


print("\n".join(sorted([*processes(), *set(listeners()), *unix_sockets(), *files()])))
