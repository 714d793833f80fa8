"""Which connections a process has, as /proc shows them in its own network namespace."""

import glob
import os
import re

from observer import read

ESTABLISHED, LISTENING = "01", "0A"
UNIX_CONNECTED = "03"


def inodes(pid):
    found = set()
    for path in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            match = re.match(r"socket:\[(\d+)\]", os.readlink(path))
        except OSError:
            continue
        if match:
            found.add(match[1])
    return found


def tcp(pid, state, address=""):
    """Local ports of this process's TCP sockets in that state; address: as /proc has it, of those alone."""
    own = inodes(pid)
    rows = [line.split() for table in ("tcp", "tcp6") for line in read(f"/proc/{pid}/net/{table}").splitlines()[1:]]
    return {int(row[1].rsplit(":", 1)[1], 16) for row in rows if row[3] == state and row[9] in own and row[1].startswith(address)}


def unix_peers(pid):
    own = inodes(pid)
    rows = (line.split() for line in read(f"/proc/{pid}/net/unix").splitlines()[1:])
    return sum(row[5] == UNIX_CONNECTED and row[6] in own for row in rows)
