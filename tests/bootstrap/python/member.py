"""The program of the ranks of group_test.py: member.py FUNCTION."""

import array
import code
import contextlib
import ctypes
import io
import os
import signal
import sys
import threading

import muster


def objects(comm):
    assert comm.broadcast({"from": comm.rank}, src=1) == {"from": 1}
    gathered = comm.gather("x" * comm.rank, dst=1)
    assert gathered == (["", "x", "xx"] if comm.rank == 1 else None), gathered
    assert comm.all_gather([comm.rank]) == [[0], [1], [2]]
    assert comm.all_gather_bytes(b"y" * comm.rank) == [b"", b"y", b"yy"]
    assert comm.gather_bytes(bytearray(b"z"), dst=2) == ([b"z"] * 3 if comm.rank == 2 else None)
    assert comm.broadcast_bytes(b"root" if comm.rank == 0 else b"") == b"root"


def harmless_function():
    return "harmless"


def evil_function____():
    print("unpickled", flush=True)


class _Call:
    """Its pickle calls a function of this program."""

    def __reduce__(self):
        return harmless_function, ()


def changed_pickles(comm):
    """Only a man in the middle, in rank 1, makes this fail."""
    call = os.environ["MUSTER_TEST_CALL"]
    try:
        if call == "broadcast":
            comm.broadcast(_Call(), src=1)
        else:
            getattr(comm, call)(_Call())
    except muster.AuthenticationError as error:
        print(comm.rank, error, flush=True)
        os._exit(error.exit_status)
    print(comm.rank, "gets what was sent", flush=True)


def facts(comm):
    assert (comm.size, comm.local_rank, comm.local_size) == (3, comm.rank, 3)
    assert (comm.node_rank, comm.num_nodes, comm.nodes) == (0, 1, [comm.node])
    assert comm.node_of(2) == 0 and comm.node_addresses(0) == []
    assert len(comm.group_id) == 32 and comm.backend == "socket"
    assert (muster.rank(), muster.size(), muster.node()) == (comm.rank, comm.size, comm.node)
    assert muster.launcher() == "muster" and muster.job_key().startswith("launch:")
    assert muster.collective_timeout().total_seconds() == 7200
    assert muster.is_initialized() and muster.world() is comm and muster.init() is comm
    assert repr(comm) == f"<muster.Communicator rank {comm.rank} of 3 on {comm.node}>"


def buffers(comm):
    for code in "bBilqLQfd":
        mine = array.array(code, [comm.rank, 1, 2])
        assert muster.all_reduce(mine) is mine and list(mine) == [3, 3, 6], code
        mine = array.array(code, [comm.rank + 1])
        muster.reduce(mine, op="prod", dst=2)
        assert mine[0] == (6 if comm.rank == 2 else comm.rank + 1), code
    grid = memoryview(array.array("d", [comm.rank] * 6)).cast("B").cast("d", (2, 3))
    muster.all_reduce(grid, "max")
    assert grid.tolist() == [[2, 2, 2], [2, 2, 2]]
    part = array.array("i", [0])
    muster.reduce_scatter(array.array("i", [1, 10, 100]), part)
    assert part[0] == 3 * 10**comm.rank


def booleans(comm):
    """A sum is `or`, however often it is made, and a product is `and`."""
    mine = memoryview(bytearray([1, comm.rank == 1, 0])).cast("?")
    for _ in range(8):
        muster.all_reduce(mine)
    assert mine.tobytes() == b"\1\1\0", mine.tobytes()
    for op, expected in ("max", b"\1\1\0"), ("prod", b"\1\0\0"), ("min", b"\1\0\0"):
        mine = memoryview(bytearray([1, comm.rank == 1, 0])).cast("?")
        muster.reduce(mine, op=op)
        assert comm.rank > 0 or mine.tobytes() == expected, (op, mine.tobytes())
    part = memoryview(bytearray(1)).cast("?")
    muster.reduce_scatter(memoryview(bytearray([1, comm.rank == 1, 0])).cast("?"), part)
    assert part.tolist() == [comm.rank < 2]
    # Python's own count.
    assert muster.all_reduce(True) == 3


