"""The methods and properties of a communicator as functions of the module: of the group of all ranks, or of `group`.

Each has the signature and the documentation of its method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from ._world import world
from .communicator import _M, _O, Communicator, Timeout

if TYPE_CHECKING:
    from ._buffers import Memory, Operation

def _of(group: Communicator | None) -> Communicator:
    return world() if group is None else group


def rank() -> int:
    return world().rank


def size() -> int:
    return world().size


def local_rank() -> int:
    return world().local_rank


def local_size() -> int:
    return world().local_size


def node_rank() -> int:
    return world().node_rank


def num_nodes() -> int:
    return world().num_nodes


def node() -> str:
    return world().node


def nodes() -> list[str]:
    return world().nodes


def barrier(*, group: Communicator | None = None, timeout: Timeout = None) -> None:
    _of(group).barrier(timeout=timeout)


def broadcast(obj: Any = None, src: int = 0, *, group: Communicator | None = None, timeout: Timeout = None) -> Any:
    return _of(group).broadcast(obj, src, timeout=timeout)


def gather(obj: Any, dst: int = 0, *, group: Communicator | None = None, timeout: Timeout = None) -> list[Any] | None:
    return _of(group).gather(obj, dst, timeout=timeout)


def all_gather(obj: Any, *, group: Communicator | None = None, timeout: Timeout = None) -> list[Any]:
    return _of(group).all_gather(obj, timeout=timeout)


def broadcast_bytes(
    data: Memory = b"", src: int = 0, *, group: Communicator | None = None, timeout: Timeout = None
) -> bytes:
    return _of(group).broadcast_bytes(data, src, timeout=timeout)


def gather_bytes(
    data: Memory, dst: int = 0, *, group: Communicator | None = None, timeout: Timeout = None
) -> list[bytes] | None:
    return _of(group).gather_bytes(data, dst, timeout=timeout)


def all_gather_bytes(data: Memory, *, group: Communicator | None = None, timeout: Timeout = None) -> list[bytes]:
    return _of(group).all_gather_bytes(data, timeout=timeout)


@overload
def all_reduce(
    buffer: int, op: Operation = "sum", *, group: Communicator | None = None, timeout: Timeout = None
) -> int: ...


@overload
def all_reduce(
    buffer: float, op: Operation = "sum", *, group: Communicator | None = None, timeout: Timeout = None
) -> float: ...


@overload
def all_reduce(buffer: _M, op: Operation = "sum", *, group: Communicator | None = None, timeout: Timeout = None) -> _M: ...


def all_reduce(
    buffer: Any, op: Operation = "sum", *, group: Communicator | None = None, timeout: Timeout = None
) -> Any:
    return _of(group).all_reduce(buffer, op, timeout=timeout)


def reduce(
    buffer: _M, dst: int = 0, op: Operation = "sum", *, group: Communicator | None = None, timeout: Timeout = None
) -> _M:
    return _of(group).reduce(buffer, dst, op, timeout=timeout)


def broadcast_buffer(buffer: _M, src: int = 0, *, group: Communicator | None = None, timeout: Timeout = None) -> _M:
    return _of(group).broadcast_buffer(buffer, src, timeout=timeout)


def gather_buffer(
    send: Memory, receive: _O, dst: int = 0, *, group: Communicator | None = None, timeout: Timeout = None
) -> _O:
    return _of(group).gather_buffer(send, receive, dst, timeout=timeout)


def all_gather_buffer(send: Memory, receive: _M, *, group: Communicator | None = None, timeout: Timeout = None) -> _M:
    return _of(group).all_gather_buffer(send, receive, timeout=timeout)


def scatter(
    send: Memory | None, receive: _M, src: int = 0, *, group: Communicator | None = None, timeout: Timeout = None
) -> _M:
    return _of(group).scatter(send, receive, src, timeout=timeout)


def reduce_scatter(
    send: Memory, receive: _M, op: Operation = "sum", *, group: Communicator | None = None, timeout: Timeout = None
) -> _M:
    return _of(group).reduce_scatter(send, receive, op, timeout=timeout)


def all_to_all(send: Memory, receive: _M, *, group: Communicator | None = None, timeout: Timeout = None) -> _M:
    return _of(group).all_to_all(send, receive, timeout=timeout)


def send(buffer: Memory, dst: int, *, group: Communicator | None = None, timeout: Timeout = None) -> None:
    _of(group).send(buffer, dst, timeout=timeout)


def recv(buffer: _M, src: int, *, group: Communicator | None = None, timeout: Timeout = None) -> _M:
    return _of(group).recv(buffer, src, timeout=timeout)


def split(
    color: int, key: int = 0, *, group: Communicator | None = None, timeout: Timeout = None
) -> Communicator | None:
    return _of(group).split(color, key, timeout=timeout)


for _name, _function in list(globals().items()):
    if getattr(_function, "__module__", None) == __name__ and not _name.startswith("_"):
        _function.__doc__ = getattr(Communicator, _name).__doc__
