// LSF's blaunch. From the documentation of PRRTE's ess/lsf, which starts its daemons by it; never run here.
//   LSF_PM_TASKID      counts its tasks from 1
//   LSB_DJOB_NUMPROC   the job's slots: the number of tasks only if there is one for each slot
//   LSB_JOBID
// mpirun's ranks inherit their daemon's LSF_PM_TASKID, and no variable has the number of tasks: a rank only
// on request.
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"

namespace muster::resolve {
namespace {

constexpr std::string_view kTask = "LSF_PM_TASKID";
constexpr std::string_view kSlots = "LSB_DJOB_NUMPROC";

Result<Candidate> Read(const Environment& environment) {
  MUSTER_TRY(const auto task, environment.GetCount(kTask));
  MUSTER_TRY(const auto slots, environment.GetCount(kSlots));
  if (!slots)
    return Fail(Code::kBadEnvironment, "{}={} is set but {} is not: half a pair", kTask, *task, kSlots);
  if (*task < 1 || *task > *slots) {
    return Fail(Code::kBadEnvironment, "{}={} is outside 1 to {}={}", kTask, *task, kSlots, *slots);
  }
  Candidate candidate;
  candidate.tuple.launcher = "blaunch";
  candidate.tuple.rank = *task - 1;
  candidate.tuple.world_size = *slots;
  candidate.sources = {{"rank", "LSF_PM_TASKID - 1", {}}, {"world_size", std::string(kSlots), {}}};
  ReadJobId(environment, {"LSB_JOBID"}, candidate);
  return candidate;
}

Probed ProbeBlaunch(const Environment& environment, const ProbeContext& context) {
  if (!environment.Has(kTask)) return Absent{"no LSF_PM_TASKID"};
  if (!context.forced) {
    const std::string claim = fmt::format("{}={}", kTask, *environment.Get(kTask));
    return Incomplete{
        {Code::kBadEnvironment,
         fmt::format("{} is a task of LSF's blaunch, but the number of tasks is unknown", claim),
         "if LSB_DJOB_NUMPROC is that number, force it with MUSTER_LAUNCHER=blaunch"},
        claim};
  }
  return ToProbed(Read(environment));
}

constexpr std::string_view kOthers[] = {"LSF_PM_TASKID", "LSB_DJOB_NUMPROC", "LSB_JOBID"};

}  // namespace

constinit const Launcher kBlaunchLauncher{
    .name = "blaunch",
    .probe = ProbeBlaunch,
    .documented = "LSF's blaunch",
    .others = kOthers,
    .note = "only if forced; the rank is `LSF_PM_TASKID` - 1",
    .shares_job_id = true,
};

}  // namespace muster::resolve
