#include "comm/nccl/communicator/start_report.h"

#include <string_view>
#include <utility>

#include "comm/base/lists.h"
#include "comm/base/parse.h"

namespace muster::nccl {
namespace {

// The other ranks wait for the rank that is furthest behind.
constexpr std::pair<StartStage, std::string_view> kStages[] = {
    {StartStage::kNotEntered, "had not entered it"},
    {StartStage::kNotReturned, "had entered it and not returned"},
    {StartStage::kWaiting, "waited in it"},
};

std::vector<int> RanksAt(StartStage stage, const std::vector<StartReport>& reports) {
  std::vector<int> ranks;
  for (size_t rank = 0; rank < reports.size(); ++rank) {
    if (reports[rank].stage == stage) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

// "rank 2 on gpu02", "ranks 2,3 (the first: rank 2 on gpu02; its last error: no route to host)"
std::string Describe(const Roster& roster, const std::vector<int>& ranks,
                     const std::vector<StartReport>& reports) {
  const std::string first = DescribeRank(roster, ranks.front());
  const std::string& last_error = reports[static_cast<size_t>(ranks.front())].last_error;
  const std::string words = last_error.empty() ? "" : "its last error: " + last_error;
  if (ranks.size() == 1) return words.empty() ? first : fmt::format("{} ({})", first, words);
  return fmt::format("{} (the first: {}{}{})", FormatRanks(ranks), first, words.empty() ? "" : "; ", words);
}

}  // namespace

Status JudgeStart(const Roster& roster, const std::vector<StartReport>& reports, Duration limit) {
  std::string behind;
  size_t missing = 0;
  for (const auto& [stage, doing] : kStages) {
    const std::vector<int> ranks = RanksAt(stage, reports);
    if (ranks.empty()) continue;
    missing += ranks.size();
    behind += fmt::format("{} {}; ", Describe(roster, ranks, reports), doing);
  }
  if (missing == 0) return {};
  return WithHint(
      Fail(Code::kDeadline, "NCCL did not start within {} on {} of {} ranks: {}{}", FormatDuration(limit),
           missing, reports.size(), behind,
           missing == reports.size() ? "no rank was through" : "the other ranks were through"),
      "set NCCL_DEBUG=INFO (nccl.debug: info) to see what it waits for, often the network interface "
      "(nccl.interface) or a firewall; timeouts.init is the limit");
}

}  // namespace muster::nccl
