"""How a type checker sees a user's program. tests/lint checks it (mypy --strict: an ignore that is not needed fails); nothing runs it."""

import array
import datetime
from typing import Any, List, Optional, assert_type

import muster


def objects() -> None:
    assert_type(muster.broadcast({"a": 1}, src=1), Any)
    assert_type(muster.gather("x", dst=1), Optional[List[Any]])
    assert_type(muster.all_gather_bytes(bytearray(b"x")), List[bytes])


def numbers(comm: muster.Communicator) -> None:
    assert_type(comm.all_reduce(1), int)
    assert_type(muster.all_reduce(1.5, op="max", timeout=datetime.timedelta(hours=1)), float)
    assert_type(comm.rank, int)
    assert_type(comm.nodes, List[str])


class Tensor:
    """Has what muster reads of torch.Tensor, as a type checker sees it."""

    device: Any
    dtype: Any

    def data_ptr(self) -> int:
        return 0

    def element_size(self) -> int:
        return 4

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return True

    def numel(self) -> int:
        return 0


def buffers(doubles: "array.array[float]", tensor: Tensor) -> None:
    assert_type(muster.all_reduce(doubles), "array.array[float]")
    assert_type(muster.all_reduce(tensor, "avg"), Tensor)
    assert_type(muster.recv(bytearray(4), src=0), bytearray)
    assert_type(muster.gather_buffer(doubles, None), None)
    assert_type(muster.scatter(None, doubles, src=1), "array.array[float]")
    part = muster.split(0)
    if part is not None:
        muster.reduce(doubles, dst=0, op="prod", group=part)


def mistakes() -> None:
    muster.all_reduce([1])  # type: ignore[call-overload]
    muster.all_reduce(1, op="median")  # type: ignore[call-overload]
    muster.broadcast(1, root=0)  # type: ignore[call-arg]
    muster.init(timeout={"collective": "1h"})  # type: ignore[call-arg]
    muster.barrier(5)  # type: ignore[arg-type, call-arg]
    muster.no_such_name  # type: ignore[attr-defined]


def errors() -> None:
    try:
        muster.init("eval.yaml", timeouts={"collective": "1h"}, backend="socket")
    except muster.DeadlineError as error:
        late: TimeoutError = error
        assert_type(error.exit_status, int)
        assert_type(error.hint, str)
        raise late
