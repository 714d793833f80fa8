"""A process that floods the port of a group's store, as fast as one process can.

    store_flood.py SECONDS KIND HOST PORT

KIND    silent: connects and sends nothing     greets: sends VALIDATE and requests the number of keys
        hangs-up: greets and closes           resets: connects and resets     garbage: sends an HTTP request

Keeps up to 400 connections open. Prints how many connections it made."""

import socket
import struct
import sys
import time

GREETING = b"\x00" + struct.pack("<I", 0x3C85F7CE) + b"\x07"
HELD = 400


def flood(kind, place, until):
    held, count = [], 0
    while time.monotonic() < until:
        connection = socket.socket()
        connection.settimeout(2)
        try:
            connection.connect(place)
            if kind in ("greets", "hangs-up"):
                connection.sendall(GREETING)
            if kind == "garbage":
                connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            if kind == "resets":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            connection.close()
            continue
        count += 1
        if kind in ("hangs-up", "resets"):
            connection.close()
            continue
        held.append(connection)
        if len(held) > HELD:
            held.pop(0).close()
    return count


if __name__ == "__main__":
    print(flood(sys.argv[2], (sys.argv[3], int(sys.argv[4])), time.monotonic() + float(sys.argv[1])))
