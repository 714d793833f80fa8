"""The exit status of a program that does not catch the end of a map: 79 or 80, as muster's commands have it."""

from __future__ import annotations

import sys
from types import TracebackType

from . import _world
from ._errors import Error, MapError, TimeIsUpError

_installed = False


def install() -> None:
    """Once, before the hook that is there."""
    global _installed
    if _installed:
        return
    _installed = True
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if not isinstance(error, (MapError, TimeIsUpError)) or hasattr(sys, "ps1") or sys.flags.interactive:
            before(kind, error, traceback)
            return
        if isinstance(error, TimeIsUpError):
            _end_in_order(error)
        else:
            before(kind, error, traceback)
        # Python's own way from here to an exit status.
        raise SystemExit(error.exit_status)

    hook.of_muster = True  # type: ignore[attr-defined]
    sys.excepthook = hook


def _end_in_order(error: TimeIsUpError) -> None:
    """The end of the time is no mistake of the program: one line of rank 0, and no failure of the group."""
    try:
        if _world.is_initialized():
            if _world.world().rank == 0:
                _world.log(_world.INFO, str(error))
            if not _world.process().stuck:
                _world.shutdown()
    except Error:
        pass
