#!/usr/bin/env python3
"""The processes below the tasks of a step: a line "RANK SUPERVISOR PROGRAM TICKS" for each rank with both.

    family.py FOLDER        (see task; TICKS: the processor time of the program so far, in 10 ms)
"""

import glob
import os
import sys


def processes():
    """{parent: [(pid, ticks)]}"""
    children = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append((int(path.split("/")[2]), int(fields[11])))
    return children


def main(folder):
    children = processes()
    for path in glob.glob(f"{folder}/*.pid"):
        rank = os.path.basename(path)[: -len(".pid")]
        if not rank.isdigit():
            continue
        with open(path, encoding="utf-8") as file:
            task = int(file.read().strip() or 0)
        for supervisor, _ in children.get(task, []):
            for program, ticks in children.get(supervisor, []):
                print(rank, supervisor, program, ticks)


main(sys.argv[1])
