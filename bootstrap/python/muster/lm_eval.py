"""lm-eval on all ranks, as one process: python -m muster.lm_eval ARGUMENTS OF lm-eval

    srun muster run -- python -m muster.lm_eval --model hf --model_args pretrained=NAME --tasks TASKS --batch_size 8 --output_path out

Rank 0 runs lm-eval, which finds one process. The model is on every rank; whichever is free does the next batch of requests. The
batches are cut once, as the model cuts them in one process: scores and samples do not depend on the number of ranks. A rank that
ends gives its batch to another.

    --muster_journal DIR    keep the results of all batches there: the next run with the same model and requests does what is left
    --muster_retries N      tries after the first, before a batch is given up; default: 2
    --muster_retry_failed   try again what an earlier run gave up

Exit status: lm-eval's; 79: batches were given up; 80: the job ends soon, start it again with the same journal.

A program that registers a model of its own calls `main()` instead. Every rank must have the whole model: tensor parallelism over
several ranks is not supported.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from typing import Any, Callable

from ._dispatch import Ranks, Settings, in_pieces
from ._errors import UsageError
from ._harness import ModelOfAllRanks, alone, new_call, quiet, run_harness, run_program, seed, seeds, work_of

# Requests of a batch if the model itself cuts none, as vLLM does.
_PIECE = 128

# (arguments, index, metadata) of lm-eval's Instance; its document stays on rank 0.
_Request = tuple[Any, int, Any]


def main() -> None:
    """lm-eval's command line, from sys.argv. Every rank calls it."""
    run_harness(_import_harness, _run_harness, _begin)


def _import_harness() -> None:
    try:
        import lm_eval
    except ImportError as error:
        raise UsageError(f"lm-eval cannot be imported: {error}", "pip install lm-eval") from error
    if not callable(getattr(_registry(), "get_model", None)):
        raise UsageError(f"lm-eval {getattr(lm_eval, '__version__', '')} has no lm_eval.api.registry.get_model")


def _registry() -> Any:
    import lm_eval.api.registry

    return lm_eval.api.registry


def _run_harness(ranks: Ranks, settings: Settings) -> None:
    from lm_eval.__main__ import cli_evaluate

    registry = _registry()
    own = registry.get_model

    def get_model(name: str) -> _Factory:
        return _Factory(own(name), name, ranks, settings)

    registry.get_model = get_model
    try:
        cli_evaluate()
    finally:
        registry.get_model = own


# ---- rank 0


class _Factory:
    """The model's class, as simple_evaluate uses it."""

    def __init__(self, kind: Any, name: str, ranks: Ranks, settings: Settings) -> None:
        self._kind = kind
        self._name = name
        self._ranks = ranks
        self._settings = settings

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kind, name)

    def create_from_arg_obj(self, arguments: Any, more: Any = None) -> Dispatcher:
        return self._create("create_from_arg_obj", arguments, more)

    def create_from_arg_string(self, arguments: Any, more: Any = None) -> Dispatcher:
        return self._create("create_from_arg_string", arguments, more)

    def _create(self, how: str, arguments: Any, more: Any) -> Dispatcher:
        import lm_eval

        # The others load theirs meanwhile.
        self._ranks.announce((self._name, how, arguments, more, seeds()))
        model = getattr(self._kind, how)(arguments, more)
        work = work_of(f"lm-eval {getattr(lm_eval, '__version__', '')} {self._name}", [arguments], more)
        return Dispatcher(model, work, self._ranks, self._settings)


class Dispatcher(ModelOfAllRanks):
    def set_cache_hook(self, hook: Any) -> None:
        """With a journal the cache gets the results when all are there: results that were in it before would be left out of the
        requests,
        and the journal be another's."""
        if self._settings.journal is None:
            self._model.set_cache_hook(hook)

    def loglikelihood(self, requests: list[Any], **_: Any) -> list[Any]:
        return self._dispatch("loglikelihood", requests)

    def loglikelihood_rolling(self, requests: list[Any], **_: Any) -> list[Any]:
        return self._dispatch("loglikelihood_rolling", requests)

    def generate_until(self, requests: list[Any], **_: Any) -> list[Any]:
        return self._dispatch("generate_until", requests)

    def _dispatch(self, method: str, requests: list[Any]) -> list[Any]:
        if not requests:
            return []
        size = _batch_size(self._model)
        batches = cut(self._model, method, requests, size)
        sent = [_sent(request) for request in requests]
        call = new_call(method, f"{self._work} batch_size={size}", self._settings, batches, requests, sent)
        results: list[Any] = [None] * len(requests)
        every = self._ranks.call(call, _worker(self._model, size))
        for batch, answers in zip(batches, every):
            for i, answer in zip(batch, answers):
                results[i] = answer
        return results


