"""map: items of Pareto-distributed lengths (sleeps) on 16 workers, `muster map` and `muster.map` beside the ideal and beside what
people use today; and what an item costs, beside fork and exec."""

import heapq
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

import measure
import programs
import report

NAME = "map"
NEEDS_ROOT = False
WORKERS = 16
LIMIT = 600
PEER = os.path.join(programs.HERE, "peers/map_peer.py")


def lengths(count, shortest, seed):
    """Seconds. The tail is cut so that no single item decides."""
    draw = random.Random(seed)
    return [round(min(shortest * draw.paretovariate(1.5), 40 * shortest), 4) for _ in range(count)]


def ideal(items):
    return max(sum(items) / WORKERS, max(items))


def list_scheduling(items):
    """A free worker takes the next item, without any cost: the best that is possible while the lengths are unknown."""
    free = [0.0] * WORKERS
    for seconds in items:
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)


def contestants(bench, items, place):
    """{name: the seconds that it takes, once}; a peer that cannot be had is said."""
    path = os.path.join(place, "items.csv")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(["id,seconds\n", *(f"{number},{seconds}\n" for number, seconds in enumerate(items))])
    muster = os.path.join(bench.bin, "bootstrap/cli/muster")
    launch = [muster, "launch", "-n", str(WORKERS), "--set", "log.level=error", "--"]
    environment = {
        "PYTHONPATH": os.path.join(programs.ROOT, "bootstrap/python"),
        "LD_LIBRARY_PATH": os.path.join(bench.bin, "bootstrap/c"),
    }

    def whole(command):
        with tempfile.TemporaryDirectory(dir=place) as folder:
            return measure.run(command(os.path.join(folder, "out")), LIMIT)[0]

    def by_its_own_clock(way, starter):
        with tempfile.TemporaryDirectory(dir=place) as folder:
            return float(measure.run([*starter, PEER, way, path, folder], LIMIT, environment)[1].split()[-1])

    starters = {
        "muster map": lambda: whole(lambda out: [*launch, muster, "map", "--items", path, "--output", out, "--", "sleep", "{seconds}"]),
        "muster.map": lambda: by_its_own_clock("resident", [*launch, sys.executable]),
        "static split": lambda: by_its_own_clock("static", [sys.executable]),
        "multiprocessing.Pool": lambda: by_its_own_clock("pool", [sys.executable]),
    }
    if shutil.which("parallel"):
        gnu = ["parallel", "--will-cite", f"-j{WORKERS}", "--colsep", ",", "--header", ":", "-a", path, "sleep {seconds}"]
        starters["GNU parallel"] = lambda: whole(lambda _: gnu)
    else:
        bench.note("GNU parallel: absent (Debian's package parallel)")
    if bench.mode == "smoke":  # it would have to be downloaded
        return starters
    try:
        python = programs.hyperqueue_python()
        starters["HyperQueue"] = lambda: by_its_own_clock("hyperqueue", [python])
    except programs.Absent as absent:
        bench.note(str(absent))
    return starters


def makespan(bench):
    # Sleeps differ little from round to round, so three do, and one of the others. Fewer items end unevenly: list scheduling of
    # 3200 is 1.03 of the ideal on average, of 8000 1.01.
    rounds, count, shortest = {"smoke": (1, 32, 0.002), "quick": (1, 5000, 0.03), "full": (3, 8000, 0.03)}[bench.mode]
    place = tempfile.mkdtemp(dir=bench.work)
    items = lengths(count, shortest, 1)
    least, greedy = ideal(items), list_scheduling(items)
    bench.note(f"{count} items, {sum(items):.1f} s in all, the longest {max(items):.2f} s: {least:.2f} s at best on {WORKERS} workers")
    bench.note(f"list scheduling without any cost: {greedy / least:.3f} of that")
    all_of_them = contestants(bench, items, place)
    ours = {name: all_of_them[name] for name in ("muster map", "muster.map")}
    results = measure.in_turn(1, all_of_them)
    for name, more in measure.in_turn(rounds - 1, ours).items():
        results[name] += more
    rows = []
    for name in ours:
        rows.append(report.Row(name, results[name], [least] * rounds, "the ideal", report.at_most(1.05)))
        rows.append(report.Row(name, results[name], [greedy] * rounds, "list scheduling without any cost"))
        rows += [report.Row(name, results[name], results[peer], peer) for peer in results if peer not in ours]
    return rows


def separate(place):
    """For each file that ext4 makes, it passes over the inodes of the same block group that were removed in the last minutes, one by
    one: a millisecond after another round. So the directories of `place` are in groups of their own."""
    if shutil.which("chattr"):
        subprocess.run(["chattr", "+T", place], stderr=subprocess.DEVNULL, check=False)


def cost_of_an_item(bench, folder):
    """Of a program that does nothing: the difference of two maps, so that no start-up is counted. `folder`: where it makes a
    directory and two files for each."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        separate(place)
        return cost_in(bench, folder, place)


def cost_in(bench, folder, whole):
    rounds, few, many = {"smoke": (1, 5, 25), "quick": (5, 100, 1100), "full": (11, 100, 1100)}[bench.mode]
    muster = os.path.join(bench.bin, "bootstrap/cli/muster")
    spawn = os.path.join(bench.bin, "tests/bench/spawn_times")

    def seconds(count):
        place = tempfile.mkdtemp(dir=whole)
        path, out = os.path.join(place, "items.txt"), os.path.join(place, "out")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{number}\n" for number in range(count))
        command = [muster, "map", "--launcher", "none", "--set", "log.level=error", "--items", path, "--output", out]
        return measure.run([*command, "--", "/bin/true"], LIMIT)[0]

    def bare():
        _, output = measure.run([spawn, str(many - few), "/bin/true", "--", "/bin/true"], LIMIT)
        return statistics.mean(float(line.split()[0]) for line in output.splitlines()) / 1e6

    def item():
        start_up = 0 if bench.mode == "smoke" else seconds(few)  # of so few items the difference may be negative
        return (seconds(many) - start_up) / (many - few)

    results = measure.in_turn(rounds, {"map": item, "bare": bare})
    return report.Row(f"an item in {folder}", results["map"], results["bare"], "fork, exec and wait", report.at_most(1.3))


def run(bench):
    return [*makespan(bench), cost_of_an_item(bench, "/dev/shm"), cost_of_an_item(bench, tempfile.gettempdir())]
