"""service: the rendezvous service alone, a star of N leaders in one process, against a bare epoll prototype that moves
the same bytes over the same sockets."""

import os
import statistics

import measure
import report

NAME = "service"
NEEDS_ROOT = True
MUNGE_SOCKET = "/run/munge/munge.socket.2"


# Every address of 10.1.0.0/16 is this machine's, and what connects to one comes from it.
ADDRESSES = ["unshare", "--net", "sh", "-c", 'ip link set lo up; ip route add local 10.1.0.0/16 dev lo; exec "$@"', "sh"]


def star(program, *arguments):
    """The fields of star_clock.h."""
    _, output = measure.run([*ADDRESSES, program, *map(str, arguments)], 60)
    return [float(field) for field in output.split()]


def run(bench):
    ranks, rounds = {"smoke": (8, 1), "quick": (1024, 5), "full": (1024, 21)}[bench.mode]
    folder = os.path.join(bench.bin, "tests/bench")
    service, bare = os.path.join(folder, "service_star"), os.path.join(folder, "bare_star")
    methods = ["none", "secret"] + (["munge"] if os.path.exists(MUNGE_SOCKET) else [])
    if "munge" not in methods:
        bench.note("munge: absent (no munged runs here)")
    hello, roster = star(service, ranks, "none")[5:]
    contestants = {method: lambda method=method: star(service, ranks, method) for method in methods}
    contestants["bare"] = lambda: star(bare, ranks, int(hello), int(roster))
    contestants["x25519"] = lambda: star(bare, ranks, int(hello), int(roster), "x25519")
    results = measure.in_turn(rounds, contestants)
    bench.note(f"hello {hello:.0f} bytes, roster {roster:.0f} bytes to each of {ranks - 1}, over loopback")
    for name in ["bare", "x25519", *methods]:
        bench.note(f"{name:<7} {phases(results[name])}")
    bench.note(f"steps alone, one processor, both sides of a handshake: {steps(folder, ranks)}")
    total = {name: [fields[2] / 1e3 for fields in rounds] for name, rounds in results.items()}
    goal = {"none": report.at_most(1.5)}
    rows = [
        report.Row(f"star of {ranks}, auth {method}", total[method], total["bare"], "bare epoll", goal.get(method))
        for method in methods
    ]
    floor = "bare epoll, with an X25519 agreement on each side"
    return [*rows, report.Row(f"star of {ranks}, auth secret", total["secret"], total["x25519"], floor)]


def phases(rounds):
    linked, first, last, server, client = (statistics.median(column) for column in list(zip(*rounds))[:5])
    return (
        f"connected and proven {linked:.1f} ms, assembled {first - linked:+.1f} ms, delivered {last - first:+.1f} ms;"
        f" processor: root {server:.1f} ms, leaders {client:.1f} ms"
    )


def steps(folder, ranks):
    _, output = measure.run([os.path.join(folder, "service_steps"), str(ranks)], 60)
    return ", ".join(f"{name} {float(value):.1f} ms" for name, value in map(str.split, output.splitlines()))
