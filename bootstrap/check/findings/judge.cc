#include "bootstrap/check/findings/judge.h"

#include <fmt/core.h>

#include <algorithm>

namespace muster::check {
namespace {

constexpr size_t kMostOneByOne = 10;

}  // namespace

void JudgeCollectives(const Evidence& evidence, Verdict& verdict) {
  if (evidence.broken) {
    verdict.failures.push_back(
        {std::string(CodeName(evidence.broken->code)), evidence.broken->message, evidence.broken->hint, {}});
    return;
  }
  size_t shown = 0;
  for (const WrongOnRank& wrong : evidence.wrong) {
    if (++shown > kMostOneByOne) break;
    verdict.failures.push_back(
        {"wrong_result",
         fmt::format("{} is wrong on {}: {}", evidence.trials[static_cast<size_t>(wrong.result.trial)],
                     DescribeRank(evidence.roster, wrong.rank), wrong.result.what),
         "memory, network card or a bug in muster: try the same ranks on other nodes",
         {evidence.roster.NodeName(wrong.rank)}});
  }
  if (evidence.wrong.size() > kMostOneByOne) {
    verdict.failures.push_back(
        {"wrong_result",
         fmt::format("and {} more wrong results", evidence.wrong.size() - kMostOneByOne),
         {},
         {}});
  }
}

Verdict Judge(const Evidence& evidence) {
  Verdict verdict;
  JudgeConnections(evidence, verdict);
  if (!verdict.failures.empty()) verdict.exit_status = ExitStatus(Code::kPeerLost);
  JudgeCollectives(evidence, verdict);
  if (verdict.exit_status == 0 && !verdict.failures.empty()) {
    verdict.exit_status = ExitStatus(evidence.broken ? evidence.broken->code : Code::kInternal);
  }
  JudgeGpus(evidence, verdict);
  if (verdict.exit_status == 0 && !verdict.failures.empty())
    verdict.exit_status = ExitStatus(Code::kInternal);
  JudgeSpeed(evidence, verdict);
  JudgeLimits(evidence, verdict);
  JudgeDifferences(evidence, verdict);
  JudgeDevices(evidence, verdict);
  std::ranges::sort(verdict.exclude);
  verdict.exclude.erase(std::unique(verdict.exclude.begin(), verdict.exclude.end()), verdict.exclude.end());
  return verdict;
}

}  // namespace muster::check
