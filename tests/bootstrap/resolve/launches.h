// Environments of made-up launches, put together by concatenation, and what they resolve to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/resolve/detect.h"

namespace muster::resolve {

// A task of Slurm job 9, step 1: `tasks` tasks, one on each of as many nodes n1, n2, ...; this is task
// `rank`.
std::string OneTaskANode(int tasks, int rank);
// The batch script of Slurm job 9: two tasks on each of n1 and n2.
std::string BatchScript();
// The batch script of Slurm job 10: one task on n1, process 400.
std::string OneTaskScript();
std::string Torchrun(int rank, int size, int local, int local_size, int node, int nodes);
std::string Openmpi(int rank, int size, int local, int local_size);
std::string Hydra(int rank, int size, int local, int local_size);
// RANK, WORLD_SIZE, LOCAL_RANK and a master.
std::string Bare(int rank, int size, int local);
// A program of `muster run`; its supervisor is process 500.
std::string Muster(int rank, int size, int local, int local_size, int node, int nodes);

// Fail the test where it goes the other way.
Resolution MustResolve(const Environment& environment, const DetectOptions& options = {});
Refusal MustRefuse(const Environment& environment, const DetectOptions& options = {});

// "winner" if it is not among the others.
std::string VerdictOn(std::string_view launcher, const std::vector<Considered>& considered);

// "rank=3 world_size=4 local_rank=1 job=flux:f58:0": what is known, without the launcher.
std::string TupleText(const RankTuple& tuple);

}  // namespace muster::resolve
