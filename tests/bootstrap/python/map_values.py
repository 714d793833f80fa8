"""The results of maps, for map_test.py: map_values.py FUNCTION FOLDER, as map_member.py."""

import array
import collections
import dataclasses
import datetime
import os
import sys
import threading

import muster
from map_member import journal, note, square
from muster._map_plan import Plan


@dataclasses.dataclass
class Answer:
    text: str
    score: float


class Words(dict):
    pass


VALUES = [
    None,
    True,
    1,
    10**30,
    10**5000,
    -0.0,
    1.5,
    float("inf"),
    "h\u00e4\u0000\ud800",
    b"\x00bytes",
    bytearray(b"x"),
    [1, [2.5, {"a": None}]],
    (1, 2),
    [(1, 2)],
    {1: 2},
    {"z": 1, "a": [b"x"]},
    {1, 2},
    datetime.date(2026, 1, 2),
    Answer("yes", 0.5),
    Words(a=1),
    collections.OrderedDict(a=1),
    array.array("d", [1.5]),
]


def classes():
    """Numbers in the order of their appearance; the last one is for the 64th class and those after it."""
    plan = Plan([f"class {i % 70}" for i in range(140)], None, None, None, str)
    assert plan.classes == bytes(min(i, 63) for i in range(70)) * 2, plan.classes
    assert Plan(list("aabb"), None, None, 2, str).classes == b"\x00\x01"
    assert Plan([1], None, None, None).classes is None
    # Ranks with other items are noticed by the keys.
    assert Plan(collections.UserList("ab"), None, None, None).keys == [b'"a"', b'"b"']
    assert Plan(Rows(), None, None, None).keys[:2] == [b"#0", b"#1"]


def kinds():
    """A result comes back as it was, also from the journal."""
    for _ in range(2):
        results = muster.map(lambda item: VALUES[item], range(len(VALUES)), journal=journal(), name="kinds")
        if results is not None:
            for result, value in zip(results, VALUES):
                assert type(result) is type(value) and result == value, (result, value)
                assert value == 10**5000 or repr(result) == repr(value), (result, value)
            nested = results[13][0]
            assert type(nested) is tuple
    assert muster._results.encode({"a": [1, 2.5, "\u00e4"]}) == (1, '{"a":[1,2.5,"\u00e4"]}'.encode())
    assert muster._results.encode(b"x") == (0, b"x")
    assert muster._results.encode([float("nan")])[0] == 2


def batched():
    sizes = []

    def halves(batch):
        note("batches", batch)
        sizes.append(len(batch))
        return (item / 2 for item in batch)

    results = muster.map(halves, range(10), batch_size=4, name="halves")
    assert results is None or results == [item / 2 for item in range(10)], results
    assert set(sizes) <= {4, 2}


def short_batch():
    try:
        muster.map(lambda batch: batch[1:], range(10), batch_size=4, retries=0)
    except muster.MapError as error:
        assert error.results == [None] * 10 and [one.index for one in error.failed] == [0, 4, 8]
        assert "3 of 3 batches of the map were given up:" in error.message, error.message
        assert "ValueError: 3 results of a batch of 4 items" in error.message, error.message


def letters(word):
    yield from word


def generated():
    results = muster.map(letters, ["ab", "", "c"])
    assert results is None or results == [["a", "b"], [], ["c"]]
    results = muster.map(lambda word: (letter for letter in word), ["ab", "c"])
    assert results is None or results == [["a", "b"], ["c"]]


def in_threads():
    """All slots are at work at the same time."""
    together = threading.Barrier(4)

    def wait(item):
        together.wait(60)
        return threading.current_thread().name

    results = muster.map(wait, range(8), slots=4)
    assert results is None or set(results) == {f"muster map {i}" for i in range(4)}, results


def numpy_results():
    import numpy

    results = muster.map(lambda item: numpy.arange(item, dtype="f4"), range(5), journal=journal(), gather="all")
    assert [result.tolist() for result in results] == [list(range(item)) for item in range(5)]
    assert {result.dtype.name for result in results} == {"float32"}
    scalars = muster.map(lambda item: numpy.float64(item), numpy.arange(3), gather="all", name="scalars")
    assert [type(one) for one in scalars] == [numpy.float64] * 3
    rows = muster.map(lambda batch: numpy.array(batch) * 2, [1, 2, 3], batch_size=2, gather="all", name="rows")
    assert rows == [2, 4, 6]


