"""muster's errors as exceptions."""


class Error(RuntimeError):
    """What muster refuses or finds out. `code`: its stable name ("peer_lost"); `message`: what, naming its subject; `hint`: what
    to do about it, may be empty; `exit_status`: what muster's own commands exit with for it."""

    code = "unknown"

    def __init__(self, message, hint="", exit_status=70):
        super().__init__(f"{message} ({hint})" if hint else message)
        self.message = message
        self.hint = hint
        self.exit_status = exit_status

    def __reduce__(self):
        return type(self), (self.message, self.hint, self.exit_status)


def _kind(name, code, meaning):
    """A class of errors. Users import it from muster, and so tracebacks and pickles call it."""
    return type(name, (Error,), {"__doc__": meaning, "__module__": "muster", "code": code})


Error.__module__ = "muster"
UsageError = _kind("UsageError", "usage", "The caller's mistake; the group is none the worse for it.")
NotLaunched = _kind("NotLaunched", "not_launched", "An allocation, but this process was not launched as one of its ranks.")
BadEnvironment = _kind("BadEnvironment", "bad_environment", "A malformed or contradictory environment.")
PeerLost = _kind("PeerLost", "peer_lost", "Another rank died, left early or fell silent.")
InternalError = _kind("InternalError", "internal", "A bug in muster.")
SystemFailure = _kind("SystemFailure", "system", "The operating system refused.")
DeadlineExceeded = _kind("DeadlineExceeded", "deadline", "Time ran out; who is missing is in the message.")
Disagreement = _kind("Disagreement", "disagreement", "Ranks disagree: world size, configuration, collective.")
AuthenticationFailed = _kind("AuthenticationFailed", "authentication", "A peer could not prove who it is, or what it sent was changed on the way.")
BadConfiguration = _kind("BadConfiguration", "configuration", "Bad YAML, setting or MUSTER_* value.")
WorkFailed = _kind("WorkFailed", "work_failed", "All programs exited with 0, but a file of run.expect is missing.")

# By the numbers of muster.h.
_CLASSES = [
    None,
    UsageError,
    NotLaunched,
    BadEnvironment,
    PeerLost,
    InternalError,
    SystemFailure,
    DeadlineExceeded,
    Disagreement,
    AuthenticationFailed,
    BadConfiguration,
    WorkFailed,
]


def of_library(library, pointer):
    """The exception for a muster_error, which it frees."""
    try:
        number = library.muster_error_code(pointer)
        known = _CLASSES[number] if 0 < number < len(_CLASSES) else Error
        return known(
            library.muster_error_message(pointer).decode(errors="replace"),
            library.muster_error_hint(pointer).decode(errors="replace"),
            library.muster_exit_status(number),
        )
    finally:
        library.muster_error_free(pointer)


def usage(message, hint=""):
    return UsageError(message, hint, 64)
