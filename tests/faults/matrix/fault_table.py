"""The fault matrix as data: the fault, its phase, the way (`run` or `library`), and the expected results.

A cell of FAULTS is an Outcome, or a sentence: why it means nothing. `run`: each rank is `muster run` with the
program below it; `library`: the program itself.
"""

from dataclasses import dataclass, field, replace

import inflict
import strangers
from inflict import NODE, ROOTS_NODE

BEFORE, RENDEZVOUS, IDLE, COLLECTIVE, SHUTDOWN = PHASES = ("before", "rendezvous", "idle", "collective", "shutdown")
RUN, LIBRARY = WAYS = ("run", "library")

# All ranks have the death of a rank within this; the goal is 0.2 s, the bound leaves room for a busy machine.
AT_ONCE = 5.0
DEAD_AFTER = 3.0
DEADLINE = 8.0
# A group that must live through something slow.
PATIENT = 60.0


@dataclass(frozen=True)
class Outcome:
    code: int = 0  # of every rank that is not hit
    says: str = ""  # the report of each of them, a pattern; "": no error is reported
    within: float = PATIENT  # seconds from the fault to the end of the last of them
    victim: object = None  # exit codes that the ranks that are hit may have; None: the same as all others
    victim_says: str = ""
    root_says: str = ""
    # Of the ranks that are not hit: those that had ended with 0 before the fault, as no rank needed them.
    gone: tuple = ()
    deadline: bool = False  # the group gives up at timeouts.rendezvous
    forms: bool = False  # in rendezvous: the rank that was still missing comes immediately

    @property
    def benign(self):
        return self.code == 0


@dataclass(frozen=True)
class Fault:
    name: str
    what: str
    hits: tuple  # ranks
    cells: dict  # (phase, way) -> Outcome or the reason why it means nothing
    inflict: object = inflict.Nothing()
    settings: dict = field(default_factory=dict)  # variables of all ranks
    alone: str = ""  # cells with the same word share what happens to a node, and run together


def cells(**phases):
    """phase=Outcome, or phase=(for run, for library), or phase=a reason."""
    assert set(phases) == set(PHASES), phases
    table = {}
    for phase, given in phases.items():
        run, library = given if isinstance(given, tuple) else (given, given)
        table[phase, RUN], table[phase, LIBRARY] = run, library
    return table


FINE = Outcome(victim=(0,))
ANYTHING = tuple(range(256))


def missing(who, why="never connected", more="", **other):
    here = 8 - len(who.split(": ")[1].split(","))
    says = rf"the group did not form within 8s: {here}/8 ranks; missing {who} \({why}\){more}"
    return Outcome(75, says, within=DEADLINE + 10, deadline=True, victim=ANYTHING, **other)


def lost(says, code=69, victim=(), within=AT_ONCE, **other):
    return Outcome(code, says, victim=victim, within=within, **other)


def at_shutdown(outcome, hit):
    """The ranks of other nodes have left by then; the root and the leader of the own node are still needed."""
    stay = {0, hit - hit % 2} - {hit}
    return replace(outcome, gone=tuple(sorted(set(range(8)) - stay - {hit})))


FORMING = "ended while the group was forming"
SAME_AS_LATE = "a rank that has not joined is late: see `late`"
SAME_BEFORE = "nothing of muster runs in a rank that has not joined: the same as `killed`"
NOT_OF_RUN = "`muster run` does nothing of the kind while it joins; its program has not started"
NOT_AGAIN_LATER = "it is looked at once, when the rank joins: before that there is nothing to see, after it no more"
DOOR_CLOSED = "the root's port is closed once the group has formed"
AS_BEFORE = "comes to the same as before joining: what counts is the hello"


def dies(code, how, joining=True):
    """A rank's program that ends so."""
    program = lost(rf"rank 5 on gpu03 failed: {how}", code, victim=(code,))
    member = lost(r"rank 5 on gpu03 ended without leaving its group", victim=(code,))
    return cells(
        before=SAME_BEFORE,
        rendezvous=(NOT_OF_RUN, lost(f"rank 5 on gpu03 {FORMING}", victim=(code,))) if joining else NOT_OF_RUN,
        idle=(program, member),
        collective=(program, member),
        shutdown=(at_shutdown(program, 5), at_shutdown(member, 5)),
    )


def with_cells(table, **phases):
    merged = dict(table)
    for phase, given in phases.items():
        run, library = given if isinstance(given, tuple) else (given, given)
        merged[phase, RUN], merged[phase, LIBRARY] = run, library
    return merged


