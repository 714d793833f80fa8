"""Maps: items that the ranks of a group share, each done once, whichever rank is free."""

from __future__ import annotations

import inspect
import os
import threading
import time
import traceback
from collections.abc import Generator, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Generic, Literal, TypeVar, overload

from . import _exit_status, _library, _map_end, _results, _world
from ._errors import UsageError
from ._item_limit import ItemLimit, ItemTimeout, whole
from ._map_end import Journal
from ._map_plan import Items, Key, Plan, main_name, name_of
from ._map_queue import MapOutcome, Queue
from ._waiting import LOOK_S
from .communicator import Timeout, _integer, _nanoseconds

_T = TypeVar("_T")
_R = TypeVar("_R")

Gather = Literal["root", "all", "none"]

_HERE = os.path.join(os.path.dirname(__file__), "")

# Of a reason; the library keeps 64 KiB.
_LONGEST_REASON = 32 << 10


if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class _ItemsOptions(TypedDict, total=False):
        """The arguments of both that are of one type for all items."""

        journal: Journal
        name: str | None
        retries: int
        timeout: Timeout
        retry_failed: bool
        progress: bool

    class _Options(_ItemsOptions, total=False):
        slots: int
        gather: Gather


@overload
def map(
    function: Callable[[list[_T]], Iterable[_R]],
    items: Items[_T],
    *,
    batch_size: int,
    key: Key[_T] | None = None,
    class_of: Key[_T] | None = None,
    **options: Unpack[_Options],
) -> list[_R] | None: ...
@overload
def map(
    function: Callable[[_T], Generator[_R, Any, Any]],
    items: Items[_T],
    *,
    batch_size: None = None,
    key: Key[_T] | None = None,
    class_of: Key[_T] | None = None,
    **options: Unpack[_Options],
) -> list[list[_R]] | None: ...
@overload
def map(
    function: Callable[[_T], _R],
    items: Items[_T],
    *,
    batch_size: None = None,
    key: Key[_T] | None = None,
    class_of: Key[_T] | None = None,
    **options: Unpack[_Options],
) -> list[_R] | None: ...


def map(
    function: Callable[[Any], Any],
    items: Items[Any],
    *,
    batch_size: int | None = None,
    journal: Journal = None,
    key: Key[Any] | None = None,
    class_of: Key[Any] | None = None,
    name: str | None = None,
    retries: int = 2,
    timeout: Timeout = None,
    slots: int = 1,
    gather: Gather = "root",
    retry_failed: bool = False,
    progress: bool = True,
) -> list[Any] | None:
    """Calls `function` with each item, on whichever rank is free, and returns the results in the order of the items: on rank 0, and
    None elsewhere. Every rank calls it, with the same items in the same order. Calls muster.init() if there is no group.

    items         a sequence, an iterable, a dataset (its items are loaded by number, when they are needed), or a pandas Series, in
                  its order. A table is refused: pass its rows, df.to_dict("records").
    batch_size    `function` gets lists of this many items, and returns as many results. Batches are cut from the order of the items:
                  they do not depend on the number of ranks.
    journal       a directory that rank 0's node can write: each result is durable there, once. The next run with the same items
                  does what is left, with any number of ranks. None: results live as long as the map.
    key           a function of an item that returns a str of its own, or these in the order of the items. None: the item as JSON; a
                  long one is cut, and ends with a digest. A dataset has "#5" then, unless there is a journal: its items are not
                  compared between ranks. For `key` as a function, and for `journal` without `key`, every rank loads
                  every item of a dataset once before the map begins: pass keys, as key=dataset["id"], and none does.
    class_of      a function of an item that returns its class, a str, or these in the order of the items. Items of a class take about
                  equally long. Those of the class that takes longest go first. Near the job's end, no item is begun that takes longer
                  than 95 of 100 of its class. A batch has the class of its first item. A function loads items as `key` does.
    name          what is done, a part of the journal's identity: name the model and its settings. None: the function's module and
                  name
    retries       tries after the first, before an item is given up
    timeout       of one try of an item: seconds or a timedelta; None: none. A function that takes longer has an exception raised in
                  it (a BaseException, through SIGALRM if the program has no handler for it): the try has failed, and this rank goes
                  on. Code of C that does not return within 2 s more ends the process (75); the item goes to another rank.
    slots         threads of this rank that call the function; may differ by rank
    gather        "root", "all": every rank gets the results; "none": no rank does, and they are in the journal
    retry_failed  items that an earlier run gave up are tried again
    progress      False: no lines about the progress

    The results of a generator function are lists: all that it yields for an item. bytes stay bytes, and JSON stays JSON; all other
    results are pickles, tensors of PyTorch on the CPU. A journal's pickles are loaded: trust it as the program.

    An exception of the function, or of loading its item, is a failed try, and so is the end of the rank that is at work on the item;
    other ranks go on. When all items have ended, and some were given up, MapError is raised on the ranks that get results (with "none"
    on rank 0). TimeIsUpError is raised on all ranks if the job ends too soon for the items that are left. If rank 0 is lost and should
    have the results, the other ranks raise PeerLostError when the items have ended. KeyboardInterrupt and SystemExit end the map on
    this rank.

    Waits for at most timeouts.collective until rank 0 has read the journal, then without a limit until the items have ended. One map of
    a process at a time, called in one thread. Errors beside these:

    UsageError            an argument, a map within a map, or a forked child; another run is at work on the journal; a result of more than
                          4 MiB, which is a failed try
    DisagreementError     another rank, or the journal, has other items, another name or other options
    DeadlineError         the journal was not read in time
    OperatingSystemError  the journal cannot be read or written

    and those of muster.init() and of the group's failure. None of the four fails the group.
    """
    if gather not in ("root", "all", "none"):
        raise UsageError(f"map: gather={gather!r}", 'it must be "root", "all" or "none"')
    if inspect.iscoroutinefunction(function):
        raise UsageError("map: the function is a coroutine function", "pass one that returns its result, as asyncio.run does")
    plan = Plan(items, key, journal, batch_size, class_of)
    queue = _begin(plan, name or name_of(function), journal, retries, timeout, slots, retry_failed, progress)
    outcome = _outcome(queue, plan, _limit(timeout), function, slots)
    return _gathered(queue, plan, outcome, journal, gather)


