"""Ranks that compute together."""

from __future__ import annotations

import ctypes
import datetime
import operator
import pickle
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, Union, overload

from . import _buffers
from ._errors import DisagreementError, UsageError, of_library
from ._waiting import Waiter

if TYPE_CHECKING:
    from ._buffers import Memory, Operation, Region
    from ._library import MapOptions

# Seconds; None: the configuration's value.
Timeout = Union[float, datetime.timedelta, None]

_M = TypeVar("_M", bound="Memory")
_O = TypeVar("_O", bound="Union[Memory, None]")

_LONGEST_NS = 2**63 - 1

# Doubles hold every int up to here.
_EXACT = 2.0**53


def _nanoseconds(timeout: Timeout) -> int:
    if timeout is None:
        return -1
    if isinstance(timeout, datetime.timedelta):
        timeout = timeout.total_seconds()
    # The library refuses NaN and what is not positive, and names the call.
    return min(int(timeout * 1e9), _LONGEST_NS) if 0 < timeout < 1e9 else (_LONGEST_NS if timeout > 0 else 0)


def _number(value: object) -> int | float | None:
    """A number of Python or numpy; None: something else."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        if isinstance(value, (numpy.datetime64, numpy.timedelta64)):
            # Their item() is an int if the unit is ns, and the result would have no unit.
            raise UsageError(f"all_reduce: a {type(value).__name__} is not a number", 'pass an int: value.astype("int64")')
        value = float(value) if isinstance(value, numpy.floating) else value.item()
    if not isinstance(value, (int, float)):
        return None
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise UsageError(f"all_reduce: {value} does not fit into 64 bits")
    return value


def _integer(what: str, name: str, value: int) -> int:
    """For a C int, which ctypes would cut out of any other number."""
    try:
        index = operator.index(value)
    except TypeError:
        raise UsageError(f"{what}: {value!r} is not a {name}", "pass an integer") from None
    if not -(2**31) <= index < 2**31:
        raise UsageError(f"{what}: the {name} {index} does not fit into 32 bits", "pass an integer from -2**31 to 2**31 - 1")
    return index


def _rank(what: str, rank: int) -> int:
    return _integer(what, "rank", rank)


class Communicator:
    """A group of `size` ranks, numbered from 0. `muster.init()` returns the group of all ranks, which lives until
    `muster.shutdown()`. `split` returns a smaller one, which lives until `free()` or until it is garbage.

    Every rank calls the same functions in the same order. Each call waits for at most `timeout`: seconds or a timedelta; None means
    timeouts.barrier or timeouts.collective of the configuration. A timeout of 0 or less is a UsageError. No call waits beyond the job's
    end, if that is known and still ahead (timeouts.cap_at_job_end).

    UsageError            an argument, a second call at the same time, or a forked child; found before anything is sent, on this rank
    DeadlineError         the timeout has passed; the message names the ranks that the call waits for
    PeerLostError         a rank has ended, left the group or fallen silent
    DisagreementError     ranks are in different calls; the message has both
    AuthenticationError   sealed data, objects or bytes were changed between two nodes
    OperatingSystemError  the operating system refused (memory, descriptors)
    InternalError         a bug in muster

    All but UsageError break the communicator and fail the whole group, on all ranks: every later call raises the same error. Only a
    `send` to or `recv` from a rank that has left the group raises PeerLostError for itself alone.

    `buffer`, `send` and `receive` are contiguous host memory: bytearray, array.array, memoryview, numpy arrays, PyTorch tensors on
    the CPU. Calls that only move elements take every element type that has a buffer, except objects and pointers. Calls that compute take bool, int8,
    uint8, int32, int64, uint64, float16, bfloat16, float32 and float64. `op` is "sum", "prod", "min", "max" or "avg". Of bool a sum and
    a maximum are "or", a product and a minimum are "and", as in PyTorch, and there is no average. `src` and `dst` are ranks of this group,
    also if it is a part of another. Empty buffers, bytes and objects are legal. `send` and `receive` do not overlap, except in place:
    one buffer for both (`all_to_all`), or this rank's block of the larger buffer as the smaller one. An object that pickle refuses
    raises pickle's exception before anything is sent.

    One thread at a time may call. `send` and `recv` with different peers may run beside such a call, and so may calls on other
    communicators. After Ctrl-C in the main thread its call goes on; another call from there, while it waits, fails the group.
    """

    def __init__(self, library: ctypes.CDLL, wait: Waiter, pointer: int | None, owned: bool) -> None:
        self._library = library
        self._wait = wait
        self._pointer = pointer
        self._owned = owned
        self._rank: int = library.muster_rank(pointer)
        self._size: int = library.muster_size(pointer)
        self._local_rank: int = library.muster_local_rank(pointer)
        self._local_size: int = library.muster_local_size(pointer)
        self._node_rank: int = library.muster_node_rank(pointer)
        nodes: int = library.muster_num_nodes(pointer)
        self._nodes: list[str] = [library.muster_node_name(pointer, i).decode() for i in range(nodes)]
        self._group_id: str = library.muster_group_id(pointer).decode()
        self._backend: str = library.muster_backend(pointer).decode()

    def __repr__(self) -> str:
        return f"<muster.Communicator rank {self.rank} of {self.size} on {self.node}>"

    def __enter__(self) -> Communicator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Shuts the group down, or frees a part of it. After an exception it does neither: the process then exits without leaving the
        group, which fails the group on the other ranks."""
        if kind is not None:
            return
        if self._owned:
            self.free()
        else:
            from . import _world

            _world.shutdown()

    def __del__(self) -> None:
        self.free()

    def free(self) -> None:
        """Frees a communicator of `split`, and waits for no other rank; the group of all ranks is not affected. A call on it in another
        thread, and calls after it, raise UsageError."""
        if self._owned and self._pointer:
            self._library.muster_comm_free(self._pointer)
            self._pointer = None

    # ---- which rank this is; also after the end ----

    @property
    def rank(self) -> int:
        """This process's rank."""
        return self._rank

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self._size

    @property
    def local_rank(self) -> int:
        """This process's rank among those of its node."""
        return self._local_rank

    @property
    def local_size(self) -> int:
        """The number of ranks on this node."""
        return self._local_size

    @property
    def node_rank(self) -> int:
        """This node's index; nodes are ordered by their lowest rank."""
        return self._node_rank

    @property
    def num_nodes(self) -> int:
        """The number of nodes."""
        return len(self._nodes)

    @property
    def node(self) -> str:
        """This node's name."""
        return self._nodes[self._node_rank]

    @property
    def nodes(self) -> list[str]:
        """The names of all nodes."""
        return list(self._nodes)

    @property
    def group_id(self) -> str:
        """A random text, the same on all ranks; "" in a world of one."""
        return self._group_id

    @property
    def backend(self) -> str:
        """The transport of the collectives: "socket"."""
        return self._backend

    def node_of(self, rank: int) -> int:
        """The index of the rank's node; -1 after the end, and in a forked child. UsageError: there is no such rank."""
        rank = _rank("node_of", rank)
        if not 0 <= rank < self.size:
            raise UsageError(f"rank {rank} is not one of the {self.size} ranks 0-{self.size - 1}")
        index: int = self._library.muster_node_of(self._pointer, rank)
        return index

    def node_addresses(self, node: int) -> list[str]:
        """The addresses of the node with this index that other nodes can reach, best first. [] on a single node, after the end, in a
        forked child, and if there is no such node."""
        found: list[str] = []
        node = _integer("node_addresses", "node", node)
        while True:
            address: bytes | None = self._library.muster_node_address(self._pointer, node, len(found))
            if address is None:
                return found
            found.append(address.decode())

    # ---- objects, as pickles: ranks trust each other; the bytes are authenticated before they are loaded ----

    def barrier(self, *, timeout: Timeout = None) -> None:
        """Returns when every rank has called it."""
        self._call("barrier", _nanoseconds(timeout))

    def broadcast(self, obj: Any = None, src: int = 0, *, timeout: Timeout = None) -> Any:
        """Returns the object of rank `src` on every rank."""
        src = _rank("broadcast", src)
        mine = pickle.dumps(obj) if self.rank == src else b""
        return pickle.loads(self.broadcast_bytes(mine, src, timeout=timeout))

    def gather(self, obj: Any, dst: int = 0, *, timeout: Timeout = None) -> list[Any] | None:
        """Returns the objects of all ranks, in rank order, on rank `dst`; None elsewhere."""
        parts = self.gather_bytes(pickle.dumps(obj), _rank("gather", dst), timeout=timeout)
        return None if parts is None else [pickle.loads(part) for part in parts]

    def all_gather(self, obj: Any, *, timeout: Timeout = None) -> list[Any]:
        """Returns the objects of all ranks, in rank order, on every rank."""
        return [pickle.loads(part) for part in self.all_gather_bytes(pickle.dumps(obj), timeout=timeout)]

    # ---- bytes, any number on each rank ----

    def broadcast_bytes(self, data: Memory = b"", src: int = 0, *, timeout: Timeout = None) -> bytes:
        """Returns the bytes of rank `src` on every rank."""
        return self._bytes_call("broadcast_bytes", data, _rank("broadcast_bytes", src), _nanoseconds(timeout))[0]

    def gather_bytes(self, data: Memory, dst: int = 0, *, timeout: Timeout = None) -> list[bytes] | None:
        """Returns the bytes of each rank, in rank order, on rank `dst`; None elsewhere."""
        dst = _rank("gather_bytes", dst)
        parts = self._bytes_call("gather_bytes", data, dst, _nanoseconds(timeout))
        return parts if self.rank == dst else None

    def all_gather_bytes(self, data: Memory, *, timeout: Timeout = None) -> list[bytes]:
        """Returns the bytes of each rank, in rank order, on every rank."""
        return self._bytes_call("all_gather_bytes", data, _nanoseconds(timeout))

    # ---- buffers ----

    @overload
    def all_reduce(self, buffer: int, op: Operation = "sum", *, timeout: Timeout = None) -> int: ...
    @overload
    def all_reduce(self, buffer: float, op: Operation = "sum", *, timeout: Timeout = None) -> float: ...
    @overload
    def all_reduce(self, buffer: _M, op: Operation = "sum", *, timeout: Timeout = None) -> _M: ...

    def all_reduce(self, buffer: Any, op: Operation = "sum", *, timeout: Timeout = None) -> Any:
        """Reduces the buffers of all ranks, element by element, in place, and returns the buffer. Of numbers it returns the result: an
        int of 64 bits if all ranks pass ints, else a float. Numbers of numpy are taken as Python's, and a bool as 0 or 1. A number
        on one rank and a buffer on another are a DisagreementError, unless the buffer has three elements of float64."""
        number = _number(buffer)
        if number is not None:
            return self._all_reduce_number(number, op, timeout)
        self._all_reduce(buffer, op, timeout)
        return buffer

    def _all_reduce(self, buffer: Memory, op: Operation, timeout: Timeout) -> None:
        region = _buffers.reducible("all_reduce", buffer, writable=True)
        operation = _buffers.operation("all_reduce", op, region)
        self._call(
            "all_reduce",
            region.address,
            region.address,
            region.count,
            region.type,
            operation,
            _nanoseconds(timeout),
            keep=region,
        )

    def _all_reduce_number(self, number: int | float, op: Operation, timeout: Timeout) -> int | float:
        """A rank without rows has the int 0 as the sum of no floats. So one reduction of doubles has the number, whether a rank has a
        float, and how large the ints are together. Below 2**53 their result is exact; else they are reduced again, as ints."""
        _buffers.number_of(op)  # before anything is sent
        is_float = isinstance(number, float)
        size = abs(float(number))
        if op == "prod":
            cells = (ctypes.c_double * 3)(number, not is_float, max(size, 1.0))
        elif op == "min":
            cells = (ctypes.c_double * 3)(number, -is_float, -size)
        else:
            cells = (ctypes.c_double * 3)(number, is_float, size)
        try:
            self._all_reduce(cells, op, timeout)
        except DisagreementError as error:
            if error.message.count("AllReduce") < 2:
                raise
            raise DisagreementError(error.message, "pass a number on all ranks, or on none") from None
        any_float = cells[1] == 0.0 if op == "prod" else cells[1] != 0.0
        if any_float:
            return cells[0]
        if op != "avg" and abs(cells[2]) < _EXACT:
            return int(cells[0])
        cell = ctypes.c_int64(operator.index(number))  # type: ignore[arg-type]
        self._all_reduce(cell, op, timeout)
        return cell.value

    def reduce(self, buffer: _M, dst: int = 0, op: Operation = "sum", *, timeout: Timeout = None) -> _M:
        """Reduces the buffers of all ranks into the buffer of rank `dst`; the buffers of the other ranks do not change."""
        dst = _rank("reduce", dst)
        is_root = self.rank == dst
        region = _buffers.reducible("reduce", buffer, writable=is_root)
        receive = region.address if is_root else None
        operation = _buffers.operation("reduce", op, region)
        self._call(
            "reduce", region.address, receive, region.count, region.type, operation, dst, _nanoseconds(timeout), keep=region
        )
        return buffer

    def broadcast_buffer(self, buffer: _M, src: int = 0, *, timeout: Timeout = None) -> _M:
        """Copies the elements of rank `src` into the buffer of every rank."""
        src = _rank("broadcast_buffer", src)
        region = _buffers.region("broadcast_buffer", buffer, writable=self.rank != src)
        self._call("broadcast", region.address, *region.moved(), src, _nanoseconds(timeout), keep=region)
        return buffer

    def gather_buffer(self, send: Memory, receive: _O, dst: int = 0, *, timeout: Timeout = None) -> _O:
        """Copies the elements of all ranks, in rank order, into `receive` on rank `dst`, which has size times as many. The other ranks
        pass None."""
        dst = _rank("gather_buffer", dst)
        mine = _buffers.region("gather_buffer", send)
        every = None
        if self.rank == dst:
            every = _buffers.region("gather_buffer", receive, writable=True)
            self._check("gather_buffer", "send", mine, "receive", every, self.size)
        address = every.address if every else None
        self._call("gather", mine.address, address, *mine.moved(), dst, _nanoseconds(timeout), keep=(mine, every))
        return receive

    def all_gather_buffer(self, send: Memory, receive: _M, *, timeout: Timeout = None) -> _M:
        """Copies the elements of all ranks, in rank order, into `receive`, which has size times as many."""
        mine = _buffers.region("all_gather_buffer", send)
        every = _buffers.region("all_gather_buffer", receive, writable=True)
        self._check("all_gather_buffer", "send", mine, "receive", every, self.size)
        self._call("all_gather", mine.address, every.address, *mine.moved(), _nanoseconds(timeout), keep=(mine, every))
        return receive

    def scatter(self, send: Memory | None, receive: _M, src: int = 0, *, timeout: Timeout = None) -> _M:
        """Copies one block of `send` on rank `src` into `receive` on each rank; `send` has size times the elements of `receive`. The
        other ranks pass None."""
        src = _rank("scatter", src)
        mine = _buffers.region("scatter", receive, writable=True)
        every = None
        if self.rank == src:
            every = _buffers.region("scatter", send)
            self._check("scatter", "receive", mine, "send", every, self.size)
        address = every.address if every else None
        self._call("scatter", address, mine.address, *mine.moved(), src, _nanoseconds(timeout), keep=(mine, every))
        return receive

    def reduce_scatter(self, send: Memory, receive: _M, op: Operation = "sum", *, timeout: Timeout = None) -> _M:
        """Reduces `send` of all ranks, and copies block i of the result into `receive` on rank i; `send` has size times the elements
        of `receive`."""
        mine = _buffers.reducible("reduce_scatter", receive, writable=True)
        every = _buffers.reducible("reduce_scatter", send)
        self._check("reduce_scatter", "receive", mine, "send", every, self.size)
        operation = _buffers.operation("reduce_scatter", op, mine)
        self._call(
            "reduce_scatter",
            every.address,
            mine.address,
            mine.count,
            mine.type,
            operation,
            _nanoseconds(timeout),
            keep=(mine, every),
        )
        return receive

    def all_to_all(self, send: Memory, receive: _M, *, timeout: Timeout = None) -> _M:
        """Sends block i of `send` to rank i, and receives block i of `receive` from it; both have size blocks of equal length."""
        out = _buffers.region("all_to_all", send)
        into = _buffers.region("all_to_all", receive, writable=True)
        self._check("all_to_all", "send", out, "receive", into, 1)
        if out.count % self.size:
            raise UsageError(f"all_to_all: {out.count} elements are not {self.size} blocks of equal length")
        count, type_ = out.moved()
        self._call(
            "all_to_all", out.address, into.address, count // self.size, type_, _nanoseconds(timeout), keep=(out, into)
        )
        return receive

    def send(self, buffer: Memory, dst: int, *, timeout: Timeout = None) -> None:
        """Sends to one other rank, which calls `recv` with as many elements of the same type. Messages of one pair of ranks arrive in
        their order. Waits until the elements are sent: the buffer may be reused then. Another number or type of elements than `recv` has
        is a DisagreementError."""
        region = _buffers.region("send", buffer)
        self._call("send", region.address, *region.moved(), _rank("send", dst), _nanoseconds(timeout), keep=region)

    def recv(self, buffer: _M, src: int, *, timeout: Timeout = None) -> _M:
        """Receives from one other rank, and returns the buffer. Another number or type of elements than sent is a DisagreementError."""
        region = _buffers.region("recv", buffer, writable=True)
        self._call("recv", region.address, *region.moved(), _rank("recv", src), _nanoseconds(timeout), keep=region)
        return buffer

    # ---- parts of the group ----

    def split(self, color: int, key: int = 0, *, timeout: Timeout = None) -> Communicator | None:
        """Returns a communicator of all ranks that pass the same color, ordered by key, then by rank. A rank with a negative color
        takes part in the call and gets None. Both are integers of 32 bits."""
        color, key = self._color(color), _integer("split", "key", key)
        part = ctypes.c_void_p()
        self._call("split", color, key, _nanoseconds(timeout), ctypes.byref(part), keep=part)
        return Communicator(self._library, self._wait, part.value, True) if part.value else None

    @staticmethod
    def _color(color: int) -> int:
        try:
            return _integer("split", "color", color)
        except UsageError as error:
            remedy = "number the parts from 0: sorted(set(muster.all_gather(name))).index(name)"
            raise UsageError(error.message, remedy) from None

    # ---- maps (muster.map) ----

    def _begin_map(self, options: MapOptions, result: ctypes.c_void_p) -> int | None:
        """An error, or None."""
        error: int | None = self._library.muster_map_begin(self._pointer, ctypes.byref(options), ctypes.byref(result))
        return error

    # ---- how ----

    def _call(self, name: str, *arguments: object, keep: object = None) -> None:
        """Waits for it; `keep` lives until it is done, even if the wait is interrupted."""
        function = getattr(self._library, "muster_" + name)
        error: int | None = self._wait(lambda _: function(self._pointer, *arguments), keep)
        if error:
            raise of_library(self._library, error)

    def _bytes_call(self, name: str, data: Memory, *rest: int) -> list[bytes]:
        region = _buffers.region(name, data)
        parts = ctypes.c_void_p()
        self._call(name, region.address, region.size, *rest, ctypes.byref(parts), keep=(region, parts))
        try:
            return [self._part(parts, i) for i in range(self._library.muster_parts_count(parts))]
        finally:
            self._library.muster_parts_free(parts)

    def _part(self, parts: ctypes.c_void_p, index: int) -> bytes:
        size = self._library.muster_parts_size(parts, index)
        return _buffers.copied(self._library.muster_parts_data(parts, index), size) if size else b""

    @staticmethod
    def _check(what: str, one_name: str, one: Region, many_name: str, many: Region, factor: int) -> None:
        """The library takes one count for both: a buffer that is too short would be overrun."""
        if one.type != many.type or (one.type is None and one.name != many.name):
            raise UsageError(f"{what}: {one_name} has elements of type {one.name} and {many_name} of {many.name}")
        if many.size != one.size * factor:
            need = f"; it must have {one.count} for each of the {factor} ranks" if factor > 1 else "; they must be as many"
            raise UsageError(f"{what}: {one_name} has {one.count} elements and {many_name} {many.count}{need}")
