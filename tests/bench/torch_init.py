"""torch: PyTorch's init_process_group and first barrier (Gloo, on this machine) under `muster launch` and under torchrun,
and the whole of a program that does no more, from its start to its end."""

import os
import shutil
import tempfile

import measure
import programs
import report

NAME = "torch"
NEEDS_ROOT = False
RANKS = [2, 4, 8]
LIMIT = 300


def starters(bench, python):
    """{name: how it starts `ranks` processes of the program}."""
    muster = os.path.join(bench.bin, "bootstrap/cli/muster")
    return {
        "muster": lambda ranks: [muster, "launch", "-n", str(ranks), "--", python],
        "torchrun": lambda ranks: [
            *(python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)),
        ],
    }


def once(bench, starter, ranks):
    """(seconds of the slowest rank for init and barrier, seconds of the whole)."""
    place = tempfile.mkdtemp(dir=bench.work)
    peer = os.path.join(programs.HERE, "peers/torch_init_peer.py")
    try:
        whole, output = measure.run([*starter(ranks), peer, place], LIMIT, {"OMP_NUM_THREADS": "1"})
    finally:
        shutil.rmtree(place)
    return float(output.split()[-1]), whole


def run(bench):
    try:
        python = programs.gloo_python(bench.mode != "smoke")
    except programs.Absent as absent:
        bench.note(str(absent))
        # The part that needs no PyTorch: that the command itself works.
        muster = os.path.join(bench.bin, "bootstrap/cli/muster")
        seconds = [measure.run([muster, "launch", "-n", "2", "--", "true"], LIMIT)[0]]
        return [report.Row("muster launch -n 2 -- true", seconds, seconds, "itself")]
    rounds = {"smoke": 1, "quick": 3, "full": 11}[bench.mode]
    rows = []
    for ranks in RANKS[:1] if bench.mode == "smoke" else RANKS:
        contestants = {
            name: lambda starter=starter, ranks=ranks: once(bench, starter, ranks)
            for name, starter in starters(bench, python).items()
        }
        results = measure.in_turn(rounds, contestants)
        unscored = "more ranks than cores" if ranks > (os.cpu_count() or 1) else ""
        for case, part in (("init + barrier", 0), ("start to end", 1)):
            ours, theirs = ([each[part] for each in results[who]] for who in ("muster", "torchrun"))
            rows.append(report.Row(f"{ranks} ranks: {case}", ours, theirs, "torchrun", None, unscored))
    return rows
