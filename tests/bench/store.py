"""store: muster's store beside PyTorch's (libuv), with the same clients, and beside a bare epoll echo: processor time
of the server for an operation, the 99th percentile of a round trip, and both while other clients are stalled."""

import contextlib
import json
import os
import resource
import subprocess

import measure
import programs
import report

NAME = "store"
NEEDS_ROOT = False
FOLDER = "comm/rendezvous"
# Connections, operation.
LOADS = [(1, "add"), (8, "add"), (1000, "add"), (1, "setget"), (8, "setget"), (1000, "setget")]
STALLED = 16


def commands(bench):
    """{name: how its server is started}; each prints its port, and ends on request."""
    folder = os.path.join(bench.bin, "tests/bench", FOLDER)
    servers = {
        "muster": [os.path.join(bench.bin, "bootstrap/cli/muster"), "store", "--listen", "127.0.0.1:0", "--json"],
        "echo": [os.path.join(folder, "store_echo")],
    }
    try:
        python = programs.gloo_python(bench.mode != "smoke")
        servers["libuv"] = [python, os.path.join(programs.HERE, FOLDER, "store_torch.py")]
    except programs.Absent as absent:
        bench.note(str(absent))
    return servers


@contextlib.contextmanager
def running(command):
    """(port, process id)."""
    # PyTorch's server looks up the name of each client: without an answer that would take 5 s each time.
    server = subprocess.Popen(
        command,
        env=dict(os.environ, RES_OPTIONS="timeout:1 attempts:1"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        line = server.stdout.readline()
        if not line:
            raise measure.Failed(f"{' '.join(command)}: did not start")
        yield json.loads(line)["port"] if line.startswith("{") else int(line), server.pid
    finally:
        server.stdin.close()
        server.terminate()
        server.wait(30)


def load(bench, server, connections, seconds, operation, stalled=0):
    """(seconds of a round trip at the 99th percentile, seconds of the server's processor an operation)."""
    program = os.path.join(bench.bin, "tests/bench", FOLDER, "store_load")
    _, output = measure.run([program, *map(str, (*server, connections, seconds, operation, stalled))], 60 + seconds)
    _, _, slowest, processor = map(float, output.split())
    return slowest / 1e6, processor / 1e6


def rows_of(connections, operation, results):
    name = f"{operation}, {connections} client{'s' * (connections > 1)}"
    slowest, processor = ({who: [each[i] for each in rounds] for who, rounds in results.items()} for i in (0, 1))
    # An echo has no WAIT before its GET: only the operation of one round trip compares.
    rows = []
    if "libuv" in results:
        rows.append(report.Row(f"{name}: CPU", processor["muster"], processor["libuv"], "libuv", report.at_most(1.0)))
        goal = report.at_most(0.5) if connections == 1000 else None
        rows.append(report.Row(f"{name}: p99", slowest["muster"], slowest["libuv"], "libuv", goal))
        if operation == "add" and goal:
            # If the load shares the server's processors, no server gets better.
            rows.append(report.Row(f"{name}: p99 of a bare echo", slowest["echo"], slowest["libuv"], "libuv"))
    if operation == "add":
        rows.append(report.Row(f"{name}: CPU", processor["muster"], processor["echo"], "echo", report.at_most(1.2)))
    return rows


def run(bench):
    rounds, seconds = {"smoke": (1, 1), "quick": (3, 1), "full": (11, 2)}[bench.mode]
    loads = [(1, "add"), (8, "setget")] if bench.mode == "smoke" else LOADS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    rows = []
    try:
        with contextlib.ExitStack() as stack:
            servers = {name: stack.enter_context(running(command)) for name, command in commands(bench).items()}
            for connections, operation in loads:
                contestants = {
                    name: lambda name=name, server=server: load(
                        bench, server, connections, seconds, "echo" if name == "echo" else operation
                    )
                    for name, server in servers.items()
                }
                rows += rows_of(connections, operation, measure.in_turn(rounds, contestants))
            rows.append(stalled_row(bench, servers["muster"], rounds, seconds))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return rows


def stalled_row(bench, server, rounds, seconds):
    """The peer of a store with stalled clients is the same store without."""
    contestants = {
        "with": lambda: load(bench, server, 8, seconds, "add", STALLED)[0],
        "without": lambda: load(bench, server, 8, seconds, "add")[0],
    }
    results = measure.in_turn(rounds, contestants)
    return report.Row(f"{STALLED} stalled clients: p99", results["with"], results["without"], "none stalled")
