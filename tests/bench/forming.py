"""forming: groups under a real srun on 32 nodes (tests/cluster), against srun of programs that do nothing; and init and
barrier of 256 ranks against MPICH and Open MPI."""

import os
import statistics

import cluster
import measure
import programs
import report

NAME = "forming"
NEEDS_ROOT = True
MODES = {  # nodes, ranks, rounds; for MPI: ranks, rounds, seconds until a peer is killed
    "smoke": (2, [4], 1, 4, 1, 60),
    "quick": (32, [256, 2048], 3, 256, 1, 45),
    "full": (32, [64, 256, 1024, 2048], 11, 256, 11, 90),
}
LIMIT = 120
PORT = "29999"
# As `muster run -- true`: a process that starts another one and waits for it. In `true;:` it is the shell itself.
TWO_EXECS = ["sh", "-c", "/bin/true;:"]
ONE_EXEC = ["sh", "-c", "true;:"]
MPI = {
    "mpich": (["--mpi=pmi2"], []),
    "openmpi": (["--mpi=pmix"], ["env", "OMPI_MCA_pml=ob1", "OMPI_MCA_btl=self,vader,tcp"]),
}


def run(bench):
    nodes, sizes, rounds, mpi_ranks, mpi_rounds, mpi_limit = MODES[bench.mode]
    rows = []
    with cluster.Cluster(nodes) as slurm:
        bench.note(f"{nodes} nodes, srun steps inside one allocation, --overcommit, ranks evenly on the nodes")
        bench.note("every size has more ranks than cores, on both sides of the comparison")
        for ranks in sizes:
            rows += group_rows(bench, slurm, ranks, rounds)
        for name, (options, start) in MPI.items():
            rows += mpi_rows(bench, slurm, name, options, start, mpi_ranks, mpi_rounds, mpi_limit)
    return rows


def group_rows(bench, slurm, ranks, rounds):
    muster = os.path.join(bench.bin, "bootstrap/cli/muster")
    bare_barrier = [os.path.join(bench.bin, "tests/bench/bare_barrier"), first_address(slurm), PORT]
    inside = []

    def init_barrier():
        seconds, output = slurm.step(ranks, [init_barrier_program(bench)], LIMIT)
        inside.append([float(field) for field in output.split()])
        return seconds

    results = measure.in_turn(
        rounds,
        {
            "true": lambda: slurm.step(ranks, ["true"], LIMIT)[0],
            "init": init_barrier,
            "one": lambda: slurm.step(ranks, ONE_EXEC, LIMIT)[0],
            "run": lambda: slurm.step(ranks, [muster, "run", "--", "true"], LIMIT)[0],
            "two": lambda: slurm.step(ranks, TWO_EXECS, LIMIT)[0],
            "bare": lambda: slurm.step(ranks, bare_barrier, LIMIT)[0],
        },
    )
    init, barrier = (statistics.median(column) for column in zip(*inside))
    bench.note(
        f"{ranks} ranks: rank 0 spends {init:.2f} s in Init, {barrier:.2f} s in Barrier; processor time beside the peer's:"
        f" library {per_rank(results['init'], results['true'], ranks)},"
        f" run {per_rank(results['run'], results['two'], ranks)} a rank"
    )
    goal = report.at_most(1.3)
    run_case = f"muster run -- true, {ranks} ranks"
    return [
        report.Row(f"Init + Barrier, {ranks} ranks", results["init"], results["true"], "srun true", goal),
        report.Row(f"Init + Barrier, {ranks} ranks", results["init"], results["bare"], "a bare barrier"),
        report.Row(f"a bare barrier, {ranks} ranks", results["bare"], results["true"], "srun true"),
        report.Row(run_case, results["run"], results["two"], "srun sh -c '/bin/true;:' (2 execs)", goal),
        report.Row(run_case, results["run"], results["one"], "srun sh -c 'true;:' (1 exec)", goal),
    ]


def first_address(slurm):
    """Of the node of rank 0."""
    return slurm.step(slurm.nodes, ["sh", "-c", '[ "$SLURM_PROCID" != 0 ] || hostname -I'], LIMIT)[1].split()[0]


def init_barrier_program(bench):
    return os.path.join(bench.bin, "tests/bench/init_barrier")


def per_rank(ours, theirs, ranks):
    """Where all processors are busy, as they are here, what takes longer is work."""
    more = statistics.median(a - b for a, b in zip(ours, theirs))
    return f"{1e3 * more * (os.cpu_count() or 1) / ranks:+.2f} ms"


def inside_of(slurm, ranks, program, limit, options=()):
    """Seconds of init and barrier on rank 0, by its own clock."""
    _, output = slurm.step(ranks, program, limit, options)
    return sum(float(field) for field in output.split()[:2])


def mpi_rows(bench, slurm, name, options, start, ranks, rounds, limit):
    """A peer that had to be killed is not tried again."""
    try:
        program, _ = programs.mpi(name, bench.work)
    except programs.Absent as absent:
        bench.note(f"absent: {absent}")
        return []
    bench.note(f"{name}: srun {' '.join([*options, *start])} mpi_peer, at most {limit} s")
    ours, theirs = [], []
    try:
        for _ in range(rounds):
            mine = inside_of(slurm, ranks, [init_barrier_program(bench)], LIMIT)
            peer = inside_of(slurm, ranks, [*start, program], limit, options)
            ours.append(mine)
            theirs.append(peer)
    except measure.TooLong:
        # Its start took no longer than ours.
        return [mpi_row(name, ranks, [mine], [limit - mine], True)]
    except measure.Failed as failed:
        bench.note(f"{name} failed: {failed}")
        if not ours:
            return []
    return [mpi_row(name, ranks, ours, theirs, False)]


def mpi_row(name, ranks, ours, theirs, bound):
    return report.Row(f"init + barrier, {ranks} ranks", ours, theirs, name, report.faster(20), "", bound)
