// How the tuples of two launchers relate: the rule for nested launchers.
#pragma once

#include "bootstrap/environment/candidate.h"
#include "bootstrap/environment/environment.h"
#include "bootstrap/resolve/launchers/launchers.h"

namespace muster::resolve {

enum class Nesting {
  kSame,       // one world seen twice
  kCarries,    // `outer` is a process that started `inner`'s ranks (or their daemon)
  kUnrelated,  // neither
};

// Of `outer` to `inner`. The evidence, strongest first:
//  - the environment that the Slurm task, or the supervisor of muster run, above this process started with: a
//    launcher already in there is outside, one that is not there was started inside (live processes; not for
//    the bare torch tuple, which has no signature: if it was there before a step of several tasks, it does not
//    belong to a block);
//  - an mpirun's daemons are one Slurm task a node;
//  - equal rank and size: the same world;
//  - a carrier of one process, or of one process for each node of the inner launch (any order: torchrun numbers
//    its nodes as they arrive), or, for a bare torch tuple, of k ranks each, numbered in blocks (mp.spawn).
Nesting Relate(const Candidate& outer, const Candidate& inner, const Environment& environment,
               const LauncherTable& launchers = Launchers());

// The Slurm task above this process was started with the same variables of that launcher: they are not of a launcher
// inside the task.
bool IsOlderThanTheTask(const Launcher& launcher, const Environment& environment);

// In a batch script or another process of a Slurm job that is no task: it was started with these variables. sbatch passed
// them on from the process that submitted the job, or a launch in the job has equal ones.
bool MayBeOfTheSubmitter(const Launcher& launcher, const Environment& environment);

// The same without the second possibility: the launcher's nonce is among them.
bool IsOfTheSubmitter(const Launcher& launcher, const Environment& environment);

}  // namespace muster::resolve
