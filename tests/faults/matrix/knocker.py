#!/usr/bin/env python3
"""A process on the network that is not of the group. Ends when its standard input does.

    knocker.py scan HOST:PORT...          random bytes, HTTP, a TLS hello and nothing, again and again
    knocker.py hold COUNT HOST:PORT...    COUNT connections that say nothing, made again when they are closed
    knocker.py squat silent|echo PORT...  listens there
"""

import os
import resource
import select
import selectors
import socket
import sys

TLS = bytes.fromhex("16030100c8010000c40303") + os.urandom(32) + b"\0" * 150
GREETINGS = (b"GET / HTTP/1.1\r\nHost: nobody\r\n\r\n", TLS, b"", b"\xff" * 64, b"\x08\x00\x00\x00")


def over():
    return bool(select.select([sys.stdin], [], [], 0)[0])


def places(arguments):
    return [(host, int(port)) for host, port in (text.rsplit(":", 1) for text in arguments)]


def scan(where):
    held = []
    while not select.select([sys.stdin], [], [], 0.05)[0]:
        for place in where:
            for greeting in (*GREETINGS, os.urandom(4096)):
                try:
                    connection = socket.create_connection(place, 1)
                    connection.sendall(greeting)
                except OSError:
                    continue
                held.append(connection)
        for connection in held[: max(0, len(held) - 200)]:
            connection.close()
        del held[: max(0, len(held) - 200)]


def hold(count, where):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(count + 100, most), most))
    selector = selectors.DefaultSelector()
    selector.register(sys.stdin, selectors.EVENT_READ)
    held = 0
    while True:
        while held < count and not over():
            try:
                connection = socket.create_connection(where[held % len(where)], 1)
            except OSError:
                break
            selector.register(connection, selectors.EVENT_READ)
            held += 1
        for key, _ in selector.select(0.05):
            if key.fileobj is sys.stdin:
                return
            selector.unregister(key.fileobj)
            key.fileobj.close()
            held -= 1


def squat(kind, ports):
    selector = selectors.DefaultSelector()
    selector.register(sys.stdin, selectors.EVENT_READ, "end")
    for port in ports:
        selector.register(socket.create_server(("", port)), selectors.EVENT_READ, "listener")
    while True:
        for key, _ in selector.select():
            if key.data == "end":
                return
            if key.data == "listener":
                selector.register(key.fileobj.accept()[0], selectors.EVENT_READ, "connection")
                continue
            try:
                data = key.fileobj.recv(65536)
                if data and kind == "echo":
                    key.fileobj.sendall(data)
            except OSError:
                data = b""
            if not data:
                selector.unregister(key.fileobj)
                key.fileobj.close()


def main(what, *arguments):
    if what == "scan":
        scan(places(arguments))
    elif what == "hold":
        hold(int(arguments[0]), places(arguments[1:]))
    else:
        squat(arguments[0], map(int, arguments[1:]))


if __name__ == "__main__":
    main(*sys.argv[1:])