def _batch_size(model: Any) -> int | str | None:
    """`auto` of Hugging Face models is found here, once: found by each rank, batches would depend on it."""
    size = getattr(model, "batch_size", None)
    if size == "auto" and hasattr(model, "_detect_batch_size") and hasattr(model, "batch_size_per_gpu"):
        size = model.batch_size_per_gpu = int(model._detect_batch_size())
        logging.getLogger(__name__).info("batch size of all ranks: %d", size)
    return size


def _sent(request: Any) -> _Request:
    return request.arguments, request.idx, request.metadata


# ---- batches


class _Cut(Exception):
    def __init__(self, collator: Any, size: int) -> None:
        super().__init__()
        self.collator = collator
        self.size = size


def cut(model: Any, method: str, requests: list[Any], batch_size: Any = None) -> list[list[int]]:
    """The requests in batches, by number, each in its order: as the model cuts them. Each rank's model then finds a batch of its own
    size, and cuts it no further: its arithmetic is that of one process."""
    size = int(batch_size) if str(batch_size).isdigit() and int(batch_size) > 0 else _PIECE
    found = None if method == "loglikelihood_rolling" else _collator(model, method, requests)
    if found is None:
        return in_pieces(range(len(requests)), size)
    try:
        groups = _groups(found.collator)
    except (AttributeError, TypeError, ValueError, IndexError):
        groups = []
    if sorted(i for part in groups for group in part for i in group) != list(range(len(requests))):
        return in_pieces(range(len(requests)), size)
    batches = []
    for part in groups:
        for chunk in in_pieces(range(len(part)), found.size or size):
            batches.append(sorted(i for place in chunk for i in part[place]))
    return batches


def _collator(model: Any, method: str, requests: list[Any]) -> _Cut | None:
    """The model's call until it cuts its batches; nothing is computed. None: it cuts none that way."""
    import lm_eval.models.utils as utils

    kind: Any = getattr(utils, "Collator", None)
    own = getattr(kind, "get_batched", None)
    # Else the call would compute.
    if own is None or not any(_uses(base, kind) for base in type(model).__mro__):
        return None

    def get_batched(self: Any, n: Any = 1, batch_fn: Any = None) -> Iterator[Any]:
        raise _Cut(self, n if isinstance(n, int) and batch_fn is None else 0)

    kind.get_batched = get_batched
    try:
        with quiet():
            getattr(model, method)(requests)
    except _Cut as found:
        return found
    finally:
        kind.get_batched = own
    return None


def _uses(kind: type, collator: Any) -> bool:
    return getattr(sys.modules.get(kind.__module__), "Collator", None) is collator


def _groups(collator: Any) -> list[list[list[int]]]:
    """As Collator.get_batched has them: parts that share no batch, of groups that do not come apart, of requests."""
    entries = collator._arr_with_indices
    if collator._group_by == "gen_kwargs":
        return [[[i] for i, _ in sorted(values, key=collator._sort_fn)] for values in entries.values()]
    if collator._group_by == "contexts":
        # The one whose continuation is the longest is computed, for all of its group.
        chosen = [(max(values, key=lambda x: len(x[1][-1])), values) for values in entries.values()]
        chosen.sort(key=lambda pair: collator._sort_fn(pair[0]))
        return [[[i for i, _ in values] for _, values in chosen]]
    return [[[i] for i, _ in sorted(entries, key=collator._sort_fn)]]


# ---- every rank


def _begin(announced: Any) -> Callable[[str, list[Any], str], list[Any]]:
    """The same model as rank 0's."""
    name, how, arguments, more, state = announced
    seed(state)
    model = getattr(_registry().get_model(name), how)(arguments, more)
    return _worker(model, None)


def _worker(model: Any, size: Any) -> Callable[[str, list[Any], str], list[Any]]:
    """Does one batch; with progress bars for none: that of the map is for all ranks."""
    from lm_eval.api.instance import Instance

    # "auto" would be found anew for each batch: a batch is what its size is.
    whole = size is None and getattr(model, "batch_size", None) == "auto" and hasattr(model, "batch_size_per_gpu")

    def work(method: str, batch: list[_Request], key: str) -> list[Any]:
        requests = [Instance(method, {}, arguments, index, metadata) for arguments, index, metadata in batch]
        if whole:
            model.batch_size_per_gpu = len(requests)
        samples = method == "generate_until" and any(_samples(arguments) for arguments, _, _ in batch)
        with alone(samples, key):
            return list(getattr(model, method)(requests))

    return work


def _samples(arguments: Any) -> bool:
    settings = arguments[1] if isinstance(arguments, tuple) and len(arguments) > 1 else None
    return isinstance(settings, dict) and bool(settings.get("do_sample"))


if __name__ == "__main__":
    run_program("muster.lm_eval", main)
