"""Reductions of numbers, for group_test.py: number_member.py FUNCTION, as member.py."""

import array
import os
import signal
import sys

import muster


def numbers(comm):
    assert muster.all_reduce(comm.rank + 1) == 6
    assert muster.all_reduce(2**62 if comm.rank == 0 else 0, "max") == 2**62
    assert muster.all_reduce(comm.rank / 2, "max") == 1.0
    assert muster.all_reduce(comm.rank + 0.5, "avg") == 1.5
    # A rank without rows.
    mixed = muster.all_reduce(0 if comm.rank == 1 else 0.5)
    assert (mixed, type(mixed)) == (1.0, float)
    assert muster.all_reduce(2**62 if comm.rank == 0 else -1.5, "max") == 2.0**62
    counted = muster.all_reduce(comm.rank == 1)
    assert (counted, type(counted)) == (1, int)


def numpy_numbers(comm):
    import numpy

    mine = numpy.arange(comm.rank + 1)
    for number, expected in (
        (mine.sum(), 4),
        (numpy.float32(1.5), 4.5),
        (numpy.float64(1.5) if comm.rank == 0 else 0, 1.5),
        (numpy.longdouble(0.5), 1.5),
        (numpy.uint8(200), 600),
        (numpy.bool_(comm.rank > 0), 2),
    ):
        total = muster.all_reduce(number)
        assert (total, type(total)) == (expected, type(expected)), (number, total)
    zero = numpy.array(2.0)
    assert muster.all_reduce(zero) is zero and zero == 6.0
    flags = numpy.array([True, comm.rank == 1, False])
    for _ in range(8):
        muster.all_reduce(flags)
    assert flags.tolist() == [True, True, False] and flags.sum() == 2
    for refused in numpy.uint64(2**63), numpy.complex64(1), numpy.str_("a"):
        try:
            muster.all_reduce(refused)
        except muster.UsageError:
            continue
        raise AssertionError(refused)
    for moment in numpy.datetime64(1, "ns"), numpy.timedelta64(1, "ns"), numpy.timedelta64(1, "s"):
        try:
            muster.all_reduce(moment)
        except muster.UsageError as error:
            refusal = f"all_reduce: a {type(moment).__name__} is not a number (pass an int: value.astype(\"int64\"))"
            assert str(error) == refusal, error
            continue
        raise AssertionError(moment)
    muster.barrier()


def number_and_buffer(comm):
    """Of the type and operation with which the ranks agree on a number's type."""
    try:
        muster.all_reduce(array.array("q", [3]) if comm.rank == 1 else 7, "max")
    except muster.DisagreementError as error:
        report(f"{comm.rank} {error.message} hint: {error.hint}")
        os._exit(0)
    os._exit(1)


def report(line):
    """In one piece: print() writes several, and those of other ranks come between them."""
    os.write(1, f"{line}\n".encode())


def number_and_broadcast(comm):
    """The one that has the root of what a number begins with."""
    try:
        report(f"{comm.rank} {muster.broadcast('text', src=2) if comm.rank == 2 else muster.all_reduce(7)}")
    except muster.DisagreementError as error:
        report(f"{comm.rank} {error}")
    os._exit(0)


if __name__ == "__main__":
    # As in member.py: each prints its error before it ends.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    globals()[sys.argv[1]](muster.init())
