// Whether a signal that came to the supervisor has come to its program as well, so that it is passed on once
// and not twice: a second SIGINT or SIGUSR1 means something else to many programs.
//
// Which process signals which (Slurm 25.11, src/plugins/proctrack): proctrack/cgroup signals the direct
// children of slurmstepd only, except for SIGKILL; proctrack/linuxproc every descendant; proctrack/pgid the
// step's process group; cgroup.conf's SignalChildrenProcesses=yes makes cgroup signal all descendants. A
// terminal signals its foreground process group, but of a hang-up the leader of the session alone. A user's
// `kill PID` is for that process.
//
// A process cannot find out which other processes got a signal, so this is evidence: proctrack/cgroup alone
// puts the step into a control group of its own, beside slurmstepd's. If the evidence misleads, the program
// gets a signal twice: SignalChildrenProcesses=yes; linuxproc together with a task plug-in that uses cgroup
// v2, or with hidepid= of /proc if slurmstepd did not start this process itself; `kill -- -PGID` by hand. The
// exception is proctrack/pgid, which Slurm discourages: a program in a process group of its own does not get Slurm's
// signals (SIGKILL reaches it when muster ends).
#pragma once

#include <string>
#include <string_view>

#include "bootstrap/process/signals.h"

namespace muster::process {

// True: do not pass it on. `own_process_group`: ChildOptions. `is_task`: Slurm has started this very process
// (SLURM_TASK_PID). Reads a few files of /proc.
bool ReachedProgram(const SignalEvent& event, bool own_process_group, bool is_task);

// True: the sender ends programs itself, or lets them go on: Slurm, a process of another user whose name hidepid= of
// /proc hides, or a process outside this process's PID namespace (a container's runtime).
bool FromScheduler(const SignalEvent& event);

// Whether these lines of TrackingGroup show that proctrack/cgroup does not track this process. Not without a line, nor
// with root groups alone: a namespace may hide the rest.
bool IsOutsideSteps(std::string_view tracking_group);

// The control group that proctrack/cgroup would set up, out of /proc/PID/cgroup: v1's freezer and v2's only
// hierarchy. For tests of ReachedProgram's evidence.
std::string TrackingGroup(std::string_view proc_cgroup);

}  // namespace muster::process