def torch_results():
    import torch

    large = torch.arange(1000, dtype=torch.bfloat16).reshape(10, 100)
    values = [large[3], large.T, torch.tensor(1.5), torch.zeros(0, 3), torch.tensor([True]), torch.ones(2, requires_grad=True) * 2]
    values += [torch.view_as_complex(torch.ones(3, 2)), torch.nn.Parameter(torch.ones(2)), torch.eye(3).to_sparse()]
    results = muster.map(lambda item: {"logits": values[item]}, range(len(values)), journal=journal(), gather="all", name="torch")
    for result, value in zip(results, values):
        assert result["logits"].dtype == value.dtype and result["logits"].shape == value.shape
        assert torch.equal(result["logits"].to_dense(), value.to_dense())
    # A row of a large tensor has its own bytes alone, and they are the same each time.
    form, data = muster._results.encode(values[0])
    assert len(data) < 400 and muster._results.encode(large.clone()[3]) == (form, data)


class Rows:
    """A dataset: it has its items by number, and makes them when they are needed."""

    def __init__(self):
        self.asked = 0

    def __len__(self):
        return 5

    def __getitem__(self, index):
        assert 0 <= index < 5
        self.asked += 1
        return {"row": index}


def dataset():
    rows = Rows()
    assert muster.map(lambda row: row["row"], rows, gather="all") == [0, 1, 2, 3, 4]
    assert muster.map(lambda row: row["row"], iter([{"row": 1}]), gather="all") == [1]
    assert muster.map(lambda name: name, {"a": 1, "b": 2}, gather="all") == ["a", "b"]
    assert muster.map(square, [], gather="all") == []
    assert muster.map(lambda item: str(item), [object, 1, 1], gather="all") == ["<class 'object'>", "1", "1"]


class Images:
    """A dataset that notes in a file of all ranks what is loaded; one of its items cannot be loaded, or not at first."""

    def __init__(self, bad=None, tries=0):
        self.bad = bad
        self.tries = tries

    def __len__(self):
        return 12

    def __getitem__(self, index):
        note("loaded", index)
        if index == self.bad:
            self.tries -= 1
            if self.tries:
                raise OSError(f"cannot read image {index}")
        return {"id": index}


def image_id(image):
    return image["id"]


def loaded_once():
    """By the rank that does it."""
    assert muster.map(image_id, Images(), gather="all") == list(range(12))
    assert muster.map(lambda batch: [image_id(image) for image in batch], Images(), batch_size=5, gather="all") == list(range(12))
    keys = [f"image {i}" for i in range(12)]
    classes = ["large" if i < 3 else "small" for i in range(12)]
    results = muster.map(image_id, Images(), key=keys, class_of=classes, journal=journal(), gather="all")
    assert results == list(range(12))


def not_loaded():
    """It fails, and the rank goes on."""
    before = threading.current_thread(), os.getpid()
    try:
        muster.map(image_id, Images(7), retries=1, gather="all")
        raise AssertionError("no MapError")
    except muster.MapError as error:
        assert error.results == [i if i != 7 else None for i in range(12)], error.results
        failed = error.failed[0]
        assert (len(error.failed), failed.index, failed.key, failed.attempts) == (1, 7, "#7", 2), failed
        assert failed.reason.startswith("OSError: cannot read image 7\nTraceback "), failed.reason
        assert failed.reason.count("  File ") == 1 and "in __getitem__\n" in failed.reason, failed.reason
    muster.barrier()
    work = muster.map_items(Images(7, 2), retries=muster.size())
    for item in work:
        with item:
            assert item.value is item.value
            item.commit(item.value["id"])
    assert work.results() == list(range(12))
    assert before == (threading.current_thread(), os.getpid())


class Series:
    """As pandas has it: a loop goes by position, and [] takes labels."""

    iloc = property(lambda self: self.values)

    def __init__(self, values, labels):
        self.by_label = dict(zip(labels, values))
        self.values = list(values)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, label):
        return self.by_label[label]

    def __iter__(self):
        return iter(self.values)


class Frame:
    """A table of pandas: both a loop and [] go by column."""

    iloc = None
    columns = ["q"]

    def __len__(self):
        return 1

    def __getitem__(self, column):
        return {"q": Series(["a"], [0])}[column]


class Wrapped:
    """A dataset that has its items by number, and all other attributes of a table."""

    def __init__(self, table):
        self.table = table

    def __getattr__(self, name):
        return getattr(self.table, name)

    def __len__(self):
        return 2

    def __getitem__(self, index):
        note("loaded", index)
        return "ab"[index]


class IterableDataset:
    """PyTorch's: [] is there, and raises."""

    def __len__(self):
        return 3

    def __getitem__(self, index):
        raise NotImplementedError

    def __iter__(self):
        return iter("abc")


