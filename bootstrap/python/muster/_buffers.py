"""Memory of the caller as the library wants it: address, elements, type."""

import ctypes

from ._errors import usage

# Of muster.h.
I8, U8, I32, I64, U64, F16, BF16, F32, F64 = range(9)
OPERATIONS = {"sum": 0, "prod": 1, "min": 2, "max": 3, "avg": 4}

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


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(_View), ctypes.c_int]
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes = [ctypes.POINTER(_View)]
_release.restype = None


class Region:
    """`size` bytes at `address`, `count` elements of `type` (None: one that muster cannot compute with, called `name`). Valid
    while this object lives."""

    def __init__(self, address, size, itemsize, type_, name, owner):
        self.address = address
        self.size = size
        self.itemsize = itemsize
        self.count = size // itemsize if itemsize else 0
        self.type = type_
        self.name = name
        self._owner = owner

    def moved(self):
        """(elements, type) for a call that only moves it: types that muster does not know are bytes."""
        return (self.size, U8) if self.type is None else (self.count, self.type)


class _Exported:
    """What keeps an object's memory where it is."""

    def __init__(self, thing, flags):
        self.view = _View()
        _get_buffer(thing, ctypes.byref(self.view), flags)

    def __del__(self):
        if self.view.obj:
            _release(ctypes.byref(self.view))


def _of_tensor(what, tensor):
    if tensor.device.type != "cpu":
        raise usage(f"{what}: a tensor on {tensor.device}", "muster's Python module works on host memory: tensor.cpu() first")
    if not tensor.is_contiguous():
        raise usage(f"{what}: a tensor that is not contiguous", "tensor.contiguous() first")
    size = tensor.numel() * tensor.element_size()
    name = str(tensor.dtype)
    return Region(tensor.data_ptr(), size, tensor.element_size(), _TENSORS.get(name), name, tensor)


def _element_type(view):
    form = (view.format or b"B").decode()
    if form[0] == ">" and view.itemsize > 1:
        return None, form
    return _FORMATS.get((form.lstrip("@=<>"), view.itemsize)), form


def region(what, thing, writable=False):
    """The memory of anything with the buffer protocol, or of a PyTorch tensor on the CPU."""
    if type(thing).__module__.partition(".")[0] == "torch" and hasattr(thing, "data_ptr"):
        return _of_tensor(what, thing)
    try:
        exported = _Exported(thing, _C_CONTIGUOUS | _FORMAT | (_WRITABLE if writable else 0))
    except (BufferError, TypeError, ValueError) as error:
        need = "writable, contiguous memory" if writable else "contiguous memory"
        raise usage(
            f"{what}: {type(thing).__name__} cannot be used as {need}: {error}",
            "bytearray, array.array, memoryview, numpy arrays and PyTorch tensors on the CPU can",
        ) from None
    view = exported.view
    type_, name = _element_type(view)
    return Region(view.buf, view.len, view.itemsize, type_, name, exported)


def reducible(what, thing, writable=False):
    found = region(what, thing, writable)
    if found.type is None:
        raise usage(
            f"{what}: muster cannot compute with elements of type {found.name}",
            "it knows int8, uint8, int32, int64, uint64, float16, bfloat16, float32 and float64",
        )
    return found


def operation(name):
    try:
        return OPERATIONS[name]
    except (KeyError, TypeError):
        raise usage(f"{name!r} is no operation", f"one of {', '.join(OPERATIONS)}") from None
