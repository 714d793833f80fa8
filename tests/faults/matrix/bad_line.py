#!/usr/bin/env python3
"""Makes a node's line bad, in the direction out of the node: runs in the switch's namespace, as not every kernel has
netem.

    on switch bad_line.py NODE LOSS DELAY      loss as a fraction, delay in seconds

Prints a line when it is so, and ends, with the line as it was, when its standard input does.
"""

import collections
import random
import selectors
import socket
import subprocess
import sys
import time

SOL_PACKET, PACKET_VNET_HDR = 263, 15
OUTGOING = 4
ALL = socket.htons(3)


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def listen_at(name):
    """Frames come with what the kernel has yet to do to them (checksums, segments), and leave with it."""
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, ALL)
    end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
    end.bind((name, 3))
    end.setblocking(False)
    return end


def frames(end):
    while True:
        try:
            data, where = end.recvfrom(1 << 17)
        except BlockingIOError:
            return
        if where[2] != OUTGOING:
            yield data


def send(end, data):
    try:
        end.send(data)
    except OSError:
        pass


def relay(node, switch, loss, delay):
    selector = selectors.DefaultSelector()
    for file in (node, switch, sys.stdin):
        selector.register(file, selectors.EVENT_READ)
    late = collections.deque()
    while True:
        wait = max(0, late[0][0] - time.monotonic()) if late else None
        for key, _ in selector.select(wait):
            if key.fileobj is sys.stdin:
                return
            if key.fileobj is switch:
                for data in frames(switch):
                    send(node, data)
                continue
            late.extend((time.monotonic() + delay, data) for data in frames(node) if random.random() >= loss)
        while late and late[0][0] <= time.monotonic():
            send(switch, late.popleft()[1])


def main(node, loss, delay):
    ip("link", "add", "bad0", "type", "veth", "peer", "name", "bad1")
    try:
        ip("link", "set", node, "nomaster")
        ip("link", "set", "bad0", "master", "br0", "up")
        ip("link", "set", "bad1", "up")
        ends = listen_at(node), listen_at("bad1")
        print("bad", flush=True)
        relay(*ends, float(loss), float(delay))
    finally:
        ip("link", "del", "bad0")
        ip("link", "set", node, "master", "br0")


main(*sys.argv[1:])
