#include "bootstrap/doctor/examine.h"

#include <sys/utsname.h>

#include "bootstrap/check/gather.h"
#include "bootstrap/doctor/authentication.h"
#include "bootstrap/doctor/gpus.h"
#include "bootstrap/doctor/launch.h"
#include "bootstrap/doctor/meeting_places.h"
#include "bootstrap/doctor/slurm.h"
#include "bootstrap/doctor/system.h"
#include "bootstrap/join/data_options.h"
#include "comm/auth/munge.h"

namespace muster::doctor {
namespace {

Finding ExamineIdentity(const Environment& environment, const config::Config& config, Deadline deadline) {
  const Result<std::optional<auth::JobSecret>> secret = join::SecretOf(environment);
  if (!secret) {
    return {"identity", Health::kProblem, secret.error().message, "no group forms", secret.error().hint, {}};
  }
  const bool known = secret->has_value();
  return JudgeAuthentication(LookAtAuthentication(auth::kDefaultMungeSocket, known, deadline),
                             config.rendezvous.auth);
}

}  // namespace

std::vector<Finding> Examine(const Environment& environment, const config::Config& config,
                             const join::StartOptions& asked, Deadline deadline) {
  utsname system{};
  uname(&system);
  const check::NodeFacts node = check::FactsOfThisNode({});
  const check::RankFacts process = check::FactsOfThisProcess({});
  return {
      JudgeSystem(node, process, system.machine),
      JudgeLimits(process),
      JudgeSharedMemory(node),
      ExamineSockets(join::SharedDirectories(environment)),
      ExamineNetwork(),
      ExamineIdentity(environment, config, deadline),
      JudgeSlurm(LookAtSlurm(environment, config.rendezvous.slurm_helper, deadline)),
      JudgeGpus(LookAtGpus(join::LibraryPlacesIn(environment), node.gpus, deadline)),
      JudgeLaunch(join::ResolveLaunch(environment, config, asked)),
  };
}

}  // namespace muster::doctor
