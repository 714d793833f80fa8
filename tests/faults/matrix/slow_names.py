#!/usr/bin/env python3
"""A name server on 127.0.0.1 for the nodes of the test cluster, each answer SECONDS late.

    slow_names.py SECONDS      ends when its standard input does
"""

import re
import select
import socket
import struct
import sys
import threading

A = 1


def answer(query):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    question = query[12 : at + 5]
    kind = struct.unpack(">H", query[at + 1 : at + 3])[0]
    match = re.fullmatch(r"gpu(\d+)", labels[0])
    if not match:
        return query[:2] + b"\x81\x83" + struct.pack(">HHHH", 1, 0, 0, 0) + question
    records = b""
    if kind == A:
        address = bytes([198, 18, 1, int(match[1])])
        records = b"\xc0\x0c" + struct.pack(">HHIH", A, 1, 60, 4) + address
    return query[:2] + b"\x81\x80" + struct.pack(">HHHH", 1, bool(records), 0, 0) + question + records


def main(seconds):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    while True:
        try:
            server.bind(("127.0.0.1", 53))
            break
        except OSError:
            # That of another cell serves as well; when it ends, this one takes its place.
            if select.select([sys.stdin], [], [], 0.1)[0]:
                return
    while True:
        readable = select.select([server, sys.stdin], [], [])[0]
        if sys.stdin in readable:
            return
        query, who = server.recvfrom(512)
        timer = threading.Timer(seconds, server.sendto, (answer(query), who))
        timer.daemon = True
        timer.start()


main(float(sys.argv[1]))
