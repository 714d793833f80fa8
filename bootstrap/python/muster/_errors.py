"""muster's errors as exceptions."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

class Error(RuntimeError):
    """A failure that muster reports.

    code         its stable name, "peer_lost"
    message      one sentence that names its subject: rank, node, variable, path or timeout
    hint         the remedy; may be empty
    exit_status  the exit status of muster's own commands for it
    """

    code: ClassVar[str] = "unknown"
    exit_status: int = 70

    def __init_subclass__(cls, *, code: str | None = None, exit_status: int | None = None, **others: Any) -> None:
        super().__init_subclass__(**others)
        cls.code = code or cls.code
        cls.exit_status = exit_status or cls.exit_status

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.message = message
        self.hint = hint


class UsageError(Error, code="usage", exit_status=64):
    """A mistake of the caller; the group is not affected."""


class NotLaunchedError(Error, code="not_launched", exit_status=64):
    """There is an allocation, but this process was not launched as one of its ranks."""


class BadEnvironmentError(Error, code="bad_environment", exit_status=65):
    """The launcher's environment variables are malformed or contradict each other."""


class PeerLostError(Error, code="peer_lost", exit_status=69):
    """Another rank exited early, was killed or stopped responding."""


class InternalError(Error, code="internal", exit_status=70):
    """A bug in muster."""


class OperatingSystemError(Error, code="system", exit_status=71):
    """The operating system refused a call."""


class DeadlineError(Error, TimeoutError, code="deadline", exit_status=75):
    """A timeout passed; the message names the missing ranks."""


class DisagreementError(Error, code="disagreement", exit_status=76):
    """Ranks disagree: world size, configuration or collective."""


class AuthenticationError(Error, code="authentication", exit_status=77):
    """A peer did not authenticate, or data was changed between two nodes."""


class ConfigurationError(Error, code="configuration", exit_status=78):
    """A bad YAML file, setting or MUSTER_* variable."""


class WorkFailedError(Error, code="work_failed", exit_status=79):
    """Programs exited with 0, but their work is not done (run.expect), or items of a map were given up."""


@dataclasses.dataclass(frozen=True)
class FailedItem:
    """An item of a map that was given up.

    index     its position in `items`; with batch_size the first of its batch
    key       the item's key
    reason    of the last try: a line, and a traceback if there is one
    attempts  tries, the first included
    rank      the rank of the last try
    node      its node
    """

    index: int
    key: str
    reason: str
    attempts: int
    rank: int
    node: str

    def __str__(self) -> str:
        line = self.reason.partition("\n")[0]
        return f"item {self.index} ({self.key}) on rank {self.rank} on {self.node}: {line}"


class MapError(WorkFailedError):
    """Items of a map failed on every try, and were given up. The program that does not catch it exits with 79.

    results  of all items; None for those that were given up. Of `map_items`: None
    failed   the items that were given up; for `map_items` the first 10
    """

    def __init__(
        self, message: str, hint: str = "", *, results: list[Any] | None = None, failed: Sequence[FailedItem] = ()
    ) -> None:
        super().__init__(message, hint)
        self.results = results
        self.failed = list(failed)


class TimeIsUpError(Error, code="time_is_up", exit_status=80):
    """The job ends soon, and items of a map are left for the next run. The program that does not catch it exits with 80.

    left  how many
    """

    def __init__(self, message: str, hint: str = "", *, left: int = 0) -> None:
        super().__init__(message, hint)
        self.left = left


# By the numbers of muster.h, from 1.
KINDS: list[type[Error]] = [
    UsageError,
    NotLaunchedError,
    BadEnvironmentError,
    PeerLostError,
    InternalError,
    OperatingSystemError,
    DeadlineError,
    DisagreementError,
    AuthenticationError,
    ConfigurationError,
    WorkFailedError,
]

# Users import them from muster; tracebacks and pickles use the same name.
for _kind in [Error, *KINDS, MapError, TimeIsUpError, FailedItem]:
    _kind.__module__ = "muster"


def of_library(library: ctypes.CDLL, pointer: int) -> Error:
    """The exception for a muster_error, which it frees."""
    try:
        number = library.muster_error_code(pointer)
        kind = KINDS[number - 1] if 0 < number <= len(KINDS) else Error
        error = kind(
            library.muster_error_message(pointer).decode(errors="replace"),
            library.muster_error_hint(pointer).decode(errors="replace"),
        )
        error.exit_status = library.muster_exit_status(number)
        return error
    finally:
        library.muster_error_free(pointer)
