"""The common part of the harnesses' modules: keys of requests, seeds, progress bars, GPUs, and the end of a rank."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Callable

from . import _world
from ._dispatch import BrokenRankError, Call, Ranks, Settings, digest_of, hide_the_group, only_once, own_devices, take_settings
from ._errors import PeerLostError, UsageError


def run_program(name: str, main: Callable[[], None]) -> None:
    """As python -m NAME."""
    try:
        main()
    except UsageError as error:
        print(f"{name}: {error}", file=sys.stderr)
        raise SystemExit(error.exit_status) from error


def run_harness(
    load: Callable[[], None], run: Callable[[Ranks, Settings], BaseException | None], begin: Callable[[Any], Any]
) -> None:
    """The harness's command line, from sys.argv. Rank 0 runs it, and the other ranks serve. `run` returns an error that the
    harness has swallowed."""
    settings = take_settings(sys.argv)
    ranks = Ranks()
    take_own_gpus()
    hide_the_group(os.environ)
    load()
    if not ranks.is_root:
        try:
            return ranks.serve(begin)
        except PeerLostError as lost:
            _world.log(_world.ERROR, str(lost))
            raise SystemExit(lost.exit_status) from None
    try:
        swallowed = run(ranks, settings)
    finally:
        ranks.end()
    error = ranks.error or swallowed
    if error is not None:
        raise error


class ModelOfAllRanks:
    """Stands for the model in the harness: its requests go to the models of all ranks; for all else it is the model of rank 0."""

    rank = 0
    world_size = 1

    def __init__(self, model: Any, work: str, ranks: Ranks, settings: Settings) -> None:
        self._model = model
        self._work = work
        self._ranks = ranks
        self._settings = settings

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def work_of(title: str, chosen: list[Any], more: Any) -> str:
    """The model and what its results depend on; not its device."""
    kept = {key: value for key, value in (more or {}).items() if key != "device" and value is not None}
    return f"{title} {text_of([*chosen, kept, seeds()[2]])}"


# ---- requests


def new_call(
    method: str, work: str, settings: Settings, batches: list[list[int]], requests: Sequence[Any], sent: Sequence[Any]
) -> Call:
    """The batches are of numbers of `requests`; `sent` are those for the other ranks. Each call has a journal of its own."""
    keys = list(only_once(key_of([requests[i] for i in batch]) for batch in batches))
    journal = settings.journal
    if journal is not None:
        journal = os.path.join(journal, f"{method}-{digest_of(keys)}")
        _make_directory(os.path.dirname(journal))
    return Call(
        method, work, keys, [[sent[i] for i in batch] for batch in batches], journal, settings.retries, settings.retry_failed
    )


def _make_directory(path: str) -> None:
    """With its parents, but not behind a link of another user: the journal refuses that path, and names the link."""
    if all(_is_trusted(part) for part in (path, *map(str, pathlib.Path(path).parents)) if os.path.islink(part)):
        os.makedirs(path, exist_ok=True)


def _is_trusted(link: str) -> bool:
    """It belongs to this user, to root, or to the owner of its directory, which not every user may write."""
    owner, holder = os.lstat(link).st_uid, os.stat(os.path.dirname(link))
    return owner in (0, os.geteuid()) or (owner == holder.st_uid and not holder.st_mode & stat.S_IWOTH)


def key_of(requests: list[Any]) -> str:
    """Of a batch: its first request, how many follow, and a digest of all of them."""
    first = requests[0]
    more = f" +{len(requests) - 1}" if len(requests) > 1 else ""
    texts = [text_of([one.task_name, one.doc_id, one.idx, one.args]) for one in requests]
    return f"{first.task_name}/{first.doc_id}/{first.idx}{more} {digest_of(texts)}"


def text_of(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=_content)


def _content(value: Any) -> Any:
    """Types that JSON lacks: pictures, arrays and tensors by their bytes."""
    if isinstance(value, (bytes, bytearray)):
        return digest_of([value.hex()])
    if hasattr(value, "tobytes"):
        return [str(getattr(value, "size", "")), digest_of([value.tobytes().hex()])]
    if hasattr(value, "numpy"):
        return digest_of([value.numpy().tobytes().hex()])
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return type(value).__qualname__


# ---- a batch


@contextlib.contextmanager
def alone(samples: bool, key: str) -> Iterator[None]:
    """For a batch: no progress bars, a failed device is distinguished from a failed batch, and nothing depends on the rank."""
    try:
        with quiet(), _drawing(key) if samples else contextlib.nullcontext():
            yield
    except Exception as error:
        if _is_broken(error):
            raise BrokenRankError(f"its device has failed: {_first_line(error)}") from error
        raise


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


def _is_broken(error: BaseException) -> bool:
    """Every further call on the device fails as well; running out of memory is none of it."""
    return type(error).__name__ == "AcceleratorError" or "CUDA error:" in str(error)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the model's own progress bars."""
    module = sys.modules.get("tqdm")
    if module is None:
        yield
        return
    kind: Any = module.tqdm
    own = kind.__init__

    def init(self: Any, *words: Any, **more: Any) -> None:
        more["disable"] = True
        own(self, *words, **more)

    kind.__init__ = init
    try:
        yield
    finally:
        kind.__init__ = own


@contextlib.contextmanager
def _drawing(key: str) -> Iterator[None]:
    """Random numbers depend on the batch, and neither on its rank nor on earlier batches of it."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        yield
        return
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices):
        torch.manual_seed((torch.initial_seed() ^ int(digest_of([key]), 16)) % 2**63)
        yield


Seeds = tuple[Any, Any, Any]


def seeds() -> Seeds:
    """As simple_evaluate has left them: of random, numpy and torch."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    return random.getstate(), numpy and numpy.random.get_state(), torch and torch.initial_seed()


def seed(state: Seeds) -> None:
    random.setstate(state[0])
    if state[1] is not None:
        import numpy

        numpy.random.set_state(state[1])
    if state[2] is not None:
        import torch

        torch.manual_seed(state[2])


# ---- GPUs


def take_own_gpus() -> None:
    """If ranks of a node have the same GPUs, each uses its part of them. Every rank calls it, before CUDA is used."""
    world = _world.world()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    mine = _gpus(visible)
    if world.size == 1:
        return
    every = world.all_gather((world.node_rank, mine))
    here = [rank for rank, (node, _) in enumerate(every) if node == world.node_rank]
    own = own_devices(here.index(world.rank), [every[rank][1] for rank in here])
    if own is None:
        return
    names = visible.split(",") if visible else [str(i) for i in range(len(mine))]
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(names[i] for i in own)


def _gpus(visible: str | None) -> list[str]:
    """The GPUs of this rank, by a name that is theirs on the whole node."""
    try:
        command = ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    found = [line.strip() for line in done.stdout.splitlines() if line.startswith("GPU-")]
    if visible is None:
        return found
    chosen = []
    for name in filter(None, (word.strip() for word in visible.split(","))):
        if name.isdigit() and int(name) < len(found):
            chosen.append(found[int(name)])
        else:
            chosen.append(name)
    return chosen
