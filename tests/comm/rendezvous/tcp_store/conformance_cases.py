"""The calls of conformance on a store, case by case: each writes down what a PyTorch client sees."""

import concurrent.futures
import datetime
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time

import torch.distributed as dist

CASES = {}
LONG = 30.0
SHORT = 0.15
# The system calls that wait for a descriptor.
POLLS = {"x86_64": ("7", "271"), "aarch64": ("73",)}[platform.machine()]
AGENT_PROGRAM = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
total = torch.tensor([float(rank + 1)])
dist.all_reduce(total)
dist.barrier()
gathered = [None] * dist.get_world_size()
dist.all_gather_object(gathered, {"rank": rank})
print(rank, total.item(), gathered, flush=True)
dist.destroy_process_group()
"""


def case(function):
    CASES[function.__name__] = function
    return function


def seconds(number):
    return datetime.timedelta(seconds=number)


class Session:
    """One server, its clients, and the transcript."""

    def __init__(self, port):
        self.port = port
        self.lines = []
        self.threads = []

    def client(self, timeout=LONG, **options):
        return dist.TCPStore(
            "127.0.0.1", self.port, is_master=False, wait_for_workers=False, timeout=seconds(timeout), **options
        )

    def write(self, text):
        self.lines.append(text)

    def see(self, what, function, *arguments):
        """Calls it; what came of it is a line."""
        self.write(f"{what} -> {outcome(function, *arguments)}")

    def start(self, function, *arguments):
        """Calls it on a thread of its own."""
        call = Call(function, *arguments)
        self.threads.append(call.thread)
        return call

    def end(self):
        for thread in self.threads:
            thread.join(LONG)


class Call:
    """A call on a thread of its own; called itself it waits for its end and gives what came of it."""

    def __init__(self, function, *arguments):
        self.result = []
        self.thread = threading.Thread(target=lambda: self.result.append(outcome(function, *arguments)), daemon=True)
        self.thread.start()

    def __call__(self):
        self.thread.join(LONG)
        return self.result[0] if self.result else "still waits"

    def until_waiting(self):
        """Until its request is on its way: the thread is blocked in poll(2). Requests that are sent after that are
        served after it."""
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline:
            with open(f"/proc/self/task/{self.thread.native_id}/syscall", encoding="ascii") as file:
                if file.read().split()[0] in POLLS:
                    return
            time.sleep(0.001)
        raise TimeoutError("the call that was to wait does not")


def outcome(function, *arguments):
    try:
        return repr(function(*arguments))
    except Exception as error:
        # A broken connection is described with ports and descriptors.
        text = "" if type(error) is dist.DistNetworkError else f": {error}".splitlines()[0]
        return f"{type(error).__name__}{text}"


@case
def values(session):
    store = session.client()
    for key, value in [("a", "1"), ("a", "two"), ("a", ""), ("", "no name"), ("ä/ö", "ü"), ("b", "x" * 5000)]:
        session.see(f"set {key!r}", store.set, key, value)
        session.see(f"get {key!r}", store.get, key)
    session.see("binary", store.set, "binary", b"\x00\xff\r\n".decode("latin-1"))
    session.see("binary", store.get, "binary")
    session.see("num_keys", store.num_keys)
    session.see("list_keys", lambda: sorted(store.list_keys()))


@case
def counters(session):
    store = session.client()
    for delta in (1, 41, -50, 0, 2**62, 2**62, 2**62):
        session.see(f"add {delta}", store.add, "n", delta)
    session.see("get", store.get, "n")
    for text in ("5", " 12abc", "+7", "-3", "007", "1e3"):
        store.set("s", text)
        session.see(f"add 1 to {text!r}", store.add, "s", 1)
        session.see("get", store.get, "s")


@case
def counters_of_no_number(session):
    for text in ("", "abc", "--1", "+-1", "9" * 30):
        store = session.client()
        store.set("s", text)
        session.see(f"add 1 to {text!r}", store.add, "s", 1)
        session.see("the client after it", store.get, "s")
        session.see("another", session.client().get, "s")


@case
def deleting(session):
    store = session.client()
    store.set("a", "1")
    session.see("delete", store.delete_key, "a")
    session.see("delete again", store.delete_key, "a")
    session.see("check", store.check, ["a"])
    session.see("wait", store.wait, ["a"], seconds(SHORT))
    session.see("num_keys", store.num_keys)
    store.set("a", "2")
    session.see("get", store.get, "a")


@case
def checking(session):
    store = session.client()
    store.set("a", "1")
    for keys in (["a"], ["b"], ["a", "b"], ["a", "a"], []):
        session.see(f"check {keys}", store.check, keys)
    store.queue_push("q", "x")
    session.see("check a queue", store.check, ["a", "q"])
    store.queue_pop("q")
    session.see("check an empty queue", store.check, ["q"])


@case
def compare_set(session):
    store = session.client()
    steps = [
        ("missing", "", ""), ("missing", "", "1"), ("other", "x", "1"), ("missing", "1", "2"), ("missing", "1", "3"),
        ("missing", "", "4"), ("missing", "2", ""), ("missing", "", "5"), ("missing", "5", "5"),
    ]  # fmt: skip
    for key, expected, desired in steps:
        session.see(f"compare_set {key} {expected!r} {desired!r}", store.compare_set, key, expected, desired)
        session.see("there", store.check, [key])
    session.see("get", store.get, "missing")
    session.see("num_keys", store.num_keys)


@case
def compare_set_wakes(session):
    one, other = session.client(), session.client()
    for key, expected in (("a", ""), ("b", "nothing like it")):
        waiting = session.start(one.get, key)
        waiting.until_waiting()
        session.see(f"compare_set {key} {expected!r}", other.compare_set, key, expected, "new")
        session.write(f"the waiting get -> {waiting()}")


@case
def appending(session):
    one, other = session.client(), session.client()
    waiting = session.start(one.get, "a")
    waiting.until_waiting()
    session.see("append", other.append, "a", "x")
    waiting()
    for text in ("y", "", "z" * 3000):
        session.see("append", other.append, "a", text)
    session.see("get", other.get, "a")
    session.see("append to a number", lambda: (other.add("n", 1), other.append("n", "2"), other.add("n", 1)))


@case
def many_at_once(session):
    store = session.client()
    keys = [f"key {i}" for i in range(1000)]
    session.see("multi_set", store.multi_set, keys, [f"value {i}" * (i % 50) for i in range(1000)])
    session.see("multi_get", store.multi_get, keys)
    session.see("multi_get twice the same", store.multi_get, ["key 1", "key 1"])
    session.see("multi_get of none", store.multi_get, [])
    session.see("multi_set of none", store.multi_set, [], [])
    session.see("multi_set twice the same", store.multi_set, ["a", "a"], ["1", "2"])
    session.see("get", store.get, "a")
    session.see("multi_set uneven", store.multi_set, ["a", "b"], ["1"])
    store.set_timeout(seconds(SHORT))
    session.see("multi_get, one missing", store.multi_get, ["a", "missing"])
    store.set_timeout(seconds(LONG))
    session.see("the client after it", store.get, "a")
    session.see("num_keys", store.num_keys)


@case
def multi_set_wakes(session):
    one, other = session.client(), session.client()
    waiting = session.start(one.multi_get, ["a", "b", "a"])
    waiting.until_waiting()
    session.see("set b", other.set, "b", "2")
    session.see("multi_set", other.multi_set, ["c", "a"], ["3", "1"])
    session.write(f"the waiting multi_get -> {waiting()}")


@case
def time_outs(session):
    store, other = session.client(), session.client()
    store.set("there", "1")
    for keys in (["a"], ["a", "b"], ["there", "a"], ["a", "a"]):
        session.see(f"wait {keys}", store.wait, keys, seconds(SHORT))
        session.see("the client after it", store.get, "there")
    session.see("wait for what is there", store.wait, ["there"], seconds(LONG))
    session.see("wait for nothing", store.wait, [], seconds(LONG))
    # A wait that was given up does not end a later one.
    session.see("set a", other.set, "a", "1")
    session.see("wait b", store.wait, ["b"], seconds(SHORT))
    store.set_timeout(seconds(SHORT))
    session.see("get", store.get, "b")
    session.see("timeout", lambda: store.timeout)


@case
def time_outs_at_the_last_moment(session):
    """The key comes just when the client gives up: whichever comes first, the next answer is the right one."""
    store, other = session.client(), session.client()
    right = 0
    for i in range(200):
        setting = session.start(other.set, f"k{i}", str(i))
        try:
            store.wait([f"k{i}"], datetime.timedelta(milliseconds=1))
        except dist.DistStoreError:
            pass
        setting()
        right += store.get(f"k{i}") == str(i).encode()
    session.write(f"right -> {right}")


@case
def waits(session):
    one, two, other = session.client(), session.client(), session.client()
    first, second = session.start(one.wait, ["a", "b", "there"]), session.start(two.get, "b")
    first.until_waiting()
    second.until_waiting()
    session.see("set there", other.set, "there", "1")
    session.see("set a, then delete it", lambda: (other.set("a", "1"), other.delete_key("a")))
    session.see("add b", other.add, "b", 7)
    session.write(f"the waits -> {first()} {second()}")
    session.see("a", other.check, ["a"])


@case
def queues(session):
    store = session.client()
    session.see("len", store.queue_len, "q")
    session.see("pop, not waiting", store.queue_pop, "q", False)
    for text in ("1", "", "three"):
        session.see("push", store.queue_push, "q", text)
    session.see("len", store.queue_len, "q")
    session.see("keys", lambda: (store.num_keys(), store.list_keys(), store.delete_key("q"), store.check(["q"])))
    session.see("wait", store.wait, ["q"], seconds(LONG))
    for _ in range(3):
        session.see("pop", store.queue_pop, "q")
    store.set_timeout(seconds(SHORT))
    session.see("pop, waiting", store.queue_pop, "q")
    store.set_timeout(seconds(LONG))
    session.see("len", store.queue_len, "q")
    store.set("both", "value")
    store.queue_push("both", "queued")
    session.see("both", lambda: (store.get("both"), store.queue_pop("both"), store.get("both")))


@case
def queues_wake_one(session):
    one, two, other = session.client(), session.client(), session.client()
    first = session.start(one.queue_pop, "q")
    first.until_waiting()
    second = session.start(two.queue_pop, "q")
    second.until_waiting()
    other.queue_push("q", "1")
    session.write(f"the first -> {first()}")
    session.see("len", other.queue_len, "q")
    other.queue_push("q", "2")
    session.write(f"the second -> {second()}")
    session.see("len", other.queue_len, "q")


@case
def barriers(session):
    clients = [session.client() for _ in range(5)]
    session.see("alone", clients[0].barrier, "alone", 1, seconds(LONG))
    waiting = [session.start(client.barrier, "all", 5, seconds(LONG)) for client in clients[:4]]
    until_value(clients[4], "all", b"4")
    session.see("the last", clients[4].barrier, "all", 5, seconds(LONG))
    session.write(f"the others -> {[call() for call in waiting]}")
    session.see("the counter", clients[0].get, "all")
    session.see("again", clients[0].barrier, "all", 5, seconds(LONG))
    session.see("too few", clients[0].barrier, "few", 2, seconds(SHORT))
    session.see("the client after it", clients[0].get, "few")
    session.see("who is late counts", clients[1].barrier, "few", 2, seconds(LONG))
    session.see("num_keys", clients[0].num_keys)


@case
def prefixes(session):
    store = session.client()
    outer = dist.PrefixStore("outer", store)
    inner = dist.PrefixStore("inner", outer)
    session.see("set", lambda: (store.set("k", "0"), outer.set("k", "1"), inner.set("k", "2")))
    session.see("get", lambda: (store.get("k"), outer.get("k"), inner.get("k")))
    session.see("below", store.get, "outer/inner/k")
    session.see("add", lambda: (outer.add("n", 2), inner.add("n", 3), store.get("outer/n")))
    session.see("compare_set", inner.compare_set, "k", "2", "3")
    session.see("multi", lambda: (inner.multi_set(["x", "y"], ["1", "2"]), inner.multi_get(["x", "y"])))
    session.see("check", lambda: (inner.check(["x"]), outer.check(["x"])))
    session.see("queue", lambda: (inner.queue_push("q", "1"), store.queue_len("outer/inner/q"), inner.queue_pop("q")))
    session.see("append", lambda: (inner.append("x", "1"), inner.get("x")))
    session.see("delete", lambda: (inner.delete_key("x"), outer.delete_key("x")))
    session.see("wait", inner.wait, ["missing"], seconds(SHORT))
    session.see("barrier", inner.barrier, "bar", 1, seconds(LONG))
    session.see("num_keys", inner.num_keys)
    session.see("list_keys", lambda: (sorted(store.list_keys()), sorted(outer.list_keys()), sorted(inner.list_keys())))


@case
def clones(session):
    store = session.client()
    copy = store.clone()
    store.set("a", "1")
    session.see("get", copy.get, "a")
    del store
    session.see("get", copy.get, "a")


@case
def joining(session):
    """PyTorch counts who joins at a key without a slash, which no program sees."""
    for _ in range(3):
        dist.TCPStore("127.0.0.1", session.port, 3, is_master=False, timeout=seconds(LONG))
    store = session.client()
    session.see("keys", lambda: (store.num_keys(), store.list_keys(), store.check(["init/"])))


@case
def limits(session):
    eight = 8 * 1024 * 1024
    other = session.client()
    for name, do in [
        ("longest key", lambda store: store.set("k" * 8191, "v")),
        ("longer key", lambda store: store.set("k" * 8192, "v")),
        ("longest value", lambda store: store.set("v", "v" * eight)),
        ("longer value", lambda store: store.set("v", "w" * (eight + 1))),
        ("longer by appending", lambda store: store.append("v", "end")),
    ]:
        store = session.client()
        # A request without an answer fails later, or not at all: the next one with an answer shows it.
        outcome(do, store)
        session.see(name, lambda: store.num_keys() > 0)
        session.see("another", lambda: (other.check(["k" * 8191]), other.check(["v"])))
    session.see("length", lambda: len(other.get("v")))


@case
def thousand_clients(session):
    count = 1000
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        clients = list(pool.map(lambda _: session.client(), range(count)))
    session.see("add", lambda: sorted(client.add("n", 1) for client in clients) == list(range(1, count + 1)))
    waiting = [session.start(client.get, "go") for client in clients]
    for call in waiting:
        call.until_waiting()
    clients[0].clone().set("go", "now")
    session.write(f"all wait, one sets -> {sorted(set(call() for call in waiting))}")
    for i, client in enumerate(clients):
        client.set(f"own {i}", str(i))
    session.see("neighbours", lambda: [int(clients[i].get(f"own {i - 1}")) for i in range(1, count)])
    waiting = [session.start(client.barrier, "bar", count, seconds(LONG)) for client in clients]
    session.write(f"barrier -> {sorted(set(call() for call in waiting))}")
    session.see("num_keys", clients[0].num_keys)


@case
def programs_of_an_agent(session):
    """The calls of torchrun's workers, with the store as their agent's."""
    world = 3
    environment = dict(
        os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(session.port), WORLD_SIZE=str(world),
        TORCHELASTIC_USE_AGENT_STORE="True", GLOO_SOCKET_IFNAME="lo",
    )  # fmt: skip
    with tempfile.NamedTemporaryFile("w", suffix=".py") as program:
        program.write(AGENT_PROGRAM)
        program.flush()
        ranks = [
            subprocess.Popen(
                [sys.executable, program.name],
                env=dict(environment, RANK=str(rank), LOCAL_RANK=str(rank)),
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(world)
        ]
        for rank in ranks:
            said, _ = rank.communicate(timeout=4 * LONG)
            session.write(f"{rank.returncode} {said.strip()}")


def until_value(store, key, value):
    while not store.check([key]) or store.get(key) != value:
        pass
