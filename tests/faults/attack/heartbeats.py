"""Heartbeats between two nodes as the wire has them, with the kernel's time of arrival: nothing in muster takes part."""

import contextlib
import ctypes
import os
import re
import socket
import struct
import time

from observer import read
from sockets import ESTABLISHED, inodes

CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
SO_ATTACH_FILTER, SO_RCVBUFFORCE, SO_TIMESTAMPNS = 26, 33, 35
BUFFER = 4 << 20
LIBC = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def network_of(pid):
    """This thread is in the network namespace of that process."""
    with open("/proc/self/ns/net", "rb") as own, open(f"/proc/{pid}/ns/net", "rb") as other:
        _enter(other)
        try:
            yield
        finally:
            _enter(own)


def _enter(namespace):
    if LIBC.setns(namespace.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def connections(pid):
    """(local port, remote port) of this process's established TCP connections."""
    own = inodes(pid)
    rows = [line.split() for table in ("tcp", "tcp6") for line in read(f"/proc/{pid}/net/{table}").splitlines()[1:]]
    return {
        (int(row[1].rsplit(":", 1)[1], 16), int(row[2].rsplit(":", 1)[1], 16))
        for row in rows
        if row[3] == ESTABLISHED and row[9] in own
    }


def _only(source, source_port, port):
    """A filter in the kernel: TCP over IPv4 from there to here, of an Ethernet frame."""
    address = struct.unpack("!I", socket.inet_aton(source))[0]
    steps = [
        (0x28, 0, 0, 12),  # ldh: the protocol
        (0x15, 0, 10, 0x0800),
        (0x30, 0, 0, 23),  # ldb: the one above
        (0x15, 0, 8, socket.IPPROTO_TCP),
        (0x20, 0, 0, 26),  # ld: source
        (0x15, 0, 6, address),
        (0xB1, 0, 0, 14),  # ldxb: length of the IP header
        (0x48, 0, 0, 14),  # ldh: source port
        (0x15, 0, 3, source_port),
        (0x48, 0, 0, 16),
        (0x15, 0, 1, port),
        (0x06, 0, 0, 128),
        (0x06, 0, 0, 0),
    ]
    return b"".join(struct.pack("HBBI", *step) for step in steps), len(steps)


class Heartbeats:
    """The traffic from `sender` to `receiver` (pids of two leaders of a group at rest, the sender's address)."""

    def __init__(self, sender, receiver, address):
        pairs = {(local, remote) for local, remote in connections(sender)} & {
            (remote, local) for local, remote in connections(receiver)
        }
        if len(pairs) != 1:
            raise RuntimeError(f"{len(pairs)} connections between the leaders {sender} and {receiver}, not one")
        source_port, port = pairs.pop()
        with network_of(receiver):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        code, count = _only(address, source_port, port)
        program = ctypes.create_string_buffer(code)
        self._socket.setsockopt(
            socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HxxxxxxP", count, ctypes.addressof(program))
        )
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)  # beyond net.core.rmem_max
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.setblocking(False)
        self._times = []

    def times(self):
        """Of all so far, in seconds of the real-time clock."""
        while True:
            try:
                frame, ancillary, _, _ = self._socket.recvmsg(128, 128)
            except BlockingIOError:
                return self._times
            header = 14 + 4 * (frame[14] & 15)
            words = struct.unpack("!H", frame[16:18])[0] - (header - 14) - 4 * (frame[header + 12] >> 4)
            if words > 0 and ancillary:
                seconds, nanoseconds = struct.unpack("qq", ancillary[0][2][:16])
                self._times.append(seconds + nanoseconds / 1e9)

    def longest_gap(self, start, end, patience):
        """The longest time between two of them that begins in the window; waits for the one that ends it."""
        deadline = time.monotonic() + patience
        while not any(one >= end for one in self.times()) and time.monotonic() < deadline:
            time.sleep(0.01)
        times = self._times
        gaps = [(later - sooner) for sooner, later in zip(times, times[1:]) if sooner < end and later >= start]
        if not times or times[-1] < end:
            gaps.append(time.time() - (times[-1] if times else start))
        return max(gaps, default=0.0)

    def close(self):
        self._socket.close()