IterableDataset.__module__ = "torch.utils.data.dataset"


def upper(letter):
    return letter.upper()


def by_position():
    for labels in ([2, 0, 1], [7, 8, 9]):
        assert muster.map(upper, Series("abc", labels), gather="all") == ["A", "B", "C"]
        work = muster.map_items(Series("abc", labels), batch_size=2)
        for item in work:
            item.commit([upper(letter) for letter in item.value])
        assert work.results() == ["A", "B", "C"]
    for table in (Frame(), Series("xy", [0, 1])):
        assert muster.map(upper, Wrapped(table), gather="all") == ["A", "B"]
    assert muster.map(upper, IterableDataset(), gather="all") == ["A", "B", "C"]
    assert muster.map(str, {"a": 1}.items(), gather="all") == ["('a', 1)"]
    table = "a map over a table (__main__.Frame): its items may be rows or columns (pass items.to_dict(\"records\"))"
    assert refusal(muster.map, upper, Frame()) == refusal(muster.map_items, Frame()) == table


def refusal(call, *arguments):
    try:
        call(*arguments)
    except muster.UsageError as error:
        return str(error)
    raise AssertionError("not refused")


def pandas_items():
    import pandas

    frame = pandas.DataFrame({"q": list("abcd"), "len": [3, 1, 2, 0]}).sort_values("len")
    frame["answer"] = muster.map(upper, frame["q"], gather="all")
    assert list(frame["answer"]) == [letter.upper() for letter in frame["q"]], frame
    assert muster.map(upper, frame[frame["len"] > 1]["q"], gather="all") == ["C", "A"]
    # Items of numpy are Python's in a loop over a series, and have keys.
    assert muster.map(square, frame["len"], journal=journal(), gather="all") == [0, 1, 4, 9]
    assert muster.map(square, frame["len"].index, gather="all", name="index") == [9, 1, 4, 0]
    assert refusal(muster.map, upper, frame).endswith('(pass items.to_dict("records"))')
    rows = muster.map(lambda row: row["q"] * row["len"], frame.to_dict("records"), gather="all", name="rows")
    assert rows == ["", "b", "cc", "aaa"], rows


def mistakes():
    def message(*arguments, **options):
        try:
            muster.map(*arguments, **options)
        except muster.UsageError as error:
            return str(error)
        raise AssertionError("not refused")

    async def coroutine(item):
        return item

    path = journal()
    assert message(square, {1, 2}) == "a map over a set: its order differs by process (pass sorted(items))"
    duplicates = "items 0 and 2 have the same key: 1 (pass key=, or leave one of them out)"
    assert message(square, [1, 2, 1], journal=path) == duplicates
    assert message(square, [1, 2, 3], key=lambda item: str(item % 2)) == duplicates
    assert message(square, [object()], journal=path).startswith("item 0 (object) is not JSON, and has no key of its own (pass key=")
    assert message(square, [1], key=lambda item: item) == "the key of item 0 is 1: it must be a str, without zero characters"
    given = "pass a function of an item, or a str for each item, in their order"
    assert message(square, [1, 2], key=["a"]) == f"map: key= is a list of 1 for 2 items ({given})"
    assert message(square, [1, 2], class_of="ab") == f"map: class_of= is of type str ({given})"
    assert message(square, [1, 2], key={"a": 1, "b": 2}) == f"map: key= is of type dict ({given})"
    assert message(square, [1, 2], key=5) == f"map: key= is of type int ({given})"
    text = "it must be a str, without zero characters"
    assert message(square, [1, 2], class_of=["a", [3]]) == f"the class of item 1 is [3]: {text}"
    assert message(square, [1, 2], class_of=lambda item: item) == f"the class of item 0 is 1: {text}"
    assert message(square, [1, 2], key=["a", 2]) == "the key of item 1 is 2: it must be a str, without zero characters"
    assert message(square, [1, 2], key=["a", "a"]).startswith("items 0 and 1 have the same key: a ")
    assert message(square, [1], batch_size=0) == "a map with batches of 0 items (batch_size must be at least 1)"
    assert message(square, [1], gather="some").startswith("map: gather='some'")
    assert message(square, [1], retries=31).startswith("a map with 31 retries and 1 slots")
    assert message(square, [1], slots=0).startswith("a map with 2 retries and 0 slots")
    assert message(square, [1], timeout=0) == "a map with a timeout of 0 (it must be more than 0)"
    assert message(coroutine, [1]).startswith("map: the function is a coroutine function")
    assert not os.path.exists(path)


if __name__ == "__main__":
    muster.init()
    globals()[sys.argv[1]]()
