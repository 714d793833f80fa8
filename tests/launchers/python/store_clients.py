"""A program of the group that uses the store's protocol by hand: connects, requests the number of keys, again and again.

    store_clients.py DIR

Writes the store's address to DIR/ranks/RANK when it has been served once. Ends when DIR/over is there, and writes the
longest wait to DIR/longest.RANK."""

import os
import socket
import struct
import sys
import time

GREETING = b"\x00" + struct.pack("<I", 0x3C85F7CE) + b"\x07"


def ask(place):
    began = time.monotonic()
    with socket.create_connection(place, 60) as connection:
        connection.sendall(GREETING)
        answer = connection.recv(8)
    if len(answer) != 8:
        sys.exit("turned away")
    return time.monotonic() - began


if __name__ == "__main__":
    rank = os.environ["RANK"]
    place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    ask(place)
    with open(f"{sys.argv[1]}/ranks/{rank}.new", "w", encoding="ascii") as file:
        file.write(f"{place[0]} {place[1]}\n")
    os.rename(f"{sys.argv[1]}/ranks/{rank}.new", f"{sys.argv[1]}/ranks/{rank}")
    longest = 0
    while not os.path.exists(f"{sys.argv[1]}/over"):
        longest = max(longest, ask(place))
        time.sleep(0.05)
    with open(f"{sys.argv[1]}/longest.{rank}", "w", encoding="ascii") as file:
        file.write(f"{longest:.3f}\n")
