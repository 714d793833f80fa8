#!/usr/bin/env python3
"""Another user's program on ports that muster might use.

    stranger.py READY FIRST-LAST [FREE]      takes the ports but FREE; writes READY when it has them
    stranger.py --knock READY HOST FIRST-LAST     connects to all of them, again and again
    stranger.py --squat READY UID NAME BASE...    makes directories as muster makes them for UID, 1000 in each base, and
                                                  listens on NAME in one of them, as muster does
    stranger.py --connect READY COUNTS            connects to every Unix socket of muster that the kernel lists, again
                                                  and again; writes how often it has tried, and with success
    stranger.py --bind READY UID NAME BASE...      takes NAME in such a directory of each base without listening there
    stranger.py --litter UID COUNT DIRECTORY...    leaves that many entries there, called as a directory of that user's
                                                   might be: directories, links, pipes and files

A connection is met with silence, the text of an HTTP error, random bytes or its own bytes, by the number of
the port. Ends when its standard input does. With SIGUSR1 the lowest port is given back.
"""

import os
import selectors
import signal
import socket
import sys

HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
GET = b"GET / HTTP/1.1\r\nHost: nobody\r\n\r\n"
BEHAVIOURS = ("silent", "http", "random", "echo")


def greet(connection, behaviour):
    if behaviour == "http":
        connection.sendall(HTTP)
    if behaviour == "random":
        connection.sendall(os.urandom(4096))


def serve(ready, ports, free):
    selector = selectors.DefaultSelector()
    selector.register(sys.stdin, selectors.EVENT_READ, "end")
    listeners = []
    for port in ports:
        if port != free:
            listeners.append(socket.create_server(("", port)))
            selector.register(listeners[-1], selectors.EVENT_READ, "listener")

    def give_back(*_):
        listener = listeners.pop(0)
        selector.unregister(listener)
        listener.close()

    signal.signal(signal.SIGUSR1, give_back)
    announce(ready)
    while True:
        for key, _ in selector.select():
            if key.data == "end":
                return
            if key.data == "listener":
                connection, _ = key.fileobj.accept()
                behaviour = BEHAVIOURS[connection.getsockname()[1] % len(BEHAVIOURS)]
                greet(connection, behaviour)
                selector.register(connection, selectors.EVENT_READ, behaviour)
                continue
            answer(selector, key)


def answer(selector, key):
    try:
        data = key.fileobj.recv(65536)
        if data and key.data == "echo":
            key.fileobj.sendall(data)
    except OSError:
        data = b""
    if not data:
        selector.unregister(key.fileobj)
        key.fileobj.close()


def knock(ready, host, ports):
    """A scanner: silent, HTTP and random connections to whatever listens."""
    held = []
    selector = selectors.DefaultSelector()
    selector.register(sys.stdin, selectors.EVENT_READ)
    while not selector.select(0.05):
        for port in ports:
            for greeting in (b"", GET, os.urandom(4096), b"\xff" * 64):
                try:
                    connection = socket.create_connection((host, port), 1)
                    connection.sendall(greeting)
                    held.append(connection)
                except OSError:
                    pass
        if held and not os.path.exists(ready):
            announce(ready)


def look_alike(base, uid, number):
    with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
        return f"{base}/muster-{uid}-{file.read(8)}-{number:08x}"


def squat(ready, uid, name, bases):
    directories = [look_alike(base, uid, number) for base in bases for number in range(1000)]
    for directory in directories:
        os.mkdir(directory, 0o700)
    take(ready, [f"{look_alike(base, uid, 0)}/{name}" for base in bases], listens=True)
    for directory in directories:
        os.rmdir(directory)


def bind(ready, uid, name, bases):
    directories = [look_alike(base, uid, os.getpid()) for base in bases]
    for directory in directories:
        os.mkdir(directory, 0o755)
    take(ready, [f"{directory}/{name}" for directory in directories], listens=False)
    for directory in directories:
        os.rmdir(directory)


def take(ready, paths, listens):
    """The kernel lists such a socket by the name with which muster binds it, before the final one."""
    sockets = []
    for path in paths:
        sockets.append(socket.socket(socket.AF_UNIX))
        sockets[-1].bind(path + "~")
        if listens:
            sockets[-1].listen()
        os.chmod(path + "~", 0o777)
        os.rename(path + "~", path)
    announce(ready)
    sys.stdin.read()
    for path in paths:
        os.unlink(path)


def connect(ready, counts):
    tried = connected = 0
    opened = set()
    selector = selectors.DefaultSelector()
    selector.register(sys.stdin, selectors.EVENT_READ)
    while not selector.select(0):
        with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
            # Not those of munged and slurmd, which lie below a folder of that name.
            names = {line.split()[-1] for line in file if "muster-" in line and "/muster-cluster/" not in line}
        for name in names:
            tried += 1
            with socket.socket(socket.AF_UNIX) as client:
                client.setblocking(False)
                for address in (name.replace("@", "\0", 1), name.split("~")[0]):
                    try:
                        client.connect(address)
                        connected += 1
                        opened.add(name)
                    except OSError:
                        pass
        if tried and not os.path.exists(ready):
            announce(ready)
    with open(counts, "w", encoding="utf-8") as file:
        print("some" if tried else "none", connected, *sorted(opened)[:5], file=file)


def litter(uid, count, directories):
    for directory in directories:
        for number in range(count):
            path = look_alike(directory, uid, number)
            (
                lambda: os.mkdir(path, 0o700),
                lambda: os.mkdir(path, 0o777),
                lambda: os.symlink(directory, path),
                lambda: os.mkfifo(path, 0o666),
                lambda: os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666)),
            )[number % 5]()


def announce(path):
    with open(path, "w", encoding="utf-8") as file:
        print(os.getpid(), file=file)


def main(arguments):
    if arguments[0] == "--knock":
        return knock(arguments[1], arguments[2], ports_of(arguments[3]))
    if arguments[0] == "--squat":
        return squat(arguments[1], arguments[2], arguments[3], arguments[4:])
    if arguments[0] == "--connect":
        return connect(arguments[1], arguments[2])
    if arguments[0] == "--bind":
        return bind(arguments[1], arguments[2], arguments[3], arguments[4:])
    if arguments[0] == "--litter":
        return litter(arguments[1], int(arguments[2]), arguments[3:])
    return serve(arguments[0], ports_of(arguments[1]), int((arguments + ["0"])[2]))


def ports_of(text):
    """Of "62000-62007" or "62000,62003"."""
    if "-" not in text:
        return [int(port) for port in text.split(",")]
    first, last = map(int, text.split("-"))
    return range(first, last + 1)


if __name__ == "__main__":
    main(sys.argv[1:])
