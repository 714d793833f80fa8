"""The program of the ranks of map_test.py: map_member.py FUNCTION [FOLDER], alone or under a launcher. FOLDER is the test's own."""

import json
import os
import signal
import sys
import threading
import time

import muster

FOLDER = sys.argv[2] if len(sys.argv) > 2 else ""
ITEMS = list(range(60))


def note(name, item):
    """A line in a file of all ranks, which no other can tear."""
    file = os.open(os.path.join(FOLDER, name), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(file, f"{item}\n".encode())
    os.close(file)


def once(name):
    """Whether this is the first rank or try that asks."""
    try:
        os.close(os.open(os.path.join(FOLDER, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


def journal():
    return os.path.join(FOLDER, "answers.journal")


def show(results):
    """Rank 0 alone has them."""
    assert (results is None) == (muster.rank() > 0), results
    if results is not None:
        print(json.dumps(results), flush=True)


def square(item):
    note("done", item)
    return item * item


def squares():
    show(muster.map(square, ITEMS))


def journalled():
    show(muster.map(square, ITEMS, journal=journal(), name="square"))


def waits_for_ever():
    time.sleep(3600)


def computes_for_ever():
    while True:
        pass


def tries_for_ever():
    while True:
        try:
            time.sleep(3600)
        except Exception:
            pass


def swallows_the_end():
    try:
        time.sleep(3600)
    except BaseException:
        pass


def looks_for_ever():
    while True:
        time.sleep(0.01)


def hanging(slots, *ways):
    """Items that hang fail at their limit, the others are done, and the process goes on: a second map has all results."""
    pid = os.getpid()

    def work(item):
        if item < len(ways):
            note("tries", item)
            ways[item]()
        return item

    try:
        muster.map(work, range(12), timeout=0.3, retries=1, slots=slots, gather="all")
        raise AssertionError("no item hung")
    except muster.MapError as error:
        assert [one.index for one in error.failed] == list(range(len(ways))), error
        assert all(one.reason.startswith("not finished after 0.3 s (timeout)\n") for one in error.failed), error
        assert ways[0].__name__ in error.failed[0].reason, error
        assert error.results[len(ways) :] == list(range(len(ways), 12)), error
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    muster.barrier()
    assert muster.map(lambda item: item, range(5), timeout=3600, gather="all") == list(range(5))
    assert os.getpid() == pid


def hanging_items():
    hanging(1, waits_for_ever, computes_for_ever, tries_for_ever, swallows_the_end)


def hanging_items_in_threads():
    hanging(2, looks_for_ever, computes_for_ever)


def hanging_items_beside_a_handler():
    signal.signal(signal.SIGALRM, lambda number, frame: None)
    try:
        muster.map(lambda item: looks_for_ever(), range(1), timeout=0.3, retries=0)
        raise AssertionError("no item hung")
    except muster.MapError:
        pass
    assert signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL


def items_without_limit():
    """The root examines the items at work once a second."""
    for timeout in (float("inf"), 1e10):
        assert muster.map(lambda item: time.sleep(1.2) or item, range(1), timeout=timeout, gather="all") == [0]


def hanging_items_of_a_loop():
    work = muster.map_items(range(4), timeout=0.3, retries=0)
    try:
        for item in work:
            with item:
                if item.value == 1:
                    waits_for_ever()
                item.commit(item.value)
        raise AssertionError("no item hung")
    except muster.MapError as error:
        assert [one.index for one in error.failed] == [1], error
    assert work.results() == [0, None, 2, 3]


def every_rank_reads():
    assert muster.map(square, ITEMS, gather="all") == [item * item for item in ITEMS]
    assert muster.map(square, ITEMS, gather="none", journal=journal()) is None
    # Of the same journal: nothing is done twice.
    assert muster.map(square, ITEMS, gather="all", journal=journal()) == [item * item for item in ITEMS]


def without_lines():
    show(muster.map(square, ITEMS, class_of=lambda item: "even" if item % 2 == 0 else "odd", progress=False))


def waits_from_ten_on(item):
    note("began", item)
    while item >= 10 and not os.path.exists(os.path.join(FOLDER, "gate")):
        signal.pause()
    return item


def terminated():
    show(muster.map(waits_from_ten_on, ITEMS, journal=journal()))


def fails_twice(item):
    note("tries", item)
    if item == 7 and (once("first") or once("second")):
        raise ValueError("not yet")
    return item


def retried():
    show(muster.map(fails_twice, ITEMS))


def bad(item):
    note("tries", item)
    if item % 5 == 0:
        raise ValueError(f"{item} is bad\nand has two lines")
    return item


def given_up():
    muster.map(bad, ITEMS, retries=1)
    assert muster.rank() > 0


def caught():
    try:
        muster.map(bad, ITEMS, retries=0, journal=journal(), gather="all")
    except muster.MapError as error:
        assert error.results == [item if item % 5 else None for item in ITEMS], error.results
        assert [one.index for one in error.failed] == list(range(0, 60, 5))
        first = error.failed[0]
        assert (first.key, first.attempts, first.node) == ("0", 1, muster.node()), first
        assert first.reason.startswith("ValueError: 0 is bad and has two lines\nTraceback ") and "in bad\n" in first.reason
        assert "muster/_maps.py" not in first.reason, first.reason
        assert isinstance(error, muster.WorkFailedError) and (error.code, error.exit_status) == ("work_failed", 79)
        assert error.hint == "retry_failed=True tries them again"
    else:
        raise AssertionError("no MapError")
    results = muster.map(lambda item: -item, ITEMS, journal=journal(), gather="all", name=muster._map_plan.name_of(bad), retry_failed=True)
    assert [r for r in results if r <= 0] == [-item for item in ITEMS if item % 5 == 0]


def looped():
    """All ways in which an item ends."""
    work = muster.map_items("abcd", key=lambda item: item * 2, retries=1)
    tries = []
    try:
        for item in work:
            assert item.key == item.value * 2 and "abcd"[item.index] == item.value, item
            tries.append((item.value, item.attempt))
            if item.value == "a":
                item.commit("A")
                refused(item.commit, "B")
            elif item.value == "b":
                with item:
                    if item.attempt == 1:
                        raise KeyError("first")
                    item.commit("B")
            elif item.value == "c":
                item.fail("no c")
                item.fail("twice")
            # d is forgotten.
    except muster.MapError as error:
        assert [one.reason.partition(":")[0] for one in error.failed] == ["no c", "not committed"], error
    else:
        raise AssertionError("no MapError")
    assert sorted(tries) == [("a", 1), ("b", 1), ("b", 2), ("c", 1), ("c", 2), ("d", 1), ("d", 2)], tries
    assert work.results() == ["A", "B", None, None]
    assert (work.outcome.committed, work.outcome.given_up, work.outcome.resumed, work.outcome.left) == (2, 2, 0, 0)
    refused(iter, work)


def refused(call, *arguments):
    try:
        call(*arguments)
    except muster.UsageError:
        return
    raise AssertionError("not refused")


def forgotten():
    """Items that were not committed are tried again, and named in the end."""
    work = muster.map_items(ITEMS, retries=1)
    try:
        for item in work:
            if item.index != 3:
                item.commit(item.value)
    except muster.MapError as error:
        assert muster.rank() == 0
        assert error.results is None and [one.index for one in error.failed] == [3]
        assert error.failed[0].reason == "not committed: the program went on to the next item" and error.failed[0].attempts == 2
    else:
        assert muster.rank() > 0
    assert work.outcome.committed == 59 and work.outcome.given_up == 1
    assert muster.rank() > 0 or work.results() == [None if item == 3 else item for item in ITEMS]
    again = muster.map_items(ITEMS)  # the one before has been closed by now
    for item in again:
        item.commit(item.value)
    assert again.outcome.committed == 60


def left_early():
    """Rank 1 leaves after its first item; the others do the rest, and the item that it had."""
    work = muster.map_items(ITEMS, journal=journal(), name="left early")
    for item in work:
        note("tries", item.attempt)
        if muster.rank() == 1:
            with item:
                break
        item.commit(item.value)
    assert work.results() == ITEMS
    work.close()


def all_leave():
    work = muster.map_items(ITEMS, journal=journal())
    done = []
    for item in work:
        item.commit(item.value)
        done.append(item.value)
        break
    results = work.results()
    assert 1 <= work.outcome.committed <= muster.size() and not work.outcome.given_up, work.outcome
    assert all(results[item] == item for item in done) and len([r for r in results if r is not None]) == work.outcome.committed


def same(item):
    note("done", item)
    return item


def resumed_partly():
    """All ranks leave in the middle."""
    work = muster.map_items(ITEMS, journal=journal(), name="resumed")
    for count, item in enumerate(work):
        item.commit(same(item.value))
        if count == 5:
            break
    work.results()


def resumed():
    show(muster.map(same, ITEMS, journal=journal(), name="resumed"))


def nested():
    def inner(item):
        return muster.map(square, [1])

    try:
        muster.map(inner, [1], retries=0)
    except muster.MapError as error:
        assert "a map within a map" in error.failed[0].reason, error


def exits_in_a_thread():
    def leave(item):
        sys.exit(5)

    muster.map(leave, range(8), slots=2)


def killed():
    """Rank 1 is killed while at work on an item from 20 on; the others begin theirs when it is."""
    gone = os.path.join(FOLDER, "killed")

    def work(item):
        if item >= 20 and muster.rank() == 1:
            note("killed", item)
            os.kill(os.getpid(), signal.SIGKILL)
        while item >= 20 and muster.size() > 1 and not os.path.exists(gone):
            threading.Event().wait(0.02)
        return square(item)

    show(muster.map(work, ITEMS, journal=journal()))


def without_first(gather):
    """Rank 0 is killed while at work on an item."""

    def work(item):
        if muster.rank() == 0:
            note("begun", item)
            os.kill(os.getpid(), signal.SIGKILL)
        while not os.path.exists(os.path.join(FOLDER, "begun")):
            threading.Event().wait(0.02)
        return item

    return muster.map(work, ITEMS, gather=gather)


def first_is_killed():
    try:
        without_first("root")
    except muster.PeerLostError as error:
        print(error, flush=True)


def first_is_killed_and_all_read():
    print(without_first("all") == ITEMS, flush=True)


def killers():
    """The item kills each rank that begins it."""
    muster.map(lambda item: os.kill(os.getpid(), signal.SIGKILL), [20], retries=1, name="killers")


def runs(pid):
    """Its supervisor may not have reaped it. Its first thread may end before the others: then its exit is not known yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            state, *rest = file.read().rpartition(")")[2].split()
    except FileNotFoundError:
        return False
    threads = int(rest[16])
    return state != "Z" or threads > 1


def raises():
    """One rank ends with an exception of its loop; the others do its items when it has ended."""
    work = muster.map_items(ITEMS)
    for item in work:
        if item.value == 20 and once("raised"):
            note("pid", os.getpid())
            raise LookupError("of the program, not of an item")
        if item.value == 20:
            with open(os.path.join(FOLDER, "pid"), encoding="ascii") as file:
                pid = int(file.read())
            while runs(pid):
                threading.Event().wait(0.02)
        item.commit(item.value)
    print(sorted(work.results()) == ITEMS, flush=True)


def interrupted():
    """Ctrl-C while at work on item 20, once."""

    def work(item):
        if item == 20 and once("interrupted"):
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait()
        return square(item)

    show(muster.map(work, ITEMS, journal=journal(), name="interrupted"))


def interrupted_while_waiting():
    """Rank 1 has Ctrl-C while it waits for an item: rank 0 is at work on the last one until rank 1 goes on."""
    waits = threading.Semaphore(0)
    library = muster._world.process().library
    real = library.muster_map_next

    def announced(*arguments):
        waits.release()
        return real(*arguments)

    def interrupt():
        for _ in range(2):
            waits.acquire()
        os.kill(os.getpid(), signal.SIGINT)

    def work(item):
        mine, other = ("held", "goes on") if muster.rank() == 0 else ("begun", "held")
        note(mine, item)
        while not os.path.exists(os.path.join(FOLDER, other)):
            threading.Event().wait(0.02)
        return item

    if muster.rank() == 1:
        library.muster_map_next = announced
        threading.Thread(target=interrupt, daemon=True).start()
    try:
        assert muster.map(work, [0, 1]) == [0, 1] and muster.rank() == 0
    except KeyboardInterrupt:
        print(muster.rank(), "goes on", flush=True)
        note("goes on", 1)
    muster.barrier()


def other_items():
    try:
        muster.map(square, range(10 + muster.rank()), name="square")
    except muster.DisagreementError as error:
        print(error.message, flush=True)
        os._exit(0)


def time_is_up():
    muster.map(square, ITEMS, journal=journal())


if __name__ == "__main__":
    muster.init()
    globals()[sys.argv[1]]()
