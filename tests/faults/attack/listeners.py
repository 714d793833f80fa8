"""The listeners that muster opens: how each is found in a job, and its first message, which proves that an attack meets it."""

import dataclasses
import functools
import os
import re
import subprocess
import sys

from attack_job import ADDRESS, ATTACKED, FAR, OTHER, Alone, Blind, Broken, Job, Launch
from observer import on

NODES = {"near": (ATTACKED, ATTACKED), "beside": (OTHER, OTHER), "far": FAR}
CONNECTING = ("close", "hold", "reset", "half", "hello", "hello-hold", "garbage")
# A listener of the own node can be reached from each address of loopback.
NEAR_TCP = (*CONNECTING, "sources")
# To `muster store`, from another machine: the whole first message makes a client.
OF_CLIENTS = ("hello", "hello-hold", "sources")

# The first message on a data connection (comm/socket/transport/handshake.h): magic, connector 3, acceptor 0, purpose 1,
# communicator 0, no ciphers, nonce. On the store (comm/rendezvous/tcp_store/README.md): validate, then check of one key.
DATA_HELLO = (b"MUSH" + (3).to_bytes(4, "little") + bytes(4) + b"\1" + bytes(8) + b"\0" + bytes(range(32))).hex()
STORE_HELLO = (
    b"\0" + (0x3C85F7CE).to_bytes(4, "little") + b"\x05" + (1).to_bytes(8, "little") + (3).to_bytes(8, "little") + b"key"
).hex()

# After it, and half of it is no client: the number of keys.
COUNT_HELLO = (b"\0" + (0x3C85F7CE).to_bytes(4, "little") + b"\x07").hex()

# The answers (regular expressions for all bytes) to these messages from the job's own user, which prove that they are the right ones.
DATA_ANSWER = rb".{65}"
STORE_ANSWER = rb"\x01"  # the key is not there
COUNT_ANSWER = rb".{8}"
VERSIONS_ANSWER = rb".{4}\x18.+"
ROOT_ANSWER = rb".{4}MUSTER\x02.+"  # not a reject, which is message 3

# Connects, sends a first message that has an answer, and prints what answers it in hexadecimal. The pair before may have used up
# all ports towards this listener: the kernel keeps each of them for 60 s.
ASK = """import errno, re, socket, sys, time
def connect(address, port, until):
    while True:
        try:
            return socket.create_connection((address, port), 20)
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL or time.monotonic() > until:
                raise
        time.sleep(0.5)
kind, where, hello, answer = sys.argv[1:]
if kind == "tcp":
    address, port = where.rsplit(":", 1)
    peer = connect(address, int(port), time.monotonic() + 90)
else:
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM if kind == "unix" else socket.SOCK_DGRAM)
    peer.settimeout(20)
    peer.connect(bytes.fromhex(where))
got = b""
if answer:
    peer.sendall(bytes.fromhex(hello))
    try:
        while not re.fullmatch(bytes.fromhex(answer), got, re.DOTALL) and (part := peer.recv(4096)):
            got += part
    except OSError:
        pass
print(got.hex())
"""


@dataclasses.dataclass(frozen=True)
class Listener:
    name: str
    where: str  # a key of NODES
    short: str  # the attack of every run
    targets: object  # of a job
    hello: object  # of a job: the first message, in hexadecimal
    answer: bytes  # to it; empty: none
    kind: str = "unix"  # another user gets no connection, but to one of kind tcp
    # forming: attacked while ranks are held back; secret: the same, with MUSTER_SECRET; connecting: before the first call; "": at
    # work; leaving: at work, after a rank has left; launch: of a Launch; alone: a store that admits other machines
    phase: str = ""
    proof: object = None  # of a job: the first message that has the answer; None: `hello` has it
    library: bool = False  # of a rank without `muster run`, one process

    def __str__(self):
        return " ".join(filter(None, (self.full_name(), self.where, self.phase)))

    def full_name(self):
        return f"library {self.name}" if self.library else self.name

    def of_job(self):
        return self.phase, self.library

    def attacks(self):
        if self.kind == "dgram":
            return ("flood",)
        known = NEAR_TCP if self.kind == "tcp" and self.where == "near" else CONNECTING
        admits = self.phase == "alone" and self.where == "far"
        return tuple(attack for attack in known if not (admits and attack in OF_CLIENTS))

    def aim(self, job):
        """Its targets. Blind: there are none, or they do not take its first message."""
        targets = self.targets(job)
        if not targets:
            raise Blind("no listener")
        for target in targets:
            code, got = ask(target, (self.proof or self.hello)(job), self.answer)
            if code != 0:
                raise Blind(f"{target} does not take the job's own user")
            if not re.fullmatch(self.answer, got, re.DOTALL):
                raise Blind(f"{target} answers the first message with {got.hex() or 'nothing'}")
            if self.proof and re.fullmatch(self.answer, ask(target, self.hello(job), self.answer)[1], re.DOTALL):
                raise Broken(f"{target} answers a first message that proves nothing")
        return targets


