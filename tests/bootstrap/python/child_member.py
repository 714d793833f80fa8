"""A rank whose member of the group is a child of multiprocessing: child_member.py START STATUS, of rank 1's child."""

import multiprocessing
import sys

import muster


def member(status):
    comm = muster.init()
    comm.barrier()
    if comm.rank == 1 and status:
        sys.exit(status)


def main():
    start, status = sys.argv[1], int(sys.argv[2])
    child = multiprocessing.get_context(start).Process(target=member, args=(status,))
    child.start()
    child.join()
    print("child", child.exitcode)


if __name__ == "__main__":
    main()
