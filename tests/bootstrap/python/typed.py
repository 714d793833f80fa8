"""How a type checker sees a user's program. tests/lint checks it (mypy --strict: an ignore that is not needed fails); nothing runs it."""

import array
import datetime
from typing import Any, Generator, Iterator, List, Optional, assert_type

import muster
from muster import *


def objects() -> None:
    assert_type(muster.broadcast({"a": 1}, src=1), Any)
    assert_type(muster.gather("x", dst=1), Optional[List[Any]])
    assert_type(muster.all_gather_bytes(bytearray(b"x")), List[bytes])


def star(comm: Communicator) -> None:
    assert_type(all_reduce(1), int)
    assert_type(UsageError("a").hint, str)


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

    def is_conj(self) -> bool:
        return False

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return True

    def is_neg(self) -> bool:
        return False

    def numel(self) -> int:
        return 0


class Array:
    """A numpy array in the stubs for Python before 3.12."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {}


def buffers(doubles: "array.array[float]", tensor: Tensor, rows: Array) -> None:
    assert_type(muster.all_reduce(rows), Array)
    assert_type(muster.gather_buffer(rows, rows), Array)
    assert_type(muster.all_reduce(doubles), "array.array[float]")
    assert_type(muster.all_reduce(tensor, "avg"), Tensor)
    assert_type(muster.recv(bytearray(4), src=0), bytearray)
    assert_type(muster.gather_buffer(doubles, None), None)
    assert_type(muster.scatter(None, doubles, src=1), "array.array[float]")
    part = muster.split(0)
    if part is not None:
        muster.reduce(doubles, dst=0, op="prod", group=part)


def words(line: str) -> Iterator[str]:
    yield from line.split()


def letters(line: str) -> Generator[str, None, None]:
    yield from line


def maps(lines: List[str]) -> None:
    assert_type(muster.map(len, lines, journal="out", key=str.upper, timeout=datetime.timedelta(hours=1)), Optional[List[int]])
    assert_type(muster.map(letters, lines, gather="all"), Optional[List[List[str]]])
    assert_type(muster.map(lambda batch: [len(line) for line in batch], lines, batch_size=4), Optional[List[int]])
    work = muster.map_items(lines, retries=0, class_of=str.upper, progress=False)
    for item in work:
        with item:
            assert_type(item, muster.MapItem[str])
            item.commit(item.value.upper())
    assert_type(work.results(), List[Any])
    assert_type(work.outcome, Optional[muster.MapOutcome])
    for batch in muster.map_items(lines, batch_size=2):
        assert_type(batch.value, List[str])


class Rows:
    """A dataset."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> bytes:
        return b""


def datasets() -> None:
    assert_type(muster.map(len, Rows()), Optional[List[int]])
    assert_type(muster.map(len, Rows(), key=["a"], class_of=iter("a"), journal="out"), Optional[List[int]])
    try:
        muster.map(len, Rows())
    except muster.MapError as error:
        assert_type(error.results, Optional[List[Any]])
        assert_type(error.failed, List[muster.FailedItem])


def mistakes() -> None:
    muster.map(len, [1])  # type: ignore[arg-type]
    muster.map(len, ["a"], gather="some")  # type: ignore[call-overload]
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
