"""One cell of the fault matrix, played: a step is brought to the phase, the fault happens, and what follows is judged."""

import copy
import os
import re
import time
from dataclasses import dataclass

import sockets
from fault_table import BEFORE, COLLECTIVE, DEADLINE, IDLE, LIBRARY, RENDEZVOUS, RUN, SHUTDOWN, Fault, Outcome
from observer import RANKS, Step, Stuck

# Which rank is excluded during the rendezvous, and which one stays to report the failure: the root, and its leader.
HELD = 7
STAY = (0, 6)
# If the root is hit: in its place, for ranks that may come.
IN_PLACE_OF_ROOT = 1
# Which rank the others wait for if none is hit.
AWAITED = 5
# A collective's ranks are all in it.
ALL_INSIDE = 0.3
SETTLED = 0.3


@dataclass(frozen=True)
class Cell:
    fault: Fault
    phase: str
    way: str

    @property
    def outcome(self):
        return self.fault.cells[self.phase, self.way]

    @property
    def means_something(self):
        return isinstance(self.outcome, Outcome)

    def __str__(self):
        return f"{self.fault.name} {self.phase} {self.way}"


@dataclass(frozen=True)
class Verdict:
    cell: Cell
    seconds: float  # from the fault to the end of the last rank that was not hit; NaN: it never came to that
    problems: tuple
    ended_by_slurm: str = ""  # what srun said, if Slurm itself ended the step


