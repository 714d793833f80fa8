"""The definition of a map: its items cut into batches, their keys, and the name of the work on them."""

from __future__ import annotations

import array
import collections
import functools
import hashlib
import json
import os
import struct
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, MappingView, Set
from typing import Any, Callable, Generic, Protocol, TypeVar, Union, cast

from ._errors import UsageError

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Indexed(Protocol[_T_co]):
    """Has its items by number, as a dataset of PyTorch or Hugging Face."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> _T_co: ...


Items = Union[Iterable[_T], Indexed[_T]]
# Of an item, or one for each of them.
Key = Union[Callable[[_T], str], Iterable[str]]

# How a table that has no iloc returns its rows.
_ROWS = {"polars": "to_dicts()", "pyarrow": "to_pylist()"}

# Of an item's JSON as its key; longer ones are cut, and end with a digest.
LONGEST_KEY = 128
_KEPT = 64
_LAST_CLASS = 63

_IN_MEMORY = (list, tuple, range, str, bytes, bytearray, memoryview, array.array, collections.deque, collections.UserList)


class Plan(Generic[_T]):
    """The items of a map, in batches if there is a batch size. The library has the numbers of the batches alone."""

    def __init__(
        self,
        items: Items[_T],
        key: Key[_T] | None,
        journal: object,
        batch_size: int | None,
        class_of: Key[_T] | None = None,
    ) -> None:
        if batch_size is not None and batch_size < 1:
            raise UsageError(f"a map with batches of {batch_size} items", "batch_size must be at least 1")
        self.items = _indexed(items)
        self.total = len(self.items)
        self.batch_size = batch_size
        keys = _keys(self.items, self.total, key, journal is not None)
        if batch_size is not None:
            keys = [_short(_json(keys[i : i + batch_size]) or "") for i in range(0, self.total, batch_size)]
        self.keys = [text.encode(errors="backslashreplace") for text in keys]
        # Of each item, or of the first item of each batch.
        self.classes = None if class_of is None else _classes(self._class_names(class_of))

    def _class_names(self, class_of: Key[_T]) -> Iterator[str]:
        firsts = (self.where(i).start for i in range(self.count))
        if callable(class_of):
            return (_checked("class", first, class_of(self.items[first])) for first in firsts)
        names = _one_each("class_of", class_of, self.total)
        return (_checked("class", first, names[first]) for first in firsts)

    @property
    def count(self) -> int:
        """Of items, or of batches."""
        return len(self.keys)

    @property
    def unit(self) -> str:
        return "items" if self.batch_size is None else "batches"

    def where(self, number: int) -> range:
        """The items of a batch; without batches the one item."""
        size = self.batch_size or 1
        return range(number * size, min((number + 1) * size, self.total))

    def value(self, number: int) -> Any:
        """The item; with batches a list of items."""
        if self.batch_size is None:
            return self.items[number]
        return [self.items[i] for i in self.where(number)]

    def checked(self, number: int, result: object) -> object:
        """The result as it is kept: the list of a generator; the list of a batch, one for each of its items."""
        if self.batch_size is None:
            return list(result) if isinstance(result, types.GeneratorType) else result
        if isinstance(result, (str, bytes, Mapping)) or not isinstance(result, Iterable):
            raise TypeError(f"the result of a batch is a {type(result).__name__}, and not one result for each item")
        every = list(result)
        if len(every) != len(self.where(number)):
            raise ValueError(f"{len(every)} results of a batch of {len(self.where(number))} items")
        return every

    def digest(self) -> bytes:
        """Of all keys: of each its length and its bytes."""
        digest = hashlib.blake2b(digest_size=32)
        for key in self.keys:
            digest.update(struct.pack("<Q", len(key)))
            digest.update(key)
        return digest.digest()


def _indexed(items: Items[_T]) -> Indexed[_T]:
    # The views of a dict have its order.
    if isinstance(items, Set) and not isinstance(items, MappingView):
        raise UsageError("a map over a set: its order differs by process", "pass sorted(items)")
    _refuse_table(items)
    # A dataset is not copied into memory. Special methods are those of the type.
    if not _only_iterates(items) and hasattr(type(items), "__getitem__") and hasattr(type(items), "__len__"):
        return cast("Indexed[_T]", items)
    return list(cast("Iterable[_T]", items))


def _only_iterates(items: object) -> bool:
    """[] of a dict and of a pandas Series takes labels, and PyTorch's IterableDataset has one that does nothing."""
    bases = [f"{kind.__module__}.{kind.__name__}" for kind in type(items).__mro__]
    return isinstance(items, Mapping) or hasattr(type(items), "iloc") or "torch.utils.data.dataset.IterableDataset" in bases


