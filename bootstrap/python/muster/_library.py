"""libmuster: its path, and its functions (bootstrap/c/muster.h)."""

from __future__ import annotations

import ctypes
import os

from ._errors import UsageError

# The version of muster.h that this module uses.
ABI_VERSION = 3

# As it is installed, and as Bazel builds it.
NAMES = ["libmuster.so.0", "libmuster.so"]

_Pointer = ctypes.c_void_p
_Size = ctypes.c_size_t
_Time = ctypes.c_int64
_Int = ctypes.c_int
_Text = ctypes.c_char_p


class Options(ctypes.Structure):
    _fields_ = [
        ("config_file", _Text),
        ("settings", ctypes.POINTER(_Text)),
        ("number_of_settings", _Size),
    ]


MAP_END = 2**64 - 1
MAP_LISTED = 10


class MapOptions(ctypes.Structure):
    _fields_ = [
        ("items", ctypes.c_uint64),
        ("keys_digest", _Text),
        ("work", _Text),
        ("journal", _Text),
        ("retries", _Int),
        ("timeout_ns", _Time),
        ("retry_given_up", _Int),
        ("slots", _Int),
        ("classes", _Text),
        ("quiet", _Int),
    ]


class MapOutcome(ctypes.Structure):
    _fields_ = [
        ("items", ctypes.c_uint64),
        ("committed", ctypes.c_uint64),
        ("given_up", ctypes.c_uint64),
        ("resumed", ctypes.c_uint64),
        ("second_commits", ctypes.c_uint64),
        ("time_is_up", _Int),
        ("first_rank", _Int),
        ("listed", _Size),
        ("listed_items", ctypes.c_uint64 * MAP_LISTED),
    ]


class MapRecord(ctypes.Structure):
    _fields_ = [
        ("item", ctypes.c_uint64),
        ("key", _Text),
        ("given_up", _Int),
        ("rank", _Int),
        ("node", _Text),
        ("attempts", ctypes.c_uint32),
        ("took_ns", _Time),
        ("format", _Int),
        ("data", _Pointer),
        ("size", _Size),
    ]


