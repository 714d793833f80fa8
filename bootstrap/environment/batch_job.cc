#include "bootstrap/environment/batch_job.h"

#include <algorithm>
#include <vector>

#include "comm/base/parse.h"

namespace muster {
namespace {

constexpr std::string_view kNone = "none";

std::vector<std::string> JobsIn(const Environment::Variables& variables) {
  const auto value = [&](std::string_view name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
  std::vector<std::string> jobs;
  // A batch job of Flux is an instance of Flux, with a socket of its own.
  for (const std::string_view name : {"FLUX_URI", "LSB_JOBID", "PBS_JOBID", "SLURM_JOB_ID"}) {
    if (const std::string id = value(name); !id.empty()) jobs.push_back(std::string(name) + "=" + id);
  }
  // Any program may use the name JOB_ID: it is Grid Engine's if the job's directory, .../active_jobs/7.1, has it, too.
  const std::string id = value("JOB_ID");
  const bool is_grid_engine = value("SGE_JOB_SPOOL_DIR").find("/" + id + ".") != std::string::npos;
  if (!id.empty() && is_grid_engine) jobs.push_back("JOB_ID=" + id);
  return jobs;
}

}  // namespace

std::string BatchJobs(const Environment::Variables& variables) {
  std::string text;
  for (const std::string& job : JobsIn(variables)) text += (text.empty() ? "" : " ") + job;
  return text.empty() ? std::string(kNone) : text;
}

bool IsOfAnotherBatchJob(const Environment& environment) {
  const auto record = environment.Get(kBatchJobRecord);
  const auto jobs = JobsIn(environment.All());
  if (!record || jobs.empty()) return false;
  // One that is still the same is enough: a program may set a variable of another batch system.
  const auto recorded = Split(*record, ' ');
  return std::ranges::none_of(
      jobs, [&](const std::string& job) { return std::ranges::find(recorded, job) != recorded.end(); });
}

}  // namespace muster