def _refuse_table(items: object) -> None:
    """[] of a table takes a column in pandas and in Arrow, and so does a loop over it. A dataset that passes unknown attributes on to
    a table is none: the type decides."""
    kind = type(items)
    package = kind.__module__.partition(".")[0]
    rows = _ROWS.get(package, 'to_dict("records")' if hasattr(kind, "iloc") else None)
    if rows is not None and hasattr(kind, "columns"):
        raise UsageError(
            f"a map over a table ({package}.{kind.__name__}): its items may be rows or columns", f"pass items.{rows}"
        )


def _keys(items: Indexed[_T], total: int, key: Key[_T] | None, named: bool) -> list[str]:
    """`named`: results outlive the map, so that each item must differ from every other."""
    if key is None or callable(key):
        # If nothing needs the keys of a dataset, each item is loaded by the rank that does it, and by no other.
        loads = named or key is not None or _in_memory(items)
        keys = [_key(i, items[i], key, named) if loads else f"#{i}" for i in range(total)]
    else:
        keys = [_checked("key", i, text) for i, text in enumerate(_one_each("key", key, total))]
    if named or key is not None:
        seen: dict[str, int] = {}
        for i, text in enumerate(keys):
            first = seen.setdefault(text, i)
            if first != i:
                raise UsageError(f"items {first} and {i} have the same key: {text}", "pass key=, or leave one of them out")
    return keys


def _in_memory(items: object) -> bool:
    """Then the keys also show that all ranks have the same items."""
    kind = type(items)
    return isinstance(items, _IN_MEMORY) or (kind.__module__, kind.__name__) == ("numpy", "ndarray")


def _one_each(what: str, texts: Iterable[str], total: int) -> list[str]:
    remedy = "pass a function of an item, or a str for each item, in their order"
    # Each of these can be iterated, and has no text for each item in its order. A dataset's column may have [] alone.
    iterates = hasattr(type(texts), "__iter__") or hasattr(type(texts), "__getitem__")
    if isinstance(texts, (str, bytes, Set, Mapping)) or not iterates:
        raise UsageError(f"map: {what}= is of type {type(texts).__name__}", remedy)
    every = list(texts)
    if len(every) != total:
        raise UsageError(f"map: {what}= is a {type(texts).__name__} of {len(every)} for {total} items", remedy)
    return every


def _key(number: int, item: _T, key: Callable[[_T], str] | None, named: bool) -> str:
    if key is None:
        text = _json(item)
        if text is None and named:
            raise UsageError(
                f"item {number} ({type(item).__name__}) is not JSON, and has no key of its own",
                "pass key=: a function of the item that returns its key",
            )
        return f"#{number}" if text is None else _short(text)
    return _checked("key", number, key(item))


def _checked(what: str, number: int, own: str) -> str:
    if not isinstance(own, str) or "\0" in own:
        raise UsageError(f"the {what} of item {number} is {own!r}: it must be a str, without zero characters")
    return own


def _classes(names: Iterable[str]) -> bytes:
    """As numbers. The last one is for all classes that come late."""
    numbers: dict[str, int] = {}
    classes = bytearray()
    for name in names:
        if name not in numbers and len(numbers) < _LAST_CLASS:
            numbers[name] = len(numbers)
        classes.append(numbers.get(name, _LAST_CLASS))
    return bytes(classes)


def _json(value: object) -> str | None:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None


def _short(text: str) -> str:
    if len(text) <= LONGEST_KEY:
        return text
    digest = hashlib.blake2b(text.encode(errors="backslashreplace"), digest_size=16).hexdigest()
    return f"{text[:_KEPT]}...{digest}"


def name_of(function: Callable[..., object]) -> str:
    """module.qualname; the file and line of a lambda; a partial's arguments as JSON."""
    if isinstance(function, functools.partial):
        arguments = _json([function.args, function.keywords])
        if arguments is None:
            raise UsageError("map: the arguments of a functools.partial are not JSON, and make no name", "pass name=")
        return f"{name_of(function.func)} {arguments}"
    code = getattr(function, "__code__", None)
    if code is not None and code.co_name == "<lambda>":
        return f"lambda at {os.path.basename(code.co_filename)}:{code.co_firstlineno}"
    named: Any = function if hasattr(function, "__qualname__") else type(function)
    # Methods of C, as str.upper, have the module of their class alone.
    module = named.__module__ if hasattr(named, "__module__") else getattr(named, "__objclass__", type(named)).__module__
    return f"{main_name() if module == '__main__' else module}.{named.__qualname__}"


def main_name() -> str:
    """Of the program: as `python -m` has it, else its file without the ending."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return str(spec.name)
    file = getattr(main, "__file__", None)
    return os.path.splitext(os.path.basename(file))[0] if file else "__main__"
