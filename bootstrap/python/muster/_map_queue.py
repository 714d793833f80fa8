"""A map of the library (muster_map_* of bootstrap/c/muster.h)."""

from __future__ import annotations

import ctypes
import dataclasses
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from . import _library, _world
from ._buffers import copied
from ._errors import Error, UsageError
from ._waiting import GRACE_S


@dataclasses.dataclass(frozen=True)
class MapOutcome:
    """How a map ended. With batch_size all numbers are of batches.

    items           all of them
    committed       those with a result, of earlier runs as well
    given_up        those that failed on every try, of earlier runs as well
    resumed         those of both that earlier runs have ended
    second_commits  results that came too late, because another rank had committed the item
    time_is_up      the job ends soon, and items are left for the next run
    """

    items: int
    committed: int
    given_up: int
    resumed: int
    second_commits: int
    time_is_up: bool

    @property
    def left(self) -> int:
        """Those that have not ended."""
        return self.items - self.committed - self.given_up


class Record(NamedTuple):
    """The journal's record of an item."""

    item: int
    key: str
    given_up: bool
    rank: int
    node: str
    attempts: int
    format: int
    data: bytes  # the result, or the last reason


class Queue:
    """The items that this rank is granted, and what came of them. Any thread may call it."""

    def __init__(self, options: _library.MapOptions) -> None:
        """Joins the map. Waits until the journal has been read."""
        here = _world.process()
        if here.queue is not None:
            if here.queue.busy:
                raise UsageError("a map within a map: another one is at work in this process", "let it end first")
            here.queue.close()
        self._here = here
        self._library, self._wait = here.library, here.wait
        self._left = False
        self._held: set[int] = set()
        self.threads: list[threading.Thread] = []  # those that call it, beside the main thread
        self.outcome: MapOutcome | None = None
        self.listed: list[int] = []  # the first items that were given up
        self.first_rank = 0  # the lowest that was neither lost nor has left the map
        world = _world.world()
        self._alone = world.size == 1
        pointer = ctypes.c_void_p()
        here.raises(self._wait(world._begin_map, options, pointer))
        self._pointer: int | None = pointer.value
        here.queue = self

    @property
    def busy(self) -> bool:
        """Whether this process is at work on an item."""
        return bool(self._held) or any(thread.is_alive() for thread in self.threads)

    @property
    def stuck(self) -> bool:
        """Whether a call on it may not have returned."""
        return self._pointer is not None and (self._wait.stuck or any(thread.is_alive() for thread in self.threads))

    def next(self) -> tuple[int, int] | None:
        """An item and which try it is, from 1; None at the end. Waits while other ranks have the last items."""
        item, attempt = ctypes.c_uint64(_library.MAP_END), ctypes.c_uint32()
        try:
            self._call(self._library.muster_map_next, ctypes.byref(item), ctypes.byref(attempt))
        except Error:
            raise
        except BaseException:
            self.leave()
            if self._wait.settle(GRACE_S) and item.value != _library.MAP_END:
                self.give_back(item.value)
            raise
        if item.value == _library.MAP_END:
            return None
        self._held.add(item.value)
        return item.value, attempt.value

    def commit(self, item: int, key: bytes, form: int, data: bytes, took_ns: int) -> None:
        self._call(self._library.muster_map_commit, item, key, form, data, len(data), took_ns)
        self._held.discard(item)

    def fail(self, item: int, key: bytes, reason: str, took_ns: int) -> None:
        text = reason.replace("\0", "\\0").encode(errors="backslashreplace")
        self._direct(self._library.muster_map_fail, item, key, text, took_ns)
        self._held.discard(item)

    def give_back(self, item: int) -> None:
        self._direct(self._library.muster_map_give_back, item)
        self._held.discard(item)

    def holds(self, item: int) -> bool:
        return item in self._held

    def leave(self) -> None:
        """This rank takes no more items, and gives back those in work. Does not wait."""
        if self._left or self._pointer is None:
            return
        self._left = True
        self._library.muster_map_stop(self._pointer)
        for item in list(self._held):
            self.give_back(item)

    def leave_early(self) -> None:
        """After an exception, which may end the process. The map of several ranks goes on, and this rank's end is a loss that it
        logs. In a world of one the map does not go on: committed results become durable."""
        self.leave()
        if not self._alone or self.stuck:
            return
        try:
            self.finish()
        except Error:
            pass  # the exception has more detail

    def finish(self) -> MapOutcome:
        """Waits until all items have ended, or the time is up and no rank works."""
        if self.outcome is None:
            out = _library.MapOutcome()
            self._call(self._library.muster_map_finish, ctypes.byref(out))
            self.first_rank = out.first_rank
            self.listed = list(out.listed_items[: out.listed])
            self.outcome = MapOutcome(
                out.items, out.committed, out.given_up, out.resumed, out.second_commits, bool(out.time_is_up)
            )
        return self.outcome

    def read(self, first: int, count: int) -> Iterator[Record]:
        """After `finish`: the items from `first` on that have ended. Waits for the root."""
        records = ctypes.c_void_p()
        self._call(self._library.muster_map_read, first, count, ctypes.byref(records))
        try:
            one = _library.MapRecord()
            for i in range(self._library.muster_map_records_count(records)):
                self._library.muster_map_records_get(records, i, ctypes.byref(one))
                yield Record(
                    one.item,
                    one.key.decode(errors="replace"),
                    bool(one.given_up),
                    one.rank,
                    one.node.decode(errors="replace"),
                    one.attempts,
                    one.format,
                    copied(one.data, one.size) if one.size else b"",
                )
        finally:
            self._library.muster_map_records_free(records)

    def close(self) -> None:
        """Leaves the map, which is then closed for reading. Does nothing while a call on it waits."""
        self.leave()
        if self._pointer is None or self.stuck:
            return
        pointer, self._pointer = self._pointer, None
        if self._here.queue is self:
            self._here.queue = None
        self._library.muster_map_free(pointer)

    def _call(self, function: Any, *arguments: object) -> None:
        """For calls that may wait."""
        if self._pointer is None:
            raise UsageError("the map has ended")
        self._here.raises(self._wait(function, self._pointer, *arguments))

    def _direct(self, function: Any, *arguments: object) -> None:
        """For calls that do not wait."""
        if self._pointer is None:
            raise UsageError("the map has ended")
        self._here.raises(function(self._pointer, *arguments))