def movements(comm):
    # A type that muster cannot compute with moves as it is.
    mine = array.array("h", [comm.rank, -comm.rank])
    everybodys = array.array("h", [9] * 6)
    muster.all_gather_buffer(mine, everybodys)
    assert list(everybodys) == [0, 0, 1, -1, 2, -2]
    into = bytearray(3) if comm.rank == 1 else None
    muster.gather_buffer(bytes([comm.rank]), into, dst=1)
    assert into is None or into == b"\0\1\2"
    block = bytearray(2)
    muster.scatter(b"aabbcc" if comm.rank == 0 else None, block)
    assert block == bytes([97 + comm.rank] * 2)
    swapped = bytearray(3)
    muster.all_to_all(bytes([10 * comm.rank + i for i in range(3)]), swapped)
    assert list(swapped) == [comm.rank, 10 + comm.rank, 20 + comm.rank]
    word = bytearray(b"here" if comm.rank == 2 else b"....")
    muster.broadcast_buffer(word, src=2)
    assert word == b"here"
    if comm.rank == 0:
        muster.send(array.array("d", [2.5]), dst=1)
    elif comm.rank == 1:
        assert muster.recv(array.array("d", [0]), src=0)[0] == 2.5


def parts(comm):
    part = muster.split(-1 if comm.rank == 0 else 0, key=-comm.rank)
    if comm.rank == 0:
        assert part is None
        return
    with part:
        assert (part.rank, part.size) == (2 - comm.rank, 2)
        assert part.all_gather(comm.rank) == [2, 1]
        assert muster.all_reduce(comm.rank, group=part) == 3
        # Ranks of the part, not of the world.
        assert muster.broadcast(comm.rank, src=1, group=part, timeout=60) == 1
    try:
        part.barrier()
    except muster.UsageError as error:
        assert error.message == "the communicator is null", error
    else:
        raise AssertionError("a freed communicator works")


class Color(ctypes.Structure):
    """3 bytes: muster does not compute with it."""

    _fields_ = [("red", ctypes.c_uint8), ("green", ctypes.c_uint8), ("blue", ctypes.c_uint8)]


class Two:
    """An integer, as numpy has them."""

    def __index__(self):
        return 2


def integers(comm):
    assert muster.broadcast(comm.rank, src=Two()) == 2
    assert muster.gather(comm.rank, dst=Two()) == ([0, 1, 2] if comm.rank == 2 else None)
    assert muster.gather_bytes(b"", dst=Two()) == ([b""] * 3 if comm.rank == 2 else None)
    mine = array.array("i", [1])
    assert muster.reduce(mine, dst=Two())[0] == (3 if comm.rank == 2 else 1)
    assert muster.split(Two(), key=Two()).size == 3
    assert muster.split(2**31 - 1, key=-(2**31)).size == 3
    assert comm.node_of(Two()) == 0


def mistakes(comm):
    cases = [
        (lambda: muster.all_reduce(b"abc"), "all_reduce: bytes cannot be used as writable, contiguous memory: "),
        (lambda: muster.all_reduce([1]), "all_reduce: list cannot be used as writable, contiguous memory: "),
        (lambda: muster.all_reduce(memoryview(bytearray(4))[::2]), "all_reduce: memoryview cannot be used as writable, "),
        (lambda: muster.all_reduce(array.array("h", [1])), "all_reduce: muster cannot compute with elements of type h"),
        (lambda: muster.all_reduce(array.array("d", [1]), "median"), "'median' is no operation"),
        (lambda: muster.reduce(array.array("d", [1]), "sum"), "reduce: 'sum' is not a rank"),
        (lambda: muster.send(b"", None), "send: None is not a rank"),
        (lambda: muster.all_reduce(memoryview(bytearray(1)).cast("?"), "avg"), "all_reduce: elements of type ? have no average"),
        (lambda: muster.all_reduce(2**63), "all_reduce: 9223372036854775808 does not fit into 64 bits"),
        (
            lambda: muster.all_gather_buffer(bytearray(2), bytearray(5)),
            "all_gather_buffer: send has 2 elements and receive 5; it must have 2 for each of the 3 ranks",
        ),
        (
            lambda: muster.reduce_scatter(array.array("i", [0] * 3), array.array("f", [0])),
            "reduce_scatter: receive has elements of type f and send of i",
        ),
        (
            lambda: muster.all_to_all(bytearray(4), bytearray(4)),
            "all_to_all: 4 elements are not 3 blocks of equal length",
        ),
        (
            # Moved as 12 bytes, which can be cut into 3 parts.
            lambda: muster.all_to_all((Color * 4)(), (Color * 4)()),
            "all_to_all: 4 elements are not 3 blocks of equal length",
        ),
        (lambda: muster.barrier(timeout=0), "Barrier: the timeout must be more than 0"),
        (lambda: muster.broadcast(1, src=3), "BroadcastBytes: root 3 is not one of the 3 ranks 0-2"),
        (lambda: comm.node_of(3), "rank 3 is not one of the 3 ranks 0-2"),
        (lambda: comm.node_of(0.5), "node_of: 0.5 is not a rank"),
        (lambda: comm.node_addresses(2**32), "node_addresses: the node 4294967296 does not fit into 32 bits"),
        (lambda: muster.split(1.5), "split: 1.5 is not a color"),
        (lambda: muster.split("a"), "split: 'a' is not a color"),
        (lambda: muster.split(2**31), "split: the color 2147483648 does not fit into 32 bits"),
        (lambda: muster.split(0, -(2**31) - 1), "split: the key -2147483649 does not fit into 32 bits"),
        (lambda: muster.split(0, key=0.5), "split: 0.5 is not a key"),
        (lambda: muster.broadcast(1, src=2**32), "broadcast: the rank 4294967296 does not fit into 32 bits"),
        (lambda: muster.gather(1, dst=2**32), "gather: the rank 4294967296 does not fit into 32 bits"),
        (lambda: muster.gather(1, dst="1"), "gather: '1' is not a rank"),
        (lambda: muster.reduce(array.array("d", [1]), dst=2**32), "reduce: the rank 4294967296 does not fit into 32 bits"),
        (lambda: muster.recv(bytearray(1), src=2**32), "recv: the rank 4294967296 does not fit into 32 bits"),
        (lambda: muster.map(len, [], retries=1.5), "map: 1.5 is not a number of retries"),
        (lambda: muster.map(len, [], slots=2**32 + 1), "map: the number of slots 4294967297 does not fit into 32 bits"),
    ]
    for case, expected in cases:
        try:
            case()
        except muster.UsageError as error:
            assert error.message.startswith(expected), f"{error.message!r}, not {expected!r}"
            assert (error.code, error.exit_status) == ("usage", 64)
        else:
            raise AssertionError(f"no {expected!r}")
    muster.barrier()


