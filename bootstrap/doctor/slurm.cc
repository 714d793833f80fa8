#include <fmt/core.h>

#include "bootstrap/doctor/findings.h"
#include "bootstrap/process/captured.h"
#include "bootstrap/process/exec_child.h"
#include "bootstrap/slurm/helper_files.h"
#include "comm/base/parse.h"

namespace muster::doctor {
namespace {

constexpr size_t kLongestAnswer = 64 << 10;

Result<std::string> VersionOfSrun(const std::vector<std::string>& variables, Deadline deadline) {
  MUSTER_TRY(
      const std::string text,
      process::Capture(
          {"srun", process::AbsoluteCandidates("srun", variables), {"--version"}, variables, kLongestAnswer},
          deadline));
  return std::string(Trim(text));
}

}  // namespace

SlurmFacts LookAtSlurm(const Environment& environment, const std::optional<std::string>& helper,
                       Duration each) {
  const std::vector<std::string> variables = slurm::VariablesForHelper(environment);
  SlurmFacts facts{VersionOfSrun(variables, Deadline::After(each)),
                   {},
                   std::string(environment.Get("SLURM_JOB_ID").value_or(""))};
  if (!facts.version) return facts;
  const Result<std::string> help = process::Capture(
      {"muster-slurm", slurm::HelperFiles(helper, variables), {"--help"}, variables, kLongestAnswer},
      Deadline::After(each));
  if (!help) facts.helper = Fail(help.error());
  return facts;
}

Finding JudgeSlurm(const SlurmFacts& facts) {
  Finding finding{.subject = "slurm"};
  finding.facts = {{"version", facts.version.value_or("")},
                   {"muster_slurm", !facts.version ? "not needed"
                                    : facts.helper ? "runs"
                                                   : "does not run"},
                   {"job", facts.job}};
  if (!facts.version) {
    const bool absent = facts.version.error().code == Code::kConfiguration;
    finding.health = absent && facts.job.empty() ? Health::kOk : Health::kNote;
    finding.found = absent ? "no srun in PATH" : facts.version.error().message;
    if (finding.health == Health::kOk) return finding;
    finding.cost = "ranks are not started by srun from here";
    finding.remedy = absent ? "add the directory of srun to PATH, for example with the module of Slurm"
                            : "run srun --version: it must print its version";
    return finding;
  }
  finding.found = *facts.version;
  if (!facts.job.empty()) finding.found += fmt::format(", in job {}", facts.job);
  if (!facts.helper) {
    finding.health = Health::kNote;
    finding.found += fmt::format("; {}", facts.helper.error().message);
    finding.cost =
        "for steps with an unusual distribution of tasks, muster lacks the node of each rank and the end of "
        "the job: its messages name fewer nodes";
    finding.remedy = "install the muster-slurm that was built for this release of Slurm beside muster";
  }
  return finding;
}

}  // namespace muster::doctor
