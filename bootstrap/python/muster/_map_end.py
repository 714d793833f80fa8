"""The end of a map: its results, and the errors for items without one."""

from __future__ import annotations

import os
from typing import Any, Union

from . import _library, _results, _world
from ._errors import FailedItem, MapError, PeerLostError, TimeIsUpError, UsageError
from ._map_plan import Plan
from ._map_queue import MapOutcome, Queue

Journal = Union[str, "os.PathLike[str]", None]

# Records that are read at a time.
_READ = 256


def read(queue: Queue, plan: Plan[Any]) -> tuple[list[Any], list[FailedItem]]:
    results: list[Any] = [None] * plan.total
    failed = []
    for first in range(0, plan.count, _READ):
        for record in queue.read(first, min(_READ, plan.count - first)):
            where = plan.where(record.item)
            if record.given_up:
                failed.append(_failed_item(plan, record))
                continue
            try:
                value = _results.decode(record.format, record.data)
            except Exception as error:
                raise UsageError(f"the result of item {where.start} ({record.key}) cannot be loaded: {error}") from error
            if plan.batch_size is None:
                results[where.start] = value
            else:
                results[where.start : where.stop] = value
    return results, failed


def _failed_item(plan: Plan[Any], record: Any) -> FailedItem:
    number: int = record.item
    key = plan.keys[number].decode()
    reason = record.data.decode(errors="replace")
    return FailedItem(plan.where(number).start, key, reason, record.attempts, record.rank, record.node)


def raise_if_time_is_up(outcome: MapOutcome, plan: Plan[Any], journal: Journal) -> None:
    if outcome.time_is_up:
        raise TimeIsUpError(
            f"the job ends soon: {outcome.left} of {outcome.items} {plan.unit} are left",
            "pass journal=, so that the next run goes on from there"
            if journal is None
            else "start it again with the same journal: it continues from there",
            left=outcome.left,
        )


def raise_if_lost(queue: Queue, journal: Journal) -> None:
    """Its rank was lost while the map went on: without this, the program ends with 0 and has saved nothing."""
    if queue.first_rank > 0:
        raise PeerLostError(
            "rank 0 is lost: no rank has the results of the map",
            "pass journal=, so that the next run has them" if journal is None else "start it again: the journal has them",
        )


def raise_if_failed(queue: Queue, plan: Plan[Any], journal: Journal) -> None:
    """On one rank, without the results: rank 0 unless it is lost."""
    outcome = queue.finish()
    if outcome.given_up == 0 or _world.world().rank != queue.first_rank:
        return
    failed = [_failed_item(plan, record) for number in sorted(queue.listed) for record in queue.read(number, 1)]
    raise map_error(outcome, plan, journal, failed, None)


def map_error(
    outcome: MapOutcome, plan: Plan[Any], journal: Journal, failed: list[FailedItem], results: list[Any] | None
) -> MapError:
    lines = [f"\n  {one}" for one in failed[: _library.MAP_LISTED]]
    more = outcome.given_up - len(lines)
    rest = f"\n  and {more} more" if more else ""
    hint = "" if journal is None else "retry_failed=True tries them again"
    message = f"{outcome.given_up} of {outcome.items} {plan.unit} of the map were given up:{''.join(lines)}{rest}\n"
    return MapError(message if hint else message.rstrip(), hint, results=results, failed=failed)
