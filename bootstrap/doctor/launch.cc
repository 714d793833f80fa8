#include "bootstrap/doctor/launch.h"

#include <fmt/core.h>

namespace muster::doctor {

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
  if (error.code != Code::kNotLaunched) {
    finding.health = Health::kProblem;
    finding.cost = "muster run ends here at once";
  }
  return finding;
}

}  // namespace muster::doctor