GONE_WITHOUT = r"rank 5 on gpu03 (closed its connections|ended) without leaving its group|" \
    r"rank 5 on gpu03 exited with 0 without leaving its group|" \
    r"the program of rank 5 on gpu03 closed its connections without leaving its group"


def exits_with_zero():
    program = lost(GONE_WITHOUT, victim=(69,))
    member = lost(GONE_WITHOUT, victim=(0,))
    return cells(
        before=missing("gpu03: 5"),
        rendezvous=(NOT_OF_RUN, lost(f"rank 5 on gpu03 {FORMING}", victim=(0,))),
        idle=(program, member),
        collective=(program, member),
        shutdown=(at_shutdown(program, 5), at_shutdown(member, 5)),
    )


def process_killed(rank, node):
    """kill -9 of the process that is the rank for its peers: `muster run`, or the library's process."""
    text = rf"rank {rank} on {node} ended without leaving its group"
    left = lost(text, victim=(137,))
    return {"rendezvous": lost(f"rank {rank} on {node} {FORMING}", victim=(137,)),
            "idle": left, "collective": left, "shutdown": at_shutdown(left, rank)}


SILENT_TEXT = "ranks 4,5 on gpu03 fell silent: no message for [3-9]"
IMPATIENT = {"MUSTER_LIVENESS_HEARTBEAT": "200ms", "MUSTER_LIVENESS_SUSPECT_AFTER": "1s",
             "MUSTER_LIVENESS_DEAD_AFTER": f"{DEAD_AFTER:.0f}s"}
SILENCE = lost(SILENT_TEXT, victim=ANYTHING, within=DEAD_AFTER + 4,
               root_says=r"warning: no message from ranks 4,5 on gpu03 for [1-3]\.\d s; lost after 3s")
LAST_ONE_SILENT = replace(SILENCE, gone=(1, 2, 3, 6, 7))
CUT_OFF = replace(SILENCE, victim_says=r"gpu03 is cut off: no message from ranks? 0(,1)? on gpu01 for [3-9]\S* s, "
                  "and none of 2 other nodes answers")
NODE_STOPPED = missing("gpu03: 4,5", "no contact with the node, which gpu01 reaches")
NODE_MISSING = missing("gpu03: 4,5", "no contact with the node, which gpu01 cannot reach")
ROOT_SILENT = lost("ranks? 0(-1)? on gpu01 fell silent: no message for [3-9]", victim=ANYTHING,
                   within=DEAD_AFTER + 4)
ROOT_CUT_OFF = replace(ROOT_SILENT, victim_says=r"gpu01 is cut off: no message from 3 of the 3 other nodes for [3-9]")
NO_ROOT = Outcome(75, r"the root, rank 0 on gpu01, did not (answer|appear) within 8s", within=DEADLINE + 10,
                  victim=ANYTHING, deadline=True)
UNPROVEN = r".*"

