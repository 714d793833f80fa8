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
    # Larger than what a double holds exactly, also on the way.
    assert muster.all_reduce((2**53 + 1, 1, -(2**53))[comm.rank]) == 2
    assert muster.all_reduce(2**53 + 1 if comm.rank == 0 else 2**53, "min") == 2**53
    assert muster.all_reduce(2**53 + comm.rank, "max") == 2**53 + 2
    assert muster.all_reduce((2**27 + 1, 2**27 + 3, -1)[comm.rank], "prod") == -(2**27 + 1) * (2**27 + 3)
    assert muster.all_reduce((5, -7, 0)[comm.rank], "prod") == 0
    assert muster.all_reduce((5, -7, 3)[comm.rank], "min") == -7
    assert muster.all_reduce(4 + 3 * comm.rank, "avg") == 7
    product = muster.all_reduce((2, 0.5, 3)[comm.rank], "prod")
    assert (product, type(product)) == (3.0, float)
    least = muster.all_reduce((2, 0.5, 3)[comm.rank], "min")
    assert (least, type(least)) == (0.5, float)
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


if __name__ == "__main__":
    # As in member.py: each prints its error before it ends.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    globals()[sys.argv[1]](muster.init())
