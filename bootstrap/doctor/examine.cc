#include "bootstrap/doctor/examine.h"

#include <fmt/core.h>
#include <sys/utsname.h>

#include <utility>

#include "bootstrap/check/gather.h"
#include "bootstrap/join/data_options.h"
#include "comm/auth/munge.h"

namespace muster::doctor {
namespace {

Finding ExamineIdentity(const Environment& environment, const config::Config& config, Deadline deadline) {
  const Result<std::optional<auth::JobSecret>> secret = join::SecretOf(environment);
  if (!secret) {
    return {"identity",
            Health::kProblem,
            secret.error().message,
            "groups of several nodes do not form",
            secret.error().hint,
            {}};
  }
  const bool known = secret->has_value();
  return JudgeAuthentication(LookAtAuthentication(auth::kDefaultMungeSocket, known, deadline),
                             config.rendezvous.auth);
}

Result<LoginLimits> ReadLoginLimits() {
  LoginLimits limits;
  MUSTER_TRY(limits.processes, check::LimitOf(RLIMIT_NPROC, "processes"));
  MUSTER_TRY(limits.address_space, check::LimitOf(RLIMIT_AS, "virtual memory"));
  MUSTER_TRY(limits.file_size, check::LimitOf(RLIMIT_FSIZE, "the size of files"));
  return limits;
}

Finding ExamineLimits(const Result<check::RankFacts>& process) {
  const Result<LoginLimits> login = ReadLoginLimits();
  if (process && login) return JudgeLimits(*process, *login);
  const Error& error = process ? login.error() : process.error();
  return {"limits", Health::kProblem, error.message, "muster check fails", error.hint, {}};
}

}  // namespace

std::vector<Finding> Examine(const Environment& environment, const config::Config& config,
                             const join::StartOptions& asked, Duration each) {
  utsname system{};
  uname(&system);
  const check::NodeFacts node = check::FactsOfThisNode({});
  const Result<check::RankFacts> process = check::FactsOfThisProcess({});
  Finding machine = JudgeSystem(node, process.value_or(check::RankFacts{}), system.machine);
  AddProgram(LookAtProgram(environment), machine);
  return {
      std::move(machine),
      ExamineLimits(process),
      JudgeSharedMemory(node, ProblemOfSharedMemory()),
      ExamineSockets(join::SharedDirectories(environment)),
      ExamineNetwork(config.rendezvous.interface),
      ExamineIdentity(environment, config, Deadline::After(each)),
      JudgeSlurm(LookAtSlurm(environment, config.rendezvous.slurm_helper, each)),
      JudgeGpus(LookAtGpus(join::LibraryPlacesIn(environment), node.gpus, CountGpus({}), each)),
      JudgeLaunch(join::ResolveLaunch(environment, config, asked)),
  };
}

Finding JudgeLaunch(const tl::expected<resolve::Resolution, resolve::Refusal>& resolved) {
  Finding finding{.subject = "launcher"};
  if (resolved) {
    const RankTuple& tuple = resolved->tuple;
    finding.facts = {{"launcher", tuple.launcher},
                     {"rank", std::to_string(tuple.rank)},
                     {"world_size", std::to_string(tuple.world_size)}};
    if (tuple.world_size == 1) {
      finding.found = fmt::format("{}: a world of one", tuple.launcher);
    } else {
      finding.found = fmt::format("{}: rank {} of {}", tuple.launcher, tuple.rank, tuple.world_size);
    }
    return finding;
  }
  const Error& error = resolved.error().error;
  finding.found = error.message;
  finding.remedy = error.hint;
  finding.facts = {{"launcher", ""}, {"code", std::string(CodeName(error.code))}};
  finding.health = error.code == Code::kNotLaunched ? Health::kNote : Health::kProblem;
  finding.cost = "muster run exits here immediately";
  return finding;
}

}  // namespace muster::doctor
