"""A process that finds the port of a group's store: requests the number of its keys, as a PyTorch client would.

    store_stranger.py HOST PORT

Prints "served" or "turned away"."""

import socket
import struct
import sys

VALIDATE = b"\x00" + struct.pack("<I", 0x3C85F7CE)
GETNUMKEYS = b"\x07"

if __name__ == "__main__":
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), 20) as connection:
        try:
            connection.sendall(VALIDATE + GETNUMKEYS)
            answer = connection.recv(8)
        except ConnectionResetError:
            answer = b""
    print("served" if answer else "turned away")