FAULTS = [
    Fault("killed", "kill -9 of a rank", (5,), with_cells(dies(137, r"signal 9 \(Killed\)"),
          before=missing("gpu03: 5"), rendezvous=lost(f"rank 5 on gpu03 {FORMING}", victim=(137,))),
          inflict.Signal(9)),
    Fault("exit-0", "a rank ends with 0 too early", (5,), exits_with_zero(), inflict.Order("exit 0")),
    Fault("exit-3", "a rank ends with 3", (5,), dies(3, "exit 3"), inflict.Order("exit 3")),
    Fault("segfault", "a rank's program crashes", (5,), dies(139, r"signal 11 \(Segmentation fault\)"),
          inflict.Signal(11)),
    Fault("abort", "a rank's program aborts", (5,), dies(134, r"signal 6 \(Aborted\)"), inflict.Signal(6)),
    Fault("memory", "the kernel ends a rank that took too much memory", (5,),
          dies(137, r"(out of memory|signal 9 \(Killed\))"), inflict.Memory()),
    Fault("root-program", "kill -9 of the program of the rank that forms the group", (0,), cells(
          before="see `root-killed`", rendezvous=NOT_OF_RUN,
          **dict.fromkeys(("idle", "collective"), (
              lost(r"rank 0 on gpu01 failed: signal 9 \(Killed\)", 137, victim=(137,)), "see `root-killed`")),
          shutdown="see `root-killed`"), inflict.Signal(9)),
    Fault("run-killed", "kill -9 of the `muster run` of a rank", (5,),
          cells(before=SAME_BEFORE, **{
              phase: (given[0] if isinstance(given, tuple) else given, "there is none")
              for phase, given in process_killed(5, "gpu03").items()}), inflict.Signal(9, process=True)),
    Fault("leader-killed", "kill -9 of the process that speaks for a node", (4,),
          cells(before=missing("gpu03: 4"), **process_killed(4, "gpu03")), inflict.Signal(9, process=True)),
    Fault("root-killed", "kill -9 of the process that forms the group", (0,), with_cells(
          cells(before=NO_ROOT, **process_killed(0, "gpu01")),
          shutdown=replace(FINE, victim=(137,))), inflict.Signal(9, process=True)),
    Fault("stopped", "SIGSTOP of all processes of a node", (4, 5), cells(
          before=NODE_STOPPED, rendezvous=replace(SILENCE, forms=True), idle=SILENCE, collective=SILENCE,
          shutdown=LAST_ONE_SILENT), inflict.Stop(), IMPATIENT),
    Fault("paused", "the same, for less than dead_after", (4, 5), cells(
          before=SAME_AS_LATE,
          rendezvous=FINE, idle=FINE, collective=FINE, shutdown=FINE),
          inflict.Stop(seconds=1.5), {**IMPATIENT, "MUSTER_LIVENESS_DEAD_AFTER": "20s"}),
    Fault("frozen", "SIGSTOP of all ranks at once, for longer than dead_after", (), cells(
          before=SAME_AS_LATE, rendezvous=FINE, idle=FINE, collective=FINE, shutdown=FINE),
          inflict.Stop(seconds=2 * DEAD_AFTER, everybody=True), IMPATIENT),
    Fault("late", "a rank comes 3 s later", (5,), cells(
          before=FINE, rendezvous="who joins late is late before joining", idle=FINE, collective=FINE,
          shutdown=FINE), inflict.Late(3)),
    *[Fault(f"{who}-late", f"the {who} comes 3 s later", (rank,), cells(
          before=FINE, **dict.fromkeys(PHASES[1:], "see `late`")), inflict.Late(3))
      for who, rank in (("leader", 4), ("root", 0))],
    Fault("never", "a rank never starts", (5,), cells(
          before=missing("gpu03: 5"), **dict.fromkeys(PHASES[1:], "it has started by then")), inflict.Signal(9)),
    Fault("duplicate", "a second process says it is the same rank", (5,), cells(
          before="whoever comes second is the duplicate: see in rendezvous",
          rendezvous=Outcome(76, r"rank 5 is claimed twice: by pid \d+ on gpu0[34] and by pid \d+ on gpu0[34]",
                             within=30, forms=True),
          idle=FINE, collective=FINE, shutdown=FINE), strangers.Duplicate(), strangers.BY_HAND),
    Fault("world-size", "a rank thinks the world is larger", (5,), cells(
          before=AS_BEFORE, rendezvous=Outcome(
              76, r"the ranks disagree on the world size: rank 5 on gpu03 has 9, ranks? \S+ on gpu0. has 8|"
              r"the ranks disagree on the world size: ranks? \S+ on gpu0. has 8, rank 5 on gpu03 has 9", within=30),
          **dict.fromkeys(PHASES[2:], NOT_AGAIN_LATER)),
          strangers.OtherSize(), strangers.BY_HAND),
    Fault("configuration", "a rank has another configuration", (5,), cells(
          before=AS_BEFORE, rendezvous=Outcome(
              76, r"the configurations differ in timeouts.collective: rank 5 on gpu03 has 1h, ranks? \S+ on gpu0. "
              r"has the default", within=30),
          **dict.fromkeys(PHASES[2:], NOT_AGAIN_LATER)),
          inflict.Prepared('[ "$SLURM_PROCID" != 5 ] || export MUSTER_TIMEOUTS_COLLECTIVE=1h')),
    Fault("stale", "a process of the job's earlier incarnation comes to the requeued one", (), cells(
          before="it is a later hello that counts: see in rendezvous",
          rendezvous=FINE, idle=FINE, collective=FINE, shutdown=FINE),
          strangers.Stale(), {"SLURM_RESTART_COUNT": "1"}),
    Fault("cable", "the cable of a node is pulled", (4, 5), cells(
          before=NODE_MISSING, rendezvous=replace(SILENCE, forms=True), idle=CUT_OFF, collective=CUT_OFF,
          shutdown=LAST_ONE_SILENT), inflict.Cable(NODE), IMPATIENT, alone="cable"),
    Fault("root-cable", "the cable of the root's node is pulled", (0, 1), cells(
          before=NO_ROOT,
          rendezvous=Outcome(75, r"the group did not form within 8s|did not answer within 8s", DEADLINE + 15,
                             victim=ANYTHING, deadline=True, forms=True),
          idle=ROOT_CUT_OFF, collective=ROOT_CUT_OFF, shutdown=FINE),
          inflict.Cable(ROOTS_NODE), IMPATIENT, alone="root-cable"),
    Fault("bad-line", "30 % of a node's packets are lost, the others take 200 ms", (4, 5), cells(
          before=FINE, rendezvous=FINE, idle=FINE, collective=FINE, shutdown=FINE),
          inflict.BadLine(NODE), alone="bad-line"),
    *[Fault(f"squatter-{kind}", f"a stranger has taken ports of the root and {does}", (), cells(
          before=FINE, rendezvous="the root has its port by then", **dict.fromkeys(PHASES[2:], DOOR_CLOSED)),
          strangers.Squatter(kind)) for kind, does in
      (("silent", "is silent"), ("echo", "echoes"), ("store", "speaks TCPStore"))],
    Fault("scanner", "a scanner sends random bytes, HTTP and TLS hellos to every port of the ranks", (), cells(
          before="nobody listens yet", rendezvous=FINE, idle=FINE, collective=FINE, shutdown=FINE),
          strangers.Knocker("scan")),
    Fault("half-open", "2000 connections that say nothing, to every port of the root", (), cells(
          before="nobody listens yet", rendezvous=FINE, idle=FINE, collective=FINE, shutdown=FINE),
          strangers.Knocker("hold", "2000", seconds=3)),
    Fault("secret", "a node has another secret", (4, 5), cells(
          before=missing("gpu03: 4,5", "no contact with the node, which gpu01 reaches",
                         r"; rejected: 198.18.1.3:\d+ has another job secret than rank 0 on gpu01",
                         victim_says="has another job secret than this rank"),
          **dict.fromkeys(PHASES[1:], NOT_AGAIN_LATER)),
          inflict.Prepared(f'[ "$SLURMD_NODENAME" != {NODE} ] || export MUSTER_SECRET={"b" * 64}'),
          {"MUSTER_RENDEZVOUS_AUTH": "secret", "MUSTER_SECRET": "a" * 64}),
    Fault("user", "a process of another user says it is a rank", (), cells(
          before="it is a later hello that counts: see in rendezvous",
          rendezvous=FINE, idle=FINE, collective=FINE, shutdown=FINE), strangers.AnotherUser()),
    Fault("munged-dead", "munged has ended on a node", (4, 5), cells(
          before=missing("gpu03: 4,5", "no contact with the node, which gpu01 reaches", UNPROVEN,
                         victim_says="munged does not answer at /run/munge/munge.socket.2"),
          **dict.fromkeys(PHASES[1:], NOT_AGAIN_LATER)), strangers.Munged("dead")),
    Fault("munged-stopped", "munged hangs on a node", (4, 5), cells(
          before=missing("gpu03: 4,5", "no contact with the node, which gpu01 reaches", UNPROVEN, victim_says="munged "),
          **dict.fromkeys(PHASES[1:], NOT_AGAIN_LATER)), strangers.Munged("stopped")),
    Fault("clock", "the clock of a node is an hour ahead", (4, 5), cells(
          before=missing("gpu03: 4,5", "no contact with the node, which gpu01 reaches", r"; rejected: 198.18.1.3:\d+ .*clock",
                         victim_says="the clock of this node is 3[56]\\d\\d s ahead of the peer's"),
          **dict.fromkeys(PHASES[1:], NOT_AGAIN_LATER)), strangers.Munged("ahead")),
    Fault("slow-names", "names take 3 s to resolve on a node", (), cells(
          before=FINE, rendezvous=AS_BEFORE, **dict.fromkeys(PHASES[2:], "addresses are known by then")),
          strangers.SlowNames(3)),
    Fault("descriptors", "64 descriptors a process", (), cells(
          before=FINE, **dict.fromkeys(PHASES[1:], "a limit is set before a process starts")),
          inflict.Prepared("ulimit -n 64")),
    Fault("full-disk", "the log goes to a full disk", (), cells(
          before=FINE, **dict.fromkeys(PHASES[1:], "the file is opened at the start; what comes later is the same")),
          settings={"MUSTER_LOG_FILE": "/dev/full", "MUSTER_LOG_LEVEL": "debug"}),
]