def ask(target, hello, answer):
    """As the job's own user, on the node of the listener: the exit code, and the bytes that answer."""
    kind, where = target.split(":", 1)
    command = (sys.executable, "-c", ASK, kind, where, hello, answer.hex())
    with on(ATTACKED, *command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        got = child.stdout.read()
    return child.returncode, bytes.fromhex(got.strip())


def _data(_):
    return DATA_HELLO


def _store(_):
    return STORE_HELLO


def _count(_):
    return COUNT_HELLO


def _versions(_):
    return versions_hello()


@functools.cache
def versions_hello():
    """The first message on every Unix socket of a supervisor."""
    greeting = os.path.join(os.environ["MUSTER_BIN_DIR"], "tests/faults/attack/greeting")
    return subprocess.run([greeting, "--versions"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def _none(_):
    return ""


# These have no answer, only a connection. The rows "at work" have the same messages and their answers.
NOT_BEFORE_A_CALL = b""  # a rank answers in its calls
NOT_BEFORE_THE_GROUP = b""  # the store first asks the nodes of the group for the owner of the connection
NONE_TO_THE_SAME_VERSION = b""  # a leader answers another one only, and the group fails
NONE_TO_A_DATAGRAM = b""

LISTENERS = [
    Listener("Unix", "near", "close", Launch.unix, _versions, VERSIONS_ANSWER, phase="launch"),
    Listener("TCP", "near", "close", Launch.tcp, _store, STORE_ANSWER, "tcp", "launch"),
    Listener("root", "far", "hello", Job.root, Job.greeting, ROOT_ANSWER, "tcp", "forming"),
    Listener("root", "near", "sources", Job.root, Job.greeting, ROOT_ANSWER, "tcp", "forming"),
    Listener("root", "far", "hello", Job.root, Job.wrong_greeting, ROOT_ANSWER, "tcp", "secret", Job.greeting),
    Listener("root", "beside", "garbage", Job.root, Job.greeting, ROOT_ANSWER, "tcp", "forming"),
    Listener("store", "far", "hold", Job.early_store, _store, NOT_BEFORE_THE_GROUP, "tcp", "forming"),
    Listener("leader", "near", "close", Job.leader, _versions, NONE_TO_THE_SAME_VERSION, phase="forming"),
    Listener("leader", "near", "half", Job.leader, _versions, VERSIONS_ANSWER),
    Listener("adoption", "near", "close", Job.adoption, _versions, VERSIONS_ANSWER),
    Listener("status", "near", "hold", Job.status, _versions, VERSIONS_ANSWER),
    Listener("store", "far", "close", Job.store, _store, STORE_ANSWER, "tcp"),
    Listener("store", "near", "hello", Job.store, _store, STORE_ANSWER, "tcp"),
    Listener("store", "beside", "hello", Job.store, _store, STORE_ANSWER, "tcp"),
    Listener("data TCP", "far", "hello-hold", Job.data_tcp, _data, NOT_BEFORE_A_CALL, "tcp", "connecting"),
    Listener("data TCP", "near", "sources", Job.data_tcp, _data, NOT_BEFORE_A_CALL, "tcp", "connecting"),
    Listener("data TCP", "beside", "reset", Job.data_tcp, _data, NOT_BEFORE_A_CALL, "tcp", "connecting"),
    Listener("data TCP", "far", "half", Job.data_tcp, _data, DATA_ANSWER, "tcp"),
    Listener("data TCP", "near", "reset", Job.data_tcp, _data, DATA_ANSWER, "tcp"),
    Listener("data Unix", "near", "close", Job.data_unix, _data, DATA_ANSWER),
    Listener("doorbell", "near", "flood", Job.doorbell, _none, NONE_TO_A_DATAGRAM, "dgram"),
    Listener("root", "far", "hello", Job.opened_root, Job.greeting, ROOT_ANSWER, "tcp", "leaving"),
    Listener("root", "near", "half", Job.root, Job.greeting, ROOT_ANSWER, "tcp", "forming", library=True),
    Listener("leader and status", "near", "close", Job.leader_and_status, _versions, VERSIONS_ANSWER, library=True),
    Listener("data TCP", "near", "sources", Job.data_tcp, _data, DATA_ANSWER, "tcp", library=True),
    Listener("store", "far", "hold", Alone.tcp, _count, COUNT_ANSWER, "tcp", "alone"),
    Listener("store", "near", "hello-hold", Alone.tcp, _count, COUNT_ANSWER, "tcp", "alone"),
]


class Astray(Listener):
    def aim(self, job):
        super().aim(job)
        return nowhere(self)


def nowhere(listener):
    return [f"tcp:{ADDRESS}:1" if listener.kind == "tcp" else f"{listener.kind}:{b'/nowhere'.hex()}"]


# A listener that no attack meets.
BLIND = {
    "listener": lambda one: dataclasses.replace(one, targets=lambda _: []),
    "connection": lambda one: dataclasses.replace(one, targets=lambda _: nowhere(one)),
    "message": lambda one: dataclasses.replace(one, hello=lambda _: (b"\xff" * 16).hex(), proof=None),
    "target": lambda one: Astray(**{field.name: getattr(one, field.name) for field in dataclasses.fields(one)}),
}
