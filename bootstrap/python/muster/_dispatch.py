"""A harness on rank 0 whose model is on every rank: how its calls reach the ranks, and their results rank 0.

A broadcast fails once a rank has ended, and a map does not. So calls travel as results of small maps that only rank 0 works on; each
call is a map of its own.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pickle
import zlib
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from typing import Any, Callable

from . import _exit_status, _library, _maps, _results, _world
from ._errors import Error, PeerLostError, TimeIsUpError
from ._map_queue import MapOutcome, Queue

# The variables that give a program its place in a group: the harness and its libraries must find none of them.
_PLACE = {
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "NODE_RANK",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "ROLE_RANK",
    "ROLE_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
}
_PLACE_OF = ("TORCHELASTIC_", "OMPI_COMM_WORLD_", "PMI_", "PMIX_", "MV2_COMM_WORLD_", "MPI_LOCAL")

# A part of a message. The result of an item has at most 4 MiB.
_PART = 2 << 20
# Of a map's name; the journal's subject has 4096 bytes.
_LONGEST_NAME = 1024


def hide_the_group(environment: MutableMapping[str, str]) -> None:
    """The programs of this process find a world of one."""
    for name in [name for name in environment if name in _PLACE or name.startswith(_PLACE_OF)]:
        del environment[name]


@dataclasses.dataclass(frozen=True)
class Call:
    """One call of the model: its requests in batches, each of which one rank does as a whole.

    work     what is done, with which model: a journal of other work is refused
    keys     of the batches, each once
    journal  the directory of this call's journal
    """

    method: str
    work: str
    keys: list[str]
    batches: list[list[Any]]
    journal: str | None = None
    retries: int = 2
    retry_failed: bool = False


# (method, batch, key): one result for each request of the batch.
Work = Callable[[str, list[Any], str], Sequence[Any]]


class BrokenRankError(Exception):
    """This rank cannot do any further item, as with a GPU that has failed. The item goes to another rank."""


class Channel:
    """Objects of rank 0 for all other ranks, also after some of them have ended."""

    def __init__(self) -> None:
        self._rank = _world.world().rank
        self._sent = 0

    def send(self, value: object) -> bool:
        """On rank 0. False: the job ends soon, or the group has failed."""
        packed = zlib.compress(pickle.dumps(value, _results._PROTOCOL), 1)
        parts = [packed[i : i + _PART] for i in range(0, len(packed), _PART)]
        if len(parts) == 1:
            return self._pass_on([b"0" + packed]) is not None
        if self._pass_on([b"1" + str(len(parts)).encode()]) is None:
            return False
        return self._pass_on(parts) is not None

    def receive(self) -> Any:
        """On all ranks except 0: the next call of rank 0. Waits without a limit. Raises TimeIsUpError, and PeerLostError if rank 0 has
        ended."""
        first = self._fetch(1)[0]
        packed = first[1:]
        if first[:1] == b"1":
            packed = b"".join(self._fetch(int(packed)))
        # Ranks trust each other, as in `broadcast`.
        return pickle.loads(zlib.decompress(packed))

    def _pass_on(self, parts: list[bytes]) -> MapOutcome | None:
        with _Mail(self._next(), len(parts)) as queue:
            while (granted := queue.next()) is not None:
                queue.commit(granted[0], b"", _results.BYTES, parts[granted[0]], 0)
            outcome = queue.finish()
        return None if outcome.left else outcome

    def _fetch(self, count: int) -> list[bytes]:
        with _Mail(self._next(), count) as queue:
            queue.leave()
            outcome = queue.finish()
            if outcome.left == 0:
                return [record.data for record in queue.read(0, count)]
        if self._time_is_up():
            raise TimeIsUpError("the job ends soon, and the evaluation has not ended", "start it again with the same journal")
        raise PeerLostError("rank 0, where the harness runs, ended before the evaluation did")

    def _time_is_up(self) -> bool:
        """A map that no rank can begin: nothing further is handed out. Else rank 0 was the one that is missing."""
        with _Mail(self._next(), 1) as queue:
            while (granted := queue.next()) is not None:
                queue.commit(granted[0], b"", _results.BYTES, b"", 0)
            return queue.finish().left > 0

    def _next(self) -> str:
        self._sent += 1
        return f"message {self._sent} of rank 0"


class _Mail:
    """A map without keys, journal and lines about its progress."""

    def __init__(self, name: str, count: int) -> None:
        self._queue = Queue(_library.MapOptions(count, None, name.encode(), None, 0, 0, 0, 1, None, True))

    def __enter__(self) -> Queue:
        return self._queue

    def __exit__(self, *_: object) -> None:
        self._queue.close()


class Ranks:
    """All ranks of the group, each with the model: rank 0 calls them, and the other ranks serve."""

    def __init__(self) -> None:
        self._world = _world.init()
        _exit_status.install()
        self._channel = Channel() if self._world.size > 1 else None
        self._broken: BaseException | None = None
        self.error: Error | None = None  # of a call; the harness may have swallowed it

    @property
    def is_root(self) -> bool:
        return self._world.rank == 0

    # ---- rank 0

    def announce(self, value: object) -> None:
        """The first call to a rank in `serve`."""
        self._send(("begin", value))

    def call(self, call: Call, work: Work) -> list[Any]:
        """The results of all batches, one list for each. This rank works as well."""
        try:
            self._send(("call", call))
            results = self._run(call, work)
            assert results is not None
            return results
        except Error as error:
            self.error = error
            raise

    def end(self) -> None:
        """The others exit. Does nothing if they cannot be reached."""
        if self._channel is None:
            return
        try:
            self._channel.send(("end", None))
        except Error:
            pass  # the group has failed: each rank has its own error

    def _send(self, message: object) -> None:
        if self._channel is not None and not self._channel.send(message):
            raise TimeIsUpError("the job ends soon, and requests are left", "start it again with the same journal")

    # ---- all others

    def serve(self, begin: Callable[[Any], Work]) -> None:
        """Until rank 0 ends. `begin` gets what was announced, and returns what does a batch."""
        assert self._channel is not None
        work: Work | None = None
        while True:
            kind, value = self._channel.receive()
            if kind == "end":
                return
            if kind == "begin":
                work = begin(value)
            else:
                assert work is not None
                self._run(value, work)

    # ---- both

    def _run(self, call: Call, work: Work) -> list[Any] | None:
        keys = dict(zip(map(id, call.batches), call.keys))
        items = _maps.map_items(
            call.batches,
            journal=call.journal,
            key=lambda batch: keys[id(batch)],
            name=_shortened(call.work),
            retries=call.retries,
            retry_failed=call.retry_failed,
        )
        try:
            if self._broken is None:
                self._work(items, call.method, work)
            if not self.is_root:
                return None
            results = items.results()
        except TimeIsUpError:
            self._raise_if_all_are_broken()
            raise
        outcome = items.outcome
        if outcome is not None and outcome.left:
            self._raise_if_all_are_broken()
            raise TimeIsUpError(f"the job ends soon: {outcome.left} of {outcome.items} batches are left", left=outcome.left)
        return results

    def _work(self, items: _maps.MapItems[Any], method: str, work: Work) -> None:
        for item in items:
            try:
                results = list(work(method, item.value, item.key))
                if len(results) != len(item.value):
                    raise ValueError(f"{len(results)} results of {len(item.value)} requests")
                item.commit(results)
            except BrokenRankError as error:
                item.fail(error.__cause__ or error)
                self._broken = error
                _world.log(_world.WARNING, f"this rank takes no more requests: {error}")
                return
            except Exception as error:
                item.fail(error)

    def _raise_if_all_are_broken(self) -> None:
        """Items are left, and this rank is broken: so are all others, else they would have done them."""
        if self._broken is not None:
            raise self._broken


def _shortened(name: str) -> str:
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME]}...{hashlib.blake2b(name.encode(errors='replace'), digest_size=16).hexdigest()}"


def digest_of(parts: Iterable[str]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(part.encode(errors="backslashreplace"))
        digest.update(b"\0")
    return digest.hexdigest()


def only_once(keys: Iterable[str]) -> Iterator[str]:
    """A key that is there already gets a number."""
    seen: dict[str, int] = {}
    for key in keys:
        seen[key] = seen.get(key, 0) + 1
        yield key if seen[key] == 1 else f"{key} ({seen[key]})"


def in_pieces(numbers: Sequence[int], size: int) -> list[list[int]]:
    return [list(numbers[i : i + size]) for i in range(0, len(numbers), size)]


# ---- the command line


@dataclasses.dataclass
class Settings:
    journal: str | None = None
    retries: int = 2
    retry_failed: bool = False


def take_settings(words: list[str]) -> Settings:
    """Removes muster's own options from the harness's: --muster_journal DIR, --muster_retries N, --muster_retry_failed."""
    settings, rest = Settings(), words[:1]
    given = iter(words[1:])
    for word in given:
        name, equals, value = word.partition("=")
        if name == "--muster_retry_failed":
            settings.retry_failed = True
        elif name in ("--muster_journal", "--muster_retries"):
            value = value if equals else next(given, "")
            if not value or (name == "--muster_retries" and not value.isdigit()):
                raise SystemExit(f"{name}: expected {'a directory' if name == '--muster_journal' else 'a number'}")
            if name == "--muster_journal":
                settings.journal = os.path.abspath(value)
            else:
                settings.retries = int(value)
        else:
            rest.append(word)
    words[:] = rest
    return settings


# ---- GPUs


def own_devices(mine: int, devices: Sequence[Sequence[str]]) -> list[int] | None:
    """Which of its devices the rank `mine` of a node uses, by their place; `devices` has those of all ranks of the node. None: all,
    because no other rank has the same ones."""
    sharing = [rank for rank, every in enumerate(devices) if list(every) == list(devices[mine])]
    count = len(devices[mine])
    if count < 2 or len(sharing) < 2:
        return None
    place, each = sharing.index(mine), count // len(sharing)
    if each == 0:
        return [place % count]
    return list(range(place * each, (place + 1) * each))