class MapItem(Generic[_T]):
    """An item that this rank is to do.

    value    the item; with batch_size a list of items. Those of a dataset are loaded at its first use, once a try.
    index    its position in `items`; with batch_size the first of its batch
    key      its key
    attempt  which try this is, from 1

    It ends with `commit` or `fail`. A `with` block calls `fail` for an exception in it, and the loop goes on; the map's timeout
    ends the block with one. An item that has not ended when the next one is taken has failed too. KeyboardInterrupt and SystemExit
    give the item back, and so does the end of the loop.
    """

    def __init__(self, queue: Queue, plan: Plan[Any], limit: ItemLimit, number: int, attempt: int) -> None:
        self._queue = queue
        self._plan = plan
        self._limit = limit
        self._number = number
        self._began = time.monotonic_ns()
        self.attempt = attempt
        self.index: int = plan.where(number).start
        self.key: str = plan.keys[number].decode()
        self._value: list[_T] = []  # when it has been loaded

    def __repr__(self) -> str:
        return f"<muster.MapItem {self.index} ({self.key}), try {self.attempt}>"

    @property
    def value(self) -> _T:
        """The item; with batch_size a list of items. Raises what the dataset raises."""
        if not self._value:
            self._value = [self._plan.value(self._number)]
        return self._value[0]

    def commit(self, result: object) -> None:
        """The result. With batch_size: one for each item of the batch. Raises the exception of a pickle that cannot be made. UsageError:
        a result of more than 4 MiB, or an item that has ended. Waits for rank 0 while more than 1 MiB is on its way."""
        form, data = _results.encode(self._plan.checked(self._number, result))
        if self._limit.end():
            raise ItemTimeout
        self._queue.commit(self._number, self._plan.keys[self._number], form, data, self._took())

    def fail(self, reason: str | BaseException) -> None:
        """This try has failed: the item is tried again, or given up. Does nothing if the item has ended. Does not wait."""
        text = reason if isinstance(reason, str) else _reason(reason)
        self._queue.fail(self._number, self._plan.keys[self._number], text, self._took())

    def give_back(self) -> None:
        """Another rank may do it; that is no failed try. Does nothing if the item has ended. Does not wait."""
        self._queue.give_back(self._number)

    def _took(self) -> int:
        return time.monotonic_ns() - self._began

    def _end(self) -> None:
        if self._queue.holds(self._number):
            self.fail("not committed: the program went on to the next item")

    def _fail_late(self, error: BaseException | None) -> None:
        self._limit.end()
        where = "" if error is None else _reason(error).partition("\n")[2]
        self.fail(f"not finished after {self._limit.seconds:g} s (timeout)\n{where}")

    @whole
    def __enter__(self) -> MapItem[_T]:
        self._limit.begin()
        return self

    @whole
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        try:
            late = self._limit.end() or isinstance(error, ItemTimeout)
        except ItemTimeout:
            late = True
        if late:
            self._fail_late(error)
            return True
        if not self._queue.holds(self._number):
            return False
        if error is None:
            return False  # distinguishes a `break` in the loop from an item that was not committed
        if isinstance(error, Exception):
            self.fail(error)
        else:
            self.give_back()
        return isinstance(error, Exception)


