"""A program of a launch that is attacked, or of a `muster store`: a client of the store, with a request every 2 ms until FOLDER/stop exists.

    store_client.py FOLDER HELLO

HELLO: VALIDATE (5 bytes) and a request with an answer of one byte, in hexadecimal. Writes what at_work writes: FOLDER/RANK.formed
after the first answer, FOLDER/RANK.slow and FOLDER/RANK.last.
"""

import os
import socket
import sys
import time

SLOW_S, PAUSE_S, PATIENCE_S = 0.005, 0.002, 60


def call(store, request):
    store.sendall(request)
    if not store.recv(1):
        sys.exit("the store has closed the connection")


def main():
    folder, hello = sys.argv[1], bytes.fromhex(sys.argv[2])
    own = os.path.join(folder, os.environ["RANK"])
    store = socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), PATIENCE_S)
    call(store, hello)
    with open(own + ".last", "w", encoding="ascii") as last, open(own + ".slow", "w", encoding="ascii") as slow:
        with open(own + ".formed", "w", encoding="ascii") as formed:
            formed.write(str(time.monotonic()))
        while not os.path.exists(os.path.join(folder, "stop")):
            start = time.monotonic()
            call(store, hello[5:])
            end = time.monotonic()
            last.seek(0)
            last.write(f"{end:.6f}")
            last.flush()
            if end - start > SLOW_S:
                slow.write(f"{start} {end - start}\n")
                slow.flush()
            time.sleep(PAUSE_S)


if __name__ == "__main__":
    main()