# The result and the arguments of a function; _Pointer as a result is an error.
_FUNCTIONS: dict[str, tuple[type | None, list[type]]] = {
    "muster_abi_version": (ctypes.c_uint32, []),
    "muster_version": (_Text, []),
    "muster_error_code": (_Int, [_Pointer]),
    "muster_error_message": (_Text, [_Pointer]),
    "muster_error_hint": (_Text, [_Pointer]),
    "muster_error_free": (None, [_Pointer]),
    "muster_exit_status": (_Int, [_Int]),
    "muster_init": (_Pointer, [ctypes.c_uint32, ctypes.POINTER(Options), ctypes.POINTER(_Pointer)]),
    "muster_shutdown": (_Pointer, []),
    "muster_abandon": (None, [_Text]),
    "muster_log": (None, [_Int, _Text]),
    "muster_rank": (_Int, [_Pointer]),
    "muster_size": (_Int, [_Pointer]),
    "muster_local_rank": (_Int, [_Pointer]),
    "muster_local_size": (_Int, [_Pointer]),
    "muster_node_rank": (_Int, [_Pointer]),
    "muster_num_nodes": (_Int, [_Pointer]),
    "muster_node_of": (_Int, [_Pointer, _Int]),
    "muster_node_name": (_Text, [_Pointer, _Int]),
    "muster_node_address": (_Text, [_Pointer, _Int, _Int]),
    "muster_group_id": (_Text, [_Pointer]),
    "muster_backend": (_Text, [_Pointer]),
    "muster_launcher": (_Text, []),
    "muster_job_key": (_Text, []),
    "muster_collective_timeout_ns": (_Time, []),
    "muster_split": (_Pointer, [_Pointer, _Int, _Int, _Time, ctypes.POINTER(_Pointer)]),
    "muster_comm_free": (None, [_Pointer]),
    "muster_barrier": (_Pointer, [_Pointer, _Time]),
    "muster_broadcast": (_Pointer, [_Pointer, _Pointer, _Size, _Int, _Int, _Time]),
    "muster_reduce": (_Pointer, [_Pointer, _Pointer, _Pointer, _Size, _Int, _Int, _Int, _Time]),
    "muster_all_reduce": (_Pointer, [_Pointer, _Pointer, _Pointer, _Size, _Int, _Int, _Time]),
    "muster_gather": (_Pointer, [_Pointer, _Pointer, _Pointer, _Size, _Int, _Int, _Time]),
    "muster_all_gather": (_Pointer, [_Pointer, _Pointer, _Pointer, _Size, _Int, _Time]),
    "muster_scatter": (_Pointer, [_Pointer, _Pointer, _Pointer, _Size, _Int, _Int, _Time]),
    "muster_reduce_scatter": (_Pointer, [_Pointer, _Pointer, _Pointer, _Size, _Int, _Int, _Time]),
    "muster_all_to_all": (_Pointer, [_Pointer, _Pointer, _Pointer, _Size, _Int, _Time]),
    "muster_send": (_Pointer, [_Pointer, _Pointer, _Size, _Int, _Int, _Time]),
    "muster_recv": (_Pointer, [_Pointer, _Pointer, _Size, _Int, _Int, _Time]),
    "muster_parts_count": (_Size, [_Pointer]),
    "muster_parts_size": (_Size, [_Pointer, _Size]),
    "muster_parts_data": (_Pointer, [_Pointer, _Size]),
    "muster_parts_free": (None, [_Pointer]),
    "muster_gather_bytes": (_Pointer, [_Pointer, _Pointer, _Size, _Int, _Time, ctypes.POINTER(_Pointer)]),
    "muster_all_gather_bytes": (_Pointer, [_Pointer, _Pointer, _Size, _Time, ctypes.POINTER(_Pointer)]),
    "muster_broadcast_bytes": (_Pointer, [_Pointer, _Pointer, _Size, _Int, _Time, ctypes.POINTER(_Pointer)]),
    "muster_map_begin": (_Pointer, [_Pointer, ctypes.POINTER(MapOptions), ctypes.POINTER(_Pointer)]),
    "muster_map_next": (_Pointer, [_Pointer, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint32)]),
    "muster_map_commit": (_Pointer, [_Pointer, ctypes.c_uint64, _Text, _Int, _Text, _Size, _Time]),
    "muster_map_fail": (_Pointer, [_Pointer, ctypes.c_uint64, _Text, _Text, _Time]),
    "muster_map_give_back": (_Pointer, [_Pointer, ctypes.c_uint64]),
    "muster_map_stop": (None, [_Pointer]),
    "muster_map_finish": (_Pointer, [_Pointer, ctypes.POINTER(MapOutcome)]),
    "muster_map_read": (_Pointer, [_Pointer, ctypes.c_uint64, ctypes.c_uint64, ctypes.POINTER(_Pointer)]),
    "muster_map_records_count": (_Size, [_Pointer]),
    "muster_map_records_get": (_Int, [_Pointer, _Size, ctypes.POINTER(MapRecord)]),
    "muster_map_records_free": (None, [_Pointer]),
    "muster_map_free": (None, [_Pointer]),
}


_HERE = os.path.dirname(os.path.abspath(__file__))


def _open() -> tuple[ctypes.CDLL, str]:
    """Beside this file, else on the loader's path (LD_LIBRARY_PATH, ld.so.conf)."""
    beside = [os.path.join(_HERE, name) for name in NAMES]
    errors = []
    for path in [path for path in beside if os.path.exists(path)] or NAMES:
        try:
            return ctypes.CDLL(path), path
        except OSError as error:
            errors.append(str(error))
    if any(os.path.exists(path) for path in beside):
        hint = "install the wheel into a directory whose file system allows execution (no noexec), on a system with glibc"
        raise UsageError(f"libmuster cannot be loaded: {'; '.join(errors)}", hint)
    raise UsageError(
        f"libmuster cannot be loaded: {'; '.join(errors)}",
        f"install the wheel, or set LD_LIBRARY_PATH to the folder of {' or '.join(NAMES)}",
    )


def load() -> ctypes.CDLL:
    """The library. Raises UsageError if it is missing or older than this module."""
    library, path = _open()
    library.muster_abi_version.restype = ctypes.c_uint32
    version = library.muster_abi_version()
    if version < ABI_VERSION:
        raise UsageError(
            f"{path} has version {version} of muster's C interface, and this Python module needs {ABI_VERSION}",
            "install both from the same release of muster",
        )
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
