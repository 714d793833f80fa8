"""Memory of the caller as the library takes it: address, elements, type."""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING, Any, Literal, Protocol, Union

from ._errors import UsageError

if TYPE_CHECKING:
    from typing_extensions import Buffer, TypeGuard


class Tensor(Protocol):
    """The part of torch.Tensor that muster reads."""

    @property
    def device(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    def data_ptr(self) -> int: ...
    def element_size(self) -> int: ...
    def is_conj(self) -> bool: ...
    def is_contiguous(self) -> bool: ...
    def is_neg(self) -> bool: ...
    def numel(self) -> int: ...


class Array(Protocol):
    """A numpy array, to type checkers: before Python 3.12 its stubs do not have the buffer protocol, which muster uses."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


# Contiguous host memory: bytearray, array.array, memoryview, numpy arrays, PyTorch tensors on the CPU.
Memory = Union["Buffer", Array, Tensor]
Operation = Literal["sum", "prod", "min", "max", "avg"]

# Of muster.h.
I8, U8, I32, I64, U64, F16, BF16, F32, F64 = range(9)
OPERATIONS: dict[str, int] = {"sum": 0, "prod": 1, "min": 2, "max": 3, "avg": 4}

# A sum of bool is "or", and a product is "and", as in PyTorch.
_OF_BOOL = {"sum": "max", "prod": "min"}

# Letters of the struct module, with the bytes of an element.
_FORMATS = {
    ("b", 1): I8,
    ("B", 1): U8,
    ("?", 1): U8,
    ("c", 1): U8,
    ("i", 4): I32,
    ("l", 4): I32,
    ("l", 8): I64,
    ("q", 8): I64,
    ("n", 8): I64,
    ("L", 8): U64,
    ("Q", 8): U64,
    ("N", 8): U64,
    ("e", 2): F16,
    ("f", 4): F32,
    ("d", 8): F64,
}

# Letters of the buffer protocol for objects of Python, pointers and functions; names of fields stand between colons.
_POINTERS = frozenset("OPXz&")
_FIELD_NAME = re.compile(":[^:]*:")

_TENSORS = {
    "torch.int8": I8,
    "torch.uint8": U8,
    "torch.bool": U8,
    "torch.int32": I32,
    "torch.int64": I64,
    "torch.uint64": U64,
    "torch.float16": F16,
    "torch.bfloat16": BF16,
    "torch.float32": F32,
    "torch.float64": F64,
}

_WRITABLE, _FORMAT, _C_CONTIGUOUS = 0x1, 0x4, 0x38


class _View(ctypes.Structure):
    """Py_buffer of CPython."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


# Prototypes of their own: those of pythonapi belong to all modules of the process.
_get_buffer = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_View), ctypes.c_int)(
    ("PyObject_GetBuffer", ctypes.pythonapi)
)
_release = ctypes.PYFUNCTYPE(None, ctypes.POINTER(_View))(("PyBuffer_Release", ctypes.pythonapi))
_copy = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)(
    ("PyBytes_FromStringAndSize", ctypes.pythonapi)
)


def copied(address: int, size: int) -> bytes:
    """The bytes there. The size of ctypes.string_at is a C int: it refuses 2 GiB, and cuts what is longer than 4 GiB."""
    copy: bytes = _copy(address, size)
    return copy


class Region:
    """`size` bytes at `address`: `count` elements of the type `name`. `type` is its number, None if muster cannot compute with it.
    Valid while this object lives."""

    def __init__(
        self, address: int | None, size: int, itemsize: int, type_: int | None, name: str, owner: object
    ) -> None:
        self.address = address
        self.size = size
        self.itemsize = itemsize
        self.count = size // itemsize if itemsize else 0
        self.type = type_
        self.name = name
        self._owner = owner

    def moved(self) -> tuple[int, int]:
        """(elements, type) for a call that only moves them: elements of an unknown type are moved as bytes."""
        return (self.size, U8) if self.type is None else (self.count, self.type)


