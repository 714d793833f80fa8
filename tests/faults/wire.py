#!/usr/bin/env python3
"""How often a word passes this node's network in clear: wire.py WORD

Writes "listening" when it listens, and the number when its standard input ends.
"""

import select
import socket
import sys

ALL_PROTOCOLS = 3


def main():
    word = sys.argv[1].encode()
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    print("listening", flush=True)
    found = 0
    while True:
        ready, _, _ = select.select([wire, sys.stdin], [], [])
        if wire not in ready:
            break
        packet, (interface, *_) = wire.recvfrom(1 << 17)
        if interface != "lo":
            found += packet.count(word)
    print(found)


main()