class Play:
    def __init__(self, cell, folder, programs, together=None, preload="", still=True):
        self.still, self.preload = still, preload
        self.cell, self.outcome, self.phase = cell, cell.outcome, cell.phase
        self.hits = cell.fault.hits
        self.others = tuple(rank for rank in RANKS if rank not in self.hits)
        self.act = copy.copy(cell.fault.inflict)
        self.act.together, self.act.programs = together, programs
        self.problems = []
        self.struck = float("nan")
        os.makedirs(folder)
        os.chmod(folder, 0o1777)
        benign = self.outcome.benign
        patience = DEADLINE if self.outcome.deadline else 15 if cell.phase == RENDEZVOUS and not benign else 60
        environment = {"MUSTER_TIMEOUTS_RENDEZVOUS": f"{patience:.0f}s", **cell.fault.settings}
        if preload:
            environment.update({"LD_PRELOAD": preload, "STANDSTILL_WHEN": os.path.join(folder, "standstill")})
        prepare = self.act.start(folder, cell.phase)
        group = [programs["member"], folder, "group"]
        command = group if cell.way == LIBRARY else [programs["muster"], "run", "--", *group]
        self.step = Step(folder, [programs["member"], folder, "gate", *command], environment, prepare)
        self.step.lone = [programs["muster"], "run", "--", "true"]

    # ---- up to the fault and past it

    def play(self):
        getattr(self, f"_{self.phase}")()
        self._await_ends()
        if self.problems and self.preload:
            return
        if not self.outcome.benign:
            self.act.heal(self.step, self.hits)
            self._let_go(self.hits)
        self.step.await_ends(RANKS, 40)

    def _strike(self):
        # The canary: from here on there is no control plane.
        if self.still:
            with open(os.path.join(self.step.folder, "standstill"), "w", encoding="ascii"):
                pass
        self.struck = time.monotonic()
        self.struck = self.act.strike(self.step, self.hits) or self.struck

    # If no rank is hit, the others wait for one, so that the phase lasts.
    @property
    def _awaited(self):
        return self.hits or (AWAITED,)

    @property
    def _rest(self):
        return tuple(rank for rank in RANKS if rank not in self._awaited)

    def _let_go(self, ranks):
        for _ in range(3):
            self.step.order(ranks)

    def _finish(self):
        """Ends a transient fault: all ranks go to their end."""
        self.act.heal(self.step, self.hits)
        if self.phase in (BEFORE, RENDEZVOUS):
            self.step.order(self._awaited if self.phase == BEFORE else (HELD,))
            self.step.await_phase(IDLE)
        self._let_go(RANKS)

    def _before(self):
        self.step.await_phase(BEFORE)
        self._strike()
        self.step.order(self._rest)
        if self.outcome.benign:
            return self._finish()
        self.step.order(self._awaited)

    def _rendezvous(self):
        self.step.await_phase(BEFORE)
        self.step.order([rank for rank in RANKS if rank != HELD])
        if self.cell.way == LIBRARY:
            self.step.await_phase("joining", [rank for rank in RANKS if rank != HELD])
        self._await_joined()
        self._strike()
        if self.outcome.benign:
            return self._finish()
        if not self.outcome.forms:
            self.step.await_ends([rank for rank in self.others if rank not in self._late()], self.outcome.within)
        self.step.order((HELD,))
        if self.outcome.forms and self.cell.way == LIBRARY and not self.outcome.deadline:
            self.step.pump(lambda: set(self.others) <= self.step.reached.get(IDLE, set()) | set(self.step.ended), 20)
            self._let_go(self.others)

    def _late(self):
        return (*STAY, HELD, IN_PLACE_OF_ROOT) if 0 in self.hits else (*STAY, HELD)

    def _await_joined(self):
        """All except the one that is held have connected."""
        enough = 1 if self.cell.way == RUN else 2  # the library's process has the observer as a peer as well

        def joined(rank):
            if rank in self.step.ended or rank == 0:
                return True
            # Of a group that has failed already, a rank has ended: a rank that stays has left its root.
            if rank in STAY and self.step.ended:
                return True
            pid = self.step.process(rank)
            return sockets.tcp(pid, sockets.ESTABLISHED) if rank % 2 == 0 else sockets.unix_peers(pid) >= enough

        end, since = time.monotonic() + 30, None
        while since is None or time.monotonic() - since < SETTLED:
            self.step.sleep(0.05)
            if not all(joined(rank) for rank in RANKS if rank != HELD):
                since = None
            elif since is None:
                since = time.monotonic()
            if time.monotonic() > end:
                raise Stuck(f"not all have joined: {self.step.said()}")

    def _idle(self):
        self._go_to(IDLE)
        self._strike()
        if self.outcome.benign:
            self.step.order(self._rest)
            return self._finish()
        if self.cell.way == LIBRARY:
            # The library reports it with the next call: the time counts from there.
            self.step.sleep(ALL_INSIDE)
            self.struck = time.monotonic()
            self._let_go(self.others)

    def _collective(self):
        self._go_to(COLLECTIVE)
        self.step.order(self._rest)
        self.step.sleep(ALL_INSIDE)
        self._strike()
        if self.outcome.benign:
            self._finish()

    def _shutdown(self):
        self._go_to(SHUTDOWN)
        self.step.order(self._rest)
        if not self.step.await_ends(self.outcome.gone, 20):
            self.problems.append(f"ranks {self.step.pending(self.outcome.gone)} do not leave: {self.step.said()}")
        self.step.sleep(ALL_INSIDE)
        self._strike()
        if self.outcome.benign:
            self._finish()

    def _go_to(self, phase):
        self.step.await_phase(BEFORE)
        self.step.order(RANKS)
        for step in (IDLE, COLLECTIVE, SHUTDOWN):
            self.step.await_phase(step)
            if step == phase:
                return
            self.step.order(RANKS)

    def _await_ends(self):
        stay = [rank for rank in self.others if rank not in self.outcome.gone]
        left = self.outcome.within - (time.monotonic() - self.struck)
        # The rank that was held, and those who stay for it, come after that.
        late = 25 if self.phase == RENDEZVOUS else 0
        if not self.step.await_ends(stay, max(left, 1) + late):
            pending = self.step.pending(stay)
            self.problems.append(f"{self.outcome.within:.0f} s after it ranks {pending} are still there")

    # ---- what came of it

    def judge(self):
        step, outcome = self.step, self.outcome
        step.pump(lambda: all(step.code(rank) is not None for rank in step.ended), 5)
        for rank in self.others:
            gone = rank in outcome.gone
            expected = 0 if gone else outcome.code
            if step.code(rank) != expected:
                self.problems.append(f"rank {rank} ended with {step.code(rank)}, not {expected}: {self._last(rank)}")
            elif outcome.says and not gone and not self._told(rank, outcome.says):
                self.problems.append(f"rank {rank} did not say '{outcome.says}': {self._last(rank)}")
            if outcome.benign and self.cell.fault.hits == () and re.search("error: |^member: ", step.text(rank)):
                self.problems.append(f"rank {rank} complains: {self._last(rank)}")
        for rank in self.hits:
            if outcome.victim and step.code(rank) not in outcome.victim:
                self.problems.append(f"rank {rank}, which was hit, ended with {step.code(rank)}: {self._last(rank)}")
            if outcome.victim_says and not self._told(rank, outcome.victim_says):
                self.problems.append(f"rank {rank} did not say '{outcome.victim_says}': {self._last(rank)}")
        if not re.search(outcome.root_says, step.text(0)):
            self.problems.append(f"the root did not say '{outcome.root_says}'")
        if wrong := self.act.wrong(step):
            self.problems.append(wrong)

    def _told(self, rank, pattern):
        """By itself; a `muster run` without an error message may leave it to one that logs for the group."""
        own = self.step.text(rank)
        if re.search(pattern, own):
            return True
        silent = self.cell.way == RUN and "error: " not in own
        return silent and any(re.search(pattern, self.step.text(other)) for other in RANKS)

    def _last(self, rank):
        return (self.step.text(rank).strip().splitlines() or ["nothing"])[-1]

    def seconds(self):
        apart = self._late() if self.phase == RENDEZVOUS and not self.outcome.forms else ()
        ends = [end for rank, end in self.step.ended.items()
                if rank in self.others and rank not in self.outcome.gone and rank not in apart]
        return max(ends) - self.struck if ends else float("nan")

    def close(self):
        self.act.close()
        left = self.step.close(2 if self.problems else 20)
        if left and not self.problems:
            self.problems.append(f"left behind: {'; '.join(left)}")


def play(cell, folder, programs, together=None, **canary):
    """canary: preload, a library, and whether the control plane then stands still."""
    act = Play(cell, folder, programs, together, **canary)
    took = float("nan")
    try:
        act.play()
        act.judge()
        took = act.seconds()
        if took > cell.outcome.within:
            act.problems.append(f"the last rank ended {took:.1f} s after it")
        act.act.after()
    except Stuck as stuck:
        act.problems.append(str(stuck))
        act.act.leave()
    finally:
        ended_by_slurm = act.step.ended_by_slurm() if act.problems else ""
        act.close()
    return Verdict(cell, took, tuple(act.problems), ended_by_slurm)


