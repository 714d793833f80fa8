"""allreduce: sums of f32 by two ranks, over TCP (loopback) and inside a node, against Open MPI, MPICH and Gloo."""

import functools
import os
import subprocess
import tempfile

import measure
import programs
import report

NAME = "allreduce"
NEEDS_ROOT = False
RANKS = 2
SIZES = [8, 64, 1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20, 16 << 20, 64 << 20]
# Each at its best for the transport: nothing else may carry the bytes, and nothing else is in the way.
TCP = "TCP"
MEMORY = "shared memory"
MPI_FLAGS = {
    ("openmpi", TCP): "--mca pml ob1 --mca btl self,tcp --mca btl_tcp_if_include lo".split(),
    ("openmpi", MEMORY): "--mca pml ob1 --mca btl self,vader".split(),
    ("mpich", TCP): [],
    ("mpich", MEMORY): [],
}
MPI_ENVIRONMENT = {
    ("openmpi", TCP): {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
    ("openmpi", MEMORY): {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
    ("mpich", TCP): {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"},
    ("mpich", MEMORY): {},
}
# "Ahead of both, or within 5 % where the hardware is the limit": the limit decides, from here on it is memory.
MPI_GOAL = {True: report.at_most(1.05), False: report.at_most(1.0)}
HARDWARE_FROM = 512 << 10
BARE = "bare exchange"


def iterations(size):
    """This number of calls takes some tens of milliseconds at every size."""
    return max(3, min(2000, (32 << 20) // (size + (16 << 10))))


def lines(output):
    """{bytes: seconds per call} of what the programs print; ours adds the processor time of rank 0."""
    words = (line.split() for line in output.splitlines() if line.strip())
    return {int(size): float(microseconds) / 1e6 for size, microseconds, *_ in words}


def where_the_time_goes(bench, transport, ours):
    """The rest of a call is waiting: for the other rank, for the kernel, for a processor."""
    times = [line.split() for line in ours.splitlines() if line.strip()]
    shares = ", ".join(f"{show_bytes(int(size))} {float(worked) / float(took):.2f}" for size, took, worked in times)
    bench.note(f"{transport}: muster, rank 0 at work (user and kernel) in this part of a call: {shares}")


class Gloo:
    """Two processes that stay for all rounds: to import torch takes longer than to measure it."""

    def __init__(self, python, folder):
        path = os.path.join(folder, "gloo-store")
        environment = dict(os.environ, GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")
        program = [python, os.path.join(programs.HERE, "peers/gloo_peer.py")]
        self.ranks = [
            subprocess.Popen(
                [*program, str(rank), str(RANKS), path],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for rank in range(RANKS)
        ]
        self.version = [self._answer(rank) for rank in self.ranks][0].split()[1]

    @staticmethod
    def _answer(rank):
        answer = rank.stdout.readline()
        if not answer:
            raise measure.Failed("gloo_peer.py has ended early")
        return answer

    def ask(self, what, calls):
        for rank in self.ranks:
            rank.stdin.write(f"{what}:{calls}\n")
            rank.stdin.flush()
        return [self._answer(rank) for rank in self.ranks][0]

    def measure(self, sizes):
        return lines("".join(self.ask(size, iterations(size)) for size in sizes))

    def dispatch(self):
        return float(self.ask("dispatch", 1000).split()[1])

    def close(self):
        for rank in self.ranks:
            rank.stdin.close()
        for rank in self.ranks:
            try:
                rank.wait(10)
            except subprocess.TimeoutExpired:
                rank.kill()
                rank.wait()


def mpi_times(bench, name, command, environment):
    """MPICH's processes once waited for each other for ever: no defect of ours, and no reason to wait as long."""
    if bench.mode == "smoke":
        try:
            return lines(measure.run(command, 20, environment)[1])
        except measure.TooLong as hung:
            print(f"rerun {NAME} beside {name}: {hung}")
    return lines(measure.run(command, 120, environment)[1])


def contestants_of(bench, transport, sizes, gloo):
    # A rank that spins makes no progress on a crowded machine: for the smoke test a few calls are enough.
    calls = (lambda _: 5) if bench.mode == "smoke" else iterations
    asked = [f"{size}:{calls(size)}" for size in sizes]
    ours = [os.path.join(bench.bin, "tests/bench/all_reduce_times"), "tcp" if transport == TCP else "node", str(RANKS)]
    where_the_time_goes(bench, transport, measure.run([*ours, *asked], 120)[1])
    found = {"muster": lambda: lines(measure.run([*ours, *asked], 120)[1])}
    if transport == TCP:
        bare = os.path.join(bench.bin, "tests/bench/bare_exchange")
        found[BARE] = lambda: lines(measure.run([bare, *asked], 120)[1])
    for name in ("openmpi", "mpich"):
        try:
            program, starter = programs.mpi(name, bench.work)
        except programs.Absent as absent:
            bench.note(f"absent: {absent}")
            continue
        command = [starter, "-n", str(RANKS), *MPI_FLAGS[name, transport], program, *asked]
        environment = MPI_ENVIRONMENT[name, transport]
        set_for = " ".join(f"{key}={value}" for key, value in environment.items() if not key.startswith("OMPI_"))
        flags = " ".join(["mpirun", *command[1 : -len(asked) - 1]])
        bench.note(f"{transport}: {name}: {set_for} {flags}".replace("  ", " "))
        found[name] = functools.partial(mpi_times, bench, name, command, environment)
    if gloo:
        found["gloo"] = lambda: gloo.measure(sizes)
    return found


def goal_of(peer, size):
    if peer == BARE:
        return None  # no rank can be faster than the kernel's copying: it shows the possible gain
    return report.faster(2) if peer == "gloo" else MPI_GOAL[size >= HARDWARE_FROM]


def rows_of(transport, results, sizes, unscored):
    for size in sizes:
        ours = [times[size] for times in results["muster"]]
        for peer in (name for name in results if name != "muster"):
            theirs = [times[size] for times in results[peer]]
            label = "gloo (TCP: it has no other)" if peer == "gloo" and transport == MEMORY else peer
            yield report.Row(f"{transport} {show_bytes(size)}", ours, theirs, label, goal_of(peer, size), unscored)


def show_bytes(size):
    for unit, scale in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size // scale} {unit}"
    return f"{size} B"


def start_gloo(bench, folder):
    if bench.mode == "smoke":
        return None  # it would have to be downloaded
    try:
        gloo = Gloo(programs.gloo_python(may_download=True), folder)
    except programs.Absent as absent:
        bench.note(f"absent: {absent}")
        return None
    bench.note(f"gloo: that of PyTorch {gloo.version}, GLOO_SOCKET_IFNAME=lo; its figures include Python's dispatch,")
    bench.note(f"      {gloo.dispatch():.0f} us a call in a group of one (thread hand-over included)")
    return gloo


def run(bench):
    rounds = {"smoke": 1, "quick": 3, "full": 11}[bench.mode]
    sizes = [8, 64 << 10] if bench.mode == "smoke" else SIZES
    crowded = (os.cpu_count() or 1) < RANKS
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        gloo = start_gloo(bench, folder)
        try:
            for transport in (TCP, MEMORY):
                results = measure.in_turn(rounds, contestants_of(bench, transport, sizes, gloo))
                rows += rows_of(transport, results, sizes, "more ranks than cores" if crowded else "")
        finally:
            if gloo:
                gloo.close()
    return rows
