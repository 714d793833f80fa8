// The tuple from the flags --rank, --world-size, --local-rank; rank 0 listens at --endpoint.
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"

namespace muster::resolve {
namespace {

constexpr TupleVariables kFlags{
    .rank = "--rank",
    .world_size = "--world-size",
    .local_rank = "--local-rank",
};

Status CheckFlags(const ExplicitTuple& flags) {
  if (!flags.rank) return Fail(Code::kUsage, "--rank is missing: --rank and --world-size go together");
  if (!flags.world_size)
    return Fail(Code::kUsage, "--world-size is missing: --rank and --world-size go together");
  for (const auto& [name, value] :
       {std::pair("--rank", flags.rank), std::pair("--world-size", flags.world_size),
        std::pair("--local-rank", flags.local_rank)}) {
    if (value && *value < 0) return Fail(Code::kUsage, "{} {} is negative", name, *value);
  }
  return {};
}

Probed ProbeExplicit(const Environment&, const ProbeContext& context) {
  const ExplicitTuple& flags = context.explicit_tuple;
  if (!flags.given()) return Absent{"no --rank"};
  if (auto status = CheckFlags(flags); !status) return Malformed{status.error()};
  Candidate candidate;
  candidate.tuple.launcher = "explicit";
  candidate.tuple.rank = *flags.rank;
  candidate.tuple.world_size = *flags.world_size;
  candidate.tuple.local_rank = flags.local_rank;
  if (auto status = CheckBounds(candidate.tuple, kFlags); !status) {
    return Malformed{Error{Code::kUsage, status.error().message, "correct it: ranks count from 0"}};
  }
  candidate.sources = {{"rank", "--rank", {}}, {"world_size", "--world-size", {}}};
  if (flags.local_rank) candidate.sources.push_back({"local_rank", "--local-rank"});
  candidate.tuple.job.key = JobKey("explicit", {.id = flags.endpoint ? ToString(*flags.endpoint) : ""});
  return candidate;
}

}  // namespace

constinit const Launcher kExplicitLauncher{
    .name = "explicit",
    .probe = ProbeExplicit,
    .tested = "flags",
    .tuple = kFlags,
    .role = LauncherRole::kFlags,
    .meets = Meets::kEndpoint,
};

}  // namespace muster::resolve
