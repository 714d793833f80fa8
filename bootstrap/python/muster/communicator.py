"""Ranks that compute together."""

import ctypes
import datetime
import pickle

from . import _buffers
from ._errors import of_library, usage

_LONGEST_NS = 2**63 - 1


def _nanoseconds(timeout):
    """Seconds, a timedelta, or None for what the configuration says."""
    if timeout is None:
        return -1
    if isinstance(timeout, datetime.timedelta):
        timeout = timeout.total_seconds()
    # Not a number and what is not positive are refused by the library, with the name of the call.
    return min(int(timeout * 1e9), _LONGEST_NS) if 0 < timeout < 1e9 else (_LONGEST_NS if timeout > 0 else 0)


def _number(value):
    """A buffer of one element for it."""
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise usage(f"all_reduce: {value} does not fit into 64 bits")
        return ctypes.c_int64(value)
    return ctypes.c_double(value)


class Communicator:
    """N ranks, 0 to size - 1. The world is `muster.init()`'s and lives until `muster.shutdown()`; what `split` gives lives until it
    is freed, by itself or by `free`.

    Every rank calls the same functions in the same order. All of them wait, at most `timeout` (seconds or a timedelta; None: as
    timeouts.barrier and timeouts.collective say), and raise a muster.Error when a rank is lost, ranks disagree or the time runs
    out; after that the communicator is broken and every later call raises the same. A UsageError breaks nothing.

    `buffer`, `send` and `receive` are contiguous memory: bytearray, array.array, memoryview, numpy arrays, PyTorch tensors on the
    CPU. Calls that only move elements take any element type, those that compute int8, uint8, int32, int64, uint64, float16,
    bfloat16, float32 and float64. `op` is "sum", "prod", "min", "max" or "avg".

    One call at a time, from whichever thread; `send` and `recv` with different peers may run beside it, and so may calls on other
    communicators.
    """

    def __init__(self, library, wait, pointer, owned):
        self._library = library
        self._wait = wait
        self._pointer = pointer
        self._owned = owned
        names = ["rank", "size", "local_rank", "local_size", "node_rank", "num_nodes"]
        self._facts = {name: getattr(library, "muster_" + name)(pointer) for name in names}
        self._nodes = [library.muster_node_name(pointer, i).decode() for i in range(self._facts["num_nodes"])]
        self._group_id = library.muster_group_id(pointer).decode()
        self._backend = library.muster_backend(pointer).decode()

    def __repr__(self):
        return f"<muster.Communicator rank {self.rank} of {self.size} on {self.node}>"

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        """Ends the group, or frees a part of it. After an exception it does neither: who ends without a goodbye is lost to the
        other ranks, which is how they learn that this one has failed."""
        if kind is not None:
            return
        if self._owned:
            self.free()
        else:
            from . import _world

            _world.shutdown()

    def __del__(self):
        self.free()

    def free(self):
        """Frees what `split` gave; the world is not affected. No call on it may be running."""
        if self._owned and self._pointer:
            self._library.muster_comm_free(self._pointer)
            self._pointer = None

    # ---- which rank this is; also after the end ----

    rank = property(lambda self: self._facts["rank"], doc="This process's rank.")
    size = property(lambda self: self._facts["size"], doc="How many ranks there are.")
    local_rank = property(lambda self: self._facts["local_rank"], doc="The rank among those of this node.")
    local_size = property(lambda self: self._facts["local_size"], doc="How many ranks there are on this node.")
    node_rank = property(lambda self: self._facts["node_rank"], doc="This node's index; nodes are ordered by their lowest rank.")
    num_nodes = property(lambda self: len(self._nodes), doc="How many nodes there are.")
    node = property(lambda self: self._nodes[self.node_rank], doc="This node's name.")
    nodes = property(lambda self: list(self._nodes), doc="The names of all nodes.")
    group_id = property(lambda self: self._group_id, doc='Random, the same on all ranks; "" in a world of one.')
    backend = property(lambda self: self._backend, doc='What carries the collectives: "socket".')

    def node_of(self, rank):
        """The index of the rank's node."""
        if not 0 <= rank < self.size:
            raise usage(f"rank {rank} is not one of the {self.size} ranks 0-{self.size - 1}")
        return self._library.muster_node_of(self._pointer, rank)

    def node_addresses(self, node):
        """The node's addresses that other nodes can reach, best first; [] on a single node."""
        found = []
        while True:
            address = self._library.muster_node_address(self._pointer, node, len(found))
            if address is None:
                return found
            found.append(address.decode())

    # ---- objects, as pickles: ranks trust each other; the bytes are authenticated before they are loaded ----

    def barrier(self, timeout=None):
        """Returns when every rank has called it."""
        self._call("barrier", _nanoseconds(timeout))

    def broadcast(self, obj=None, root=0, timeout=None):
        """The root's object, on every rank."""
        mine = pickle.dumps(obj) if self.rank == root else b""
        return pickle.loads(self.broadcast_bytes(mine, root, timeout))

    def gather(self, obj, root=0, timeout=None):
        """Everybody's object by rank, on the root; None elsewhere."""
        parts = self.gather_bytes(pickle.dumps(obj), root, timeout)
        return None if parts is None else [pickle.loads(part) for part in parts]

    def all_gather(self, obj, timeout=None):
        """Everybody's object by rank, on every rank."""
        return [pickle.loads(part) for part in self.all_gather_bytes(pickle.dumps(obj), timeout)]

    # ---- bytes, as many on each rank as it has ----

    def broadcast_bytes(self, data=b"", root=0, timeout=None):
        """The root's bytes, on every rank."""
        return self._bytes_call("broadcast_bytes", data, [root, _nanoseconds(timeout)])[0]

    def gather_bytes(self, data, root=0, timeout=None):
        """Everybody's bytes by rank, on the root; None elsewhere."""
        parts = self._bytes_call("gather_bytes", data, [root, _nanoseconds(timeout)])
        return parts if self.rank == root else None

    def all_gather_bytes(self, data, timeout=None):
        """Everybody's bytes by rank, on every rank."""
        return self._bytes_call("all_gather_bytes", data, [_nanoseconds(timeout)])

    # ---- buffers ----

    def all_reduce(self, buffer, op="sum", timeout=None):
        """The reduction of everybody's buffer, element by element, in place; gives the buffer. Of a number (int: 64 bits; float)
        it gives the result."""
        is_number = isinstance(buffer, (int, float))
        thing = _number(buffer) if is_number else buffer
        region = _buffers.reducible("all_reduce", thing, writable=True)
        self._call(
            "all_reduce",
            region.address,
            region.address,
            region.count,
            region.type,
            _buffers.operation(op),
            _nanoseconds(timeout),
            keep=region,
        )
        return thing.value if is_number else buffer

    def reduce(self, buffer, op="sum", root=0, timeout=None):
        """The same in the root's buffer alone; the others' stay as they are."""
        is_root = self.rank == root
        region = _buffers.reducible("reduce", buffer, writable=is_root)
        receive = region.address if is_root else None
        operation = _buffers.operation(op)
        self._call(
            "reduce", region.address, receive, region.count, region.type, operation, root, _nanoseconds(timeout), keep=region
        )
        return buffer

    def broadcast_buffer(self, buffer, root=0, timeout=None):
        """The root's elements in everybody's buffer."""
        region = _buffers.region("broadcast_buffer", buffer, writable=self.rank != root)
        self._call("broadcast", region.address, *region.moved(), root, _nanoseconds(timeout), keep=region)
        return buffer

    def gather_buffer(self, send, receive=None, root=0, timeout=None):
        """Everybody's elements, in rank order, in the root's `receive`: size times as many; None elsewhere."""
        mine, all_of_them = self._pair("gather_buffer", send, receive if self.rank == root else None, self.rank == root)
        address = all_of_them.address if all_of_them else None
        self._call(
            "gather", mine.address, address, *mine.moved(), root, _nanoseconds(timeout), keep=(mine, all_of_them)
        )
        return receive

    def all_gather_buffer(self, send, receive, timeout=None):
        """Everybody's elements, in rank order, in `receive`: size times as many."""
        mine, all_of_them = self._pair("all_gather_buffer", send, receive, True)
        self._call(
            "all_gather", mine.address, all_of_them.address, *mine.moved(), _nanoseconds(timeout), keep=(mine, all_of_them)
        )
        return receive

    def scatter(self, send=None, receive=None, root=0, timeout=None):
        """The rank's block of the root's `send`, which has size times the elements of `receive`; None elsewhere."""
        mine = _buffers.region("scatter", receive, writable=True)
        all_of_them = None
        if self.rank == root:
            all_of_them = _buffers.region("scatter", send)
            self._check("scatter", "receive", mine, "send", all_of_them, self.size)
        address = all_of_them.address if all_of_them else None
        self._call(
            "scatter", address, mine.address, *mine.moved(), root, _nanoseconds(timeout), keep=(mine, all_of_them)
        )
        return receive

    def reduce_scatter(self, send, receive, op="sum", timeout=None):
        """The reduction of everybody's block for this rank; `send` has size times the elements of `receive`."""
        mine = _buffers.reducible("reduce_scatter", receive, writable=True)
        all_of_them = _buffers.reducible("reduce_scatter", send)
        self._check("reduce_scatter", "receive", mine, "send", all_of_them, self.size)
        operation = _buffers.operation(op)
        self._call(
            "reduce_scatter",
            all_of_them.address,
            mine.address,
            mine.count,
            mine.type,
            operation,
            _nanoseconds(timeout),
            keep=(mine, all_of_them),
        )
        return receive

    def all_to_all(self, send, receive, timeout=None):
        """Block i of `send` goes to rank i, block i of `receive` comes from it; both have size blocks of equal length."""
        out = _buffers.region("all_to_all", send)
        into = _buffers.region("all_to_all", receive, writable=True)
        self._check("all_to_all", "send", out, "receive", into, 1)
        count, type_ = out.moved()
        if count % self.size:
            raise usage(f"all_to_all: {count} elements are not {self.size} blocks of equal length")
        self._call(
            "all_to_all", out.address, into.address, count // self.size, type_, _nanoseconds(timeout), keep=(out, into)
        )
        return receive

    def send(self, buffer, to, timeout=None):
        """To one rank, which calls `recv` with as many elements of the same type."""
        region = _buffers.region("send", buffer)
        self._call("send", region.address, *region.moved(), to, _nanoseconds(timeout), keep=region)

    def recv(self, buffer, source, timeout=None):
        """From one rank; gives the buffer."""
        region = _buffers.region("recv", buffer, writable=True)
        self._call("recv", region.address, *region.moved(), source, _nanoseconds(timeout), keep=region)
        return buffer

    # ---- parts of the group ----

    def split(self, color, key=0, timeout=None):
        """A communicator of all ranks that gave the same colour, ordered by key, then by rank. With a negative colour this rank
        takes part and gets None."""
        part = ctypes.c_void_p()
        self._call("split", color, key, _nanoseconds(timeout), ctypes.byref(part), keep=part)
        return Communicator(self._library, self._wait, part.value, True) if part.value else None

    # ---- how ----

    def _call(self, name, *arguments, keep=None):
        """Waits for it; `keep` lives until it is done, even where the wait is given up."""
        function = getattr(self._library, "muster_" + name)
        error = self._wait(lambda _: function(self._pointer, *arguments), keep)
        if error:
            raise of_library(self._library, error)

    def _bytes_call(self, name, data, rest):
        region = _buffers.region(name, data)
        parts = ctypes.c_void_p()
        self._call(name, region.address, region.size, *rest, ctypes.byref(parts), keep=(region, parts))
        try:
            return [self._part(parts, i) for i in range(self._library.muster_parts_count(parts))]
        finally:
            self._library.muster_parts_free(parts)

    def _part(self, parts, index):
        size = self._library.muster_parts_size(parts, index)
        return ctypes.string_at(self._library.muster_parts_data(parts, index), size) if size else b""

    def _pair(self, what, send, receive, receives):
        mine = _buffers.region(what, send)
        if not receives:
            return mine, None
        all_of_them = _buffers.region(what, receive, writable=True)
        self._check(what, "send", mine, "receive", all_of_them, self.size)
        return mine, all_of_them

    @staticmethod
    def _check(what, one_name, one, many_name, many, factor):
        """The library takes one count for both: a buffer that is too short would be overrun."""
        if one.type != many.type or (one.type is None and one.name != many.name):
            raise usage(f"{what}: {one_name} has elements of type {one.name} and {many_name} of {many.name}")
        if many.size != one.size * factor:
            need = f"; it must have {one.count} for each of the {factor} ranks" if factor > 1 else "; they must be as many"
            raise usage(f"{what}: {one_name} has {one.count} elements and {many_name} {many.count}{need}")
