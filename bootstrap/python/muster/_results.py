"""Results as bytes: how a map's journal has them."""

from __future__ import annotations

import io
import json
import math
import pickle
from typing import Any

from ._buffers import copied

# Of muster.h.
BYTES, JSON, PICKLE = range(3)

# The same bytes from every Python that this module supports.
_PROTOCOL = 5

_PLAIN = (type(None), bool, int, str)


def encode(value: object) -> tuple[int, bytes]:
    """The format and the bytes of a result: bytes as they are; JSON if it returns the same value; else a pickle."""
    if type(value) is bytes:
        return BYTES, value
    try:
        if _is_json(value):
            return JSON, json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except (RecursionError, ValueError):
        pass  # it contains itself; half of a surrogate pair; an int of more digits than Python converts
    file = io.BytesIO()
    _Pickler(file, _PROTOCOL).dump(value)
    return PICKLE, file.getvalue()


def decode(form: int, data: bytes) -> Any:
    if form == BYTES:
        return data
    return json.loads(data) if form == JSON else pickle.loads(data)


def _is_json(value: object) -> bool:
    """Whether JSON returns it as it is, with the same types: not tuples, subclasses of dict or float, NaN."""
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind is float:
        return math.isfinite(value)  # type: ignore[arg-type]
    if kind is list:
        return all(_is_json(one) for one in value)  # type: ignore[attr-defined]
    if kind is dict:
        return all(type(key) is str and _is_json(one) for key, one in value.items())  # type: ignore[attr-defined]
    return False


class _Pickler(pickle.Pickler):
    """PyTorch's pickle of a tensor has its device, all of the memory that it is a view of, and an address."""

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if kind.__module__ != "torch" or kind.__name__ != "Tensor":
            return NotImplemented
        tensor = obj.detach().cpu()
        if str(tensor.layout) != "torch.strided" or tensor.is_quantized or tensor.is_complex():
            return tensor.__reduce_ex__(_PROTOCOL)
        # A negative that is not computed yet has the bytes of its positive.
        tensor = tensor.resolve_neg().contiguous()
        data = copied(tensor.data_ptr(), tensor.numel() * tensor.element_size()) if tensor.numel() else b""
        return _tensor, (str(tensor.dtype).rpartition(".")[2], tuple(tensor.shape), data)


def _tensor(dtype: str, shape: tuple[int, ...], data: bytes) -> Any:
    import torch

    kind = getattr(torch, dtype)
    if not data:
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(bytearray(data), dtype=kind).reshape(shape)