def disagreement(comm):
    try:
        if comm.rank == 1:
            muster.all_reduce(1.5)
        else:
            muster.barrier()
    except muster.DisagreementError as error:
        assert error.code == "disagreement" and error.exit_status == 76
        print(comm.rank, error.message, flush=True)
        os._exit(0)
    os._exit(1)


def deadline(comm):
    try:
        if comm.rank == 1:
            muster.recv(bytearray(1), src=0, timeout=0.2)
        else:
            muster.barrier(timeout=60)
    except (muster.DeadlineError, muster.PeerLostError) as error:
        print(comm.rank, type(error).__name__, error.message, flush=True)
        os._exit(0)
    os._exit(1)


def caught(comm):
    if comm.rank == 1:
        os._exit(3)
    try:
        muster.barrier()
    except muster.PeerLostError:
        print(comm.rank, "goes on", flush=True)


def threads_go_on(comm):
    """The others come to the barrier when rank 0's second thread, which can only run beside its wait, lets them."""
    if comm.rank == 0:
        entered = _announce(comm, "barrier")

        def let_them():
            entered.wait()
            muster_side.send(b"x", dst=1)
            muster_side.send(b"x", dst=2)

        muster_side = muster.split(0)
        thread = threading.Thread(target=let_them)
        thread.start()
        muster.barrier()
        thread.join()
    else:
        muster_side = muster.split(0)
        muster_side.recv(bytearray(1), src=0)
        muster.barrier()


def _announce(comm, name):
    """An event that is set when the library is about to be called, by whichever thread calls it."""
    entered = threading.Event()
    real = getattr(comm._library, "muster_" + name)

    def announced(*arguments):
        entered.set()
        return real(*arguments)

    setattr(comm._library, "muster_" + name, announced)
    return entered