class _Exported:
    """Keeps an object's memory in place."""

    view = _View()  # of no memory, until __init__, which a signal may interrupt

    def __init__(self, thing: object, flags: int) -> None:
        self.view = _View()
        _get_buffer(thing, ctypes.byref(self.view), flags)

    def __del__(self) -> None:
        if self.view.obj:
            _release(ctypes.byref(self.view))


def _is_tensor(thing: Memory | None) -> TypeGuard[Tensor]:
    return type(thing).__module__.partition(".")[0] == "torch" and hasattr(thing, "data_ptr")


def _of_tensor(what: str, tensor: Tensor) -> Region:
    if tensor.device.type != "cpu":
        raise UsageError(f"{what}: a tensor on {tensor.device}", "muster's Python module works on host memory: call tensor.cpu() first")
    if not tensor.is_contiguous():
        raise UsageError(f"{what}: a tensor that is not contiguous", "call tensor.contiguous() first")
    if tensor.is_conj() or tensor.is_neg():
        raise UsageError(
            f"{what}: a tensor whose memory does not have its values", "call tensor.resolve_conj().resolve_neg() first"
        )
    size = tensor.numel() * tensor.element_size()
    name = str(tensor.dtype)
    return Region(tensor.data_ptr(), size, tensor.element_size(), _TENSORS.get(name), name, tensor)


def _element_type(view: _View) -> tuple[int | None, str]:
    form: str = (view.format or b"B").decode()
    if form[0] == ">" and view.itemsize > 1:
        return None, form
    return _FORMATS.get((form.lstrip("@=<>"), view.itemsize)), form


def region(what: str, thing: Memory | None, writable: bool = False) -> Region:
    """The memory of anything with the buffer protocol, or of a PyTorch tensor on the CPU."""
    if _is_tensor(thing):
        return _of_tensor(what, thing)
    try:
        exported = _Exported(thing, _C_CONTIGUOUS | _FORMAT | (_WRITABLE if writable else 0))
    except (BufferError, TypeError, ValueError) as error:
        need = "writable, contiguous memory" if writable else "contiguous memory"
        raise UsageError(
            f"{what}: {type(thing).__name__} cannot be used as {need}: {error}",
            "pass a bytearray, array.array, memoryview, numpy array or PyTorch tensor on the CPU; of a numpy array that has no "
            'buffer (datetime64, ml_dtypes), its array.view("u1")',
        ) from None
    view = exported.view
    type_, name = _element_type(view)
    if not _POINTERS.isdisjoint(_FIELD_NAME.sub("", name)):
        raise UsageError(
            f"{what}: {type(thing).__name__} has elements of type {name}, which are pointers into the memory of this process",
            "pass objects to broadcast, gather or all_gather, which send them as pickles",
        )
    return Region(view.buf, view.len, view.itemsize, type_, name, exported)


def reducible(what: str, thing: Memory | None, writable: bool = False) -> Region:
    found = region(what, thing, writable)
    if found.type is None:
        raise UsageError(
            f"{what}: muster cannot compute with elements of type {found.name}",
            "use bool, int8, uint8, int32, int64, uint64, float16, bfloat16, float32 or float64",
        )
    return found


def number_of(name: Operation) -> int:
    try:
        return OPERATIONS[name]
    except (KeyError, TypeError):
        raise UsageError(f"{name!r} is no operation", f"use one of {', '.join(OPERATIONS)}") from None


def operation(what: str, name: Operation, elements: Region) -> int:
    number = number_of(name)
    if elements.name.lstrip("@=<>") not in ("?", "torch.bool"):
        return number
    if name == "avg":
        raise UsageError(f"{what}: elements of type {elements.name} have no average", "convert them to float32 first")
    # The sum of 256 bytes of 1 is 0.
    return OPERATIONS[_OF_BOOL.get(name, name)]