class MapItems(Generic[_T]):
    """The items of a map that this rank is to do (`map_items`): iterate over it once."""

    def __init__(self, queue: Queue, plan: Plan[Any], limit: ItemLimit, journal: Journal) -> None:
        self._queue = queue
        self._plan = plan
        self._limit = limit
        self._journal = journal
        self._begun = False
        self._left_early = False
        self._raised = False

    def __iter__(self) -> Iterator[MapItem[_T]]:
        if self._begun:
            raise UsageError("the items of a map can be taken once")
        self._begun = True
        return self._take()

    def _take(self) -> Iterator[MapItem[_T]]:
        try:
            while (granted := self._queue.next()) is not None:
                item: MapItem[_T] = MapItem(self._queue, self._plan, self._limit, *granted)
                yield item
                item._end()
                del item
        except GeneratorExit:
            self._left_early = True
            self._queue.leave_early()
            raise
        except BaseException:
            self._queue.leave_early()
            raise
        finally:
            self._limit.close()
        self._finish()

    def _finish(self) -> MapOutcome:
        """Raises once."""
        outcome = self._queue.finish()
        if not self._raised:
            self._raised = True
            if not self._left_early:
                _map_end.raise_if_time_is_up(outcome, self._plan, self._journal)
            _map_end.raise_if_failed(self._queue, self._plan, self._journal)
        return outcome

    @property
    def outcome(self) -> MapOutcome | None:
        """How the map ended; None before its end."""
        return self._queue.outcome

    def results(self) -> list[Any]:
        """The results of all items in their order, None for those that have none: on each rank that calls it. Waits, without a limit,
        until all items have ended. Raises MapError or TimeIsUpError if the loop has not. UsageError: after close()."""
        self._queue.leave()
        self._finish()
        return _map_end.read(self._queue, self._plan)[0]

    def close(self) -> None:
        """Leaves the map, whose results are then closed for reading. The next map and the end of the group do the same."""
        self._limit.close()
        self._queue.close()

    def __enter__(self) -> MapItems[_T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()


@overload
def map_items(
    items: Items[_T],
    *,
    batch_size: int,
    key: Key[_T] | None = None,
    class_of: Key[_T] | None = None,
    **options: Unpack[_ItemsOptions],
) -> MapItems[list[_T]]: ...
@overload
def map_items(
    items: Items[_T],
    *,
    batch_size: None = None,
    key: Key[_T] | None = None,
    class_of: Key[_T] | None = None,
    **options: Unpack[_ItemsOptions],
) -> MapItems[_T]: ...


def map_items(
    items: Items[Any],
    *,
    batch_size: int | None = None,
    journal: Journal = None,
    key: Key[Any] | None = None,
    class_of: Key[Any] | None = None,
    name: str | None = None,
    retries: int = 2,
    timeout: Timeout = None,
    retry_failed: bool = False,
    progress: bool = True,
) -> MapItems[Any]:
    """The items for this rank, one after the other, until all ranks have done all of them:

        work = muster.map_items(questions, journal="out/answers.journal")
        for item in work:
            with item:
                item.commit(model(item.value))
        answers = work.results()

    Every rank calls it, with the same items; the arguments are those of `map`. `name` is the program's name unless it is given. An item
    that was not committed when the next one is taken has failed. To leave the loop early gives the item back, and the other ranks do
    the rest. The loop ends with TimeIsUpError on all ranks, and with MapError on rank 0, if items are left or were given up. Its other
    errors and its waits are those of `map`.
    """
    plan = Plan(items, key, journal, batch_size, class_of)
    queue = _begin(plan, name or main_name(), journal, retries, timeout, 1, retry_failed, progress)
    return MapItems(queue, plan, _limit(timeout), journal)


# ---- how ----


def _begin(
    plan: Plan[Any],
    name: str,
    journal: Journal,
    retries: int,
    timeout: Timeout,
    slots: int,
    retry_failed: bool,
    progress: bool,
) -> Queue:
    _world.init()
    nanoseconds = 0 if timeout is None else _nanoseconds(timeout)
    if timeout is not None and nanoseconds <= 0:
        raise UsageError(f"a map with a timeout of {timeout}", "it must be more than 0")
    retries, slots = _integer("map", "number of retries", retries), _integer("map", "number of slots", slots)
    if not 0 <= retries <= 30 or slots < 1:
        raise UsageError(f"a map with {retries} retries and {slots} slots", "pass 0 to 30 retries, and at least one slot")
    path = None if journal is None else os.path.abspath(os.fsencode(journal))
    options = _library.MapOptions(
        plan.count,
        plan.digest(),
        name.replace("\0", " ").encode(errors="backslashreplace"),
        path,
        retries,
        nanoseconds,
        retry_failed,
        slots,
        plan.classes,
        not progress,
    )
    _exit_status.install()
    return Queue(options)


def _limit(timeout: Timeout) -> ItemLimit:
    return ItemLimit(0 if timeout is None else _nanoseconds(timeout) / 1e9)


def _outcome(queue: Queue, plan: Plan[Any], limit: ItemLimit, function: Callable[[Any], object], slots: int) -> MapOutcome:
    try:
        if slots == 1:
            _work(queue, plan, limit, function)
        else:
            _work_in_threads(queue, plan, limit, function, slots)
        return queue.finish()
    except BaseException:
        queue.leave_early()
        raise
    finally:
        limit.close()


def _gathered(queue: Queue, plan: Plan[Any], outcome: MapOutcome, journal: Journal, gather: Gather) -> list[Any] | None:
    """Ends the map."""
    try:
        _map_end.raise_if_time_is_up(outcome, plan, journal)
        reads = _world.world().rank == 0 if gather == "root" else gather == "all"
        if not reads:
            if gather == "none":
                _map_end.raise_if_failed(queue, plan, journal)
            else:
                _map_end.raise_if_lost(queue, journal)
            return None
        results, failed = _map_end.read(queue, plan)
        if failed:
            raise _map_end.map_error(outcome, plan, journal, failed, results)
        return results
    finally:
        queue.close()


def _work(queue: Queue, plan: Plan[Any], limit: ItemLimit, function: Callable[[Any], object]) -> None:
    while (granted := queue.next()) is not None:
        item: MapItem[Any] = MapItem(queue, plan, limit, *granted)
        # If the group has failed, the next call raises that.
        try:
            with item:
                item.commit(function(item.value))
        except ItemTimeout as error:  # while the block began or ended
            item._fail_late(error)


def _work_in_threads(
    queue: Queue, plan: Plan[Any], limit: ItemLimit, function: Callable[[Any], object], slots: int
) -> None:
    raised: list[BaseException] = []

    def work() -> None:
        try:
            _work(queue, plan, limit, function)
        except BaseException as error:
            raised.append(error)
            queue.leave()

    queue.threads = [threading.Thread(target=work, name=f"muster map {i}", daemon=True) for i in range(slots)]
    for thread in queue.threads:
        thread.start()
    for thread in queue.threads:
        # Signal handlers run here, in the main thread.
        while thread.is_alive():
            thread.join(LOOK_S)
    if raised:
        raise raised[0]


def _reason(error: BaseException) -> str:
    """The exception in one line, and its traceback without the frames of this module that it begins with."""
    line = "".join(traceback.format_exception_only(type(error), error)).strip().replace("\n", " ")
    own = error.__traceback__
    while own is not None and own.tb_next is not None and own.tb_frame.f_code.co_filename.startswith(_HERE):
        own = own.tb_next
    text = "".join(traceback.format_exception(type(error), error, own))
    return f"{line[:1000]}\n{text[-_LONGEST_REASON:]}"