def _interrupt_the_barrier(comm):
    """Rank 1 gets Ctrl-C while it waits; the others wait for other things."""
    entered = _announce(comm, "barrier")
    if comm.rank == 1:
        threading.Thread(target=lambda: (entered.wait(), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()
    try:
        muster.barrier() if comm.rank < 2 else muster.recv(bytearray(1), src=0)
    except muster.PeerLostError as error:
        print(comm.rank, error.message, flush=True)
        os._exit(0)


def interrupted(comm):
    _interrupt_the_barrier(comm)


def interrupted_and_goes_on(comm):
    try:
        _interrupt_the_barrier(comm)
    except KeyboardInterrupt:
        print(comm.rank, "goes on", flush=True)
        muster.barrier()


def ends_well(comm):
    """No shutdown: it comes by itself, and the end of a rank is no loss."""
    muster.barrier()


def ends_well_after_a_console(comm):
    """It sets sys.last_value, as pytest does."""
    muster.barrier()
    with contextlib.redirect_stderr(io.StringIO()):
        code.InteractiveInterpreter().runsource("1 / 0")
    assert isinstance(sys.last_value, ZeroDivisionError)


def ends_well_after_a_thread(comm):
    """That has shown its exception as a program does."""

    def fail():
        try:
            raise ValueError("of a thread")
        except ValueError:
            sys.excepthook(*sys.exc_info())

    muster.barrier()
    with contextlib.redirect_stderr(io.StringIO()):
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()


def ends_with_threads_that_wait(comm):
    """Service threads: they wait for messages that never come, and add up until the program ends."""

    def serve():
        buffer = bytearray(8)
        while True:
            comm.recv(buffer, src=(comm.rank + 1) % comm.size)

    def sum_up():
        while True:
            part.all_reduce(one)

    part, one = comm.split(0), array.array("d", [1])
    threading.excepthook = lambda arguments: None  # a neighbour that has left
    threading.Thread(target=serve, daemon=True).start()
    threading.Thread(target=sum_up, daemon=True).start()
    muster.barrier()


def ends_calls(comm):
    """Shutdown, and the end of a part, while threads are in calls."""
    errors = []

    def wait(call):
        try:
            while True:
                call()
        except muster.Error as error:
            errors.append(error)

    freed, kept = comm.split(0), comm.split(0)
    buffer = bytearray(8)
    calls = [freed.barrier, kept.barrier, lambda: comm.recv(buffer, src=0)] if comm.rank == 1 else []
    threads = [threading.Thread(target=wait, args=[call]) for call in calls]
    for thread in threads:
        thread.start()
    for _ in range(3):
        muster.barrier()
    if comm.rank == 1:
        comm.send(buffer, dst=0)
        comm.send(buffer, dst=2)
    else:
        comm.recv(buffer, src=1)
        try:
            comm.recv(buffer, src=1)
        except muster.PeerLostError as error:
            assert "rank 1 on" in error.message and "left the group before Recv #2" in error.message, error
    freed.free()
    muster.shutdown()
    for thread in threads:
        thread.join()
    assert all(isinstance(error, muster.UsageError) for error in errors), errors
    assert len(errors) == len(threads), errors


def frees_parts_that_threads_use(comm):
    """A thread may be about to begin a call when the part ends."""

    def wait(part):
        try:
            while True:
                part.barrier()
        except muster.UsageError:
            pass

    for _ in range(200):
        part = comm.split(comm.rank)
        thread = threading.Thread(target=wait, args=[part])
        thread.start()
        part.free()
        thread.join()


def ends_badly(comm):
    if comm.rank == 1:
        raise ValueError("nobody knows")
    try:
        muster.barrier()
    except muster.PeerLostError as error:
        print(comm.rank, error.message, flush=True)
        os._exit(0)


def forked(comm):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            muster.barrier()
        except muster.UsageError as error:
            code = 0 if error.message == "there is no group" else 2
        try:
            comm.barrier()
        except muster.UsageError as error:
            code += 0 if error.message.startswith("a communicator in a forked child") else 4
        try:
            muster.init()
        except muster.UsageError as error:
            code += 0 if error.message.startswith("muster::Init in a forked child") else 8
        os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    muster.barrier()


def settings(comm):
    try:
        muster.init(timeouts={"collective": "3h"})
    except muster.ConfigurationError as error:
        assert error.message == "a second muster::Init has another configuration than the first"
    else:
        raise AssertionError("two configurations")


def block(comm):
    with comm:
        muster.barrier()
    assert not muster.is_initialized()
    assert comm.size == 3 and comm.nodes == [comm.node]
    try:
        comm.barrier()
    except muster.UsageError as error:
        assert error.message == "the communicator no longer exists: muster was shut down", error
    try:
        muster.rank()
    except muster.UsageError as error:
        assert str(error) == "there is no group (call muster.init() first)", error
    muster.shutdown()


def memory(comm):
    """Buffers larger than one message of a call, and that nothing is kept."""
    large = array.array("d", [comm.rank]) * 500000
    muster.all_reduce(large)
    assert set(large) == {3.0}
    # An array whose memory is still held cannot grow.
    large.append(1.0)


if __name__ == "__main__":
    # When the group has failed its supervisors signal the programs to end; here each prints its error first.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    globals()[sys.argv[1]](muster.init())
