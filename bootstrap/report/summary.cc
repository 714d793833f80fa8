#include "bootstrap/report/summary.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "comm/base/lists.h"
#include "comm/base/parse.h"

namespace muster::report {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kSlowestNamed = 10;
// Arrivals within this time of each other are equal: no rank was late, and a list is not needed.
constexpr Duration kWorthNaming = milliseconds(100);
constexpr Duration kWorthAList = seconds(1);

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// "rank 5 on gpu03", "ranks 0-8,10-15".
std::string Describe(const RunRecord& record, const std::vector<int>& ranks) {
  if (ranks.size() == 1) return DescribeRank(record, ranks.front());
  return FormatRanks(ranks);
}

std::string Indent(std::string_view text) {
  std::string indented;
  for (const std::string_view line : Split(text, '\n')) indented += fmt::format("\n    {}", line);
  return indented;
}

std::string HowItEnded(const rendezvous::RankEnd& end) {
  return end.signal != 0 ? fmt::format("signal {} ({})", end.signal, strsignal(end.signal))
                         : fmt::format("exit {}", end.exit_code);
}

// Without the first failure, by how they ended: "also failed: ranks 10-14 (exit 1), rank 3 on gpu01 (signal
// 11)".
std::string AlsoFailed(const RunRecord& record, const std::vector<int>& failed) {
  std::map<std::string, std::vector<int>> by_end;
  for (const int rank : failed) {
    const auto& end = record.ranks[static_cast<size_t>(rank)].end;
    if (end && rank != record.failure->rank) by_end[HowItEnded(*end)].push_back(rank);
  }
  std::string text;
  for (const auto& [how, ranks] : by_end) {
    text += fmt::format("{}{} ({})", text.empty() ? "\n  also failed: " : ", ", Describe(record, ranks), how);
  }
  return text;
}

bool LostTogether(const RunRecord& record, int rank) {
  const int first = record.failure->rank;
  if (record.failure->exit_status >= 0 || first < 0 || first >= static_cast<int>(record.ranks.size()))
    return false;
  return record.ranks[static_cast<size_t>(rank)].node == record.ranks[static_cast<size_t>(first)].node;
}

std::string Others(const RunRecord& record) {
  std::map<RankOutcome, std::vector<int>> ranks = RanksByOutcome(record);
  std::string text = AlsoFailed(record, ranks[RankOutcome::kFailed]);
  const std::string killed =
      ranks[RankOutcome::kKilled].empty()
          ? ""
          : fmt::format("{} by SIGKILL, after run.grace ({})", Describe(record, ranks[RankOutcome::kKilled]),
                        FormatDuration(record.grace));
  if (!ranks[RankOutcome::kTerminated].empty()) {
    text +=
        fmt::format("\n  ended because of it: {} by SIGTERM{}{}",
                    Describe(record, ranks[RankOutcome::kTerminated]), killed.empty() ? "" : "; ", killed);
  } else if (!killed.empty()) {
    text += "\n  ended because of it: " + killed;
  }
  if (!ranks[RankOutcome::kNotStarted].empty()) {
    text += "\n  never started: " + Describe(record, ranks[RankOutcome::kNotStarted]);
  }
  if (!ranks[RankOutcome::kOk].empty()) {
    text += fmt::format("\n  ended with 0: {}", Describe(record, ranks[RankOutcome::kOk]));
  }
  // Ranks that were lost with the first are named there.
  std::erase_if(ranks[RankOutcome::kLost],
                [&](int rank) { return rank == record.failure->rank || LostTogether(record, rank); });
  if (!ranks[RankOutcome::kLost].empty()) {
    text += fmt::format("\n  nothing is known of the end of {}", Describe(record, ranks[RankOutcome::kLost]));
  }
  return text;
}

std::string DescribeMoment(const RunRecord& record, const Moment& moment) {
  return fmt::format("{} at {}", DescribeRank(record, moment.rank), FormatSpan(moment.at));
}

std::string Phases(const RunRecord& record) {
  std::string text = "\n  resolve " + FormatSpan(record.joining);
  if (!record.formed) return text;
  text += ", rendezvous " + FormatSpan(*record.formed - record.joining);
  const std::vector<Moment> arrivals = ArrivalsInOrder(record);
  const bool spread = !arrivals.empty() && arrivals.back().at - arrivals.front().at >= kWorthNaming;
  if (spread) {
    text += fmt::format(" (first {}, last {})", DescribeMoment(record, arrivals.front()),
                        DescribeMoment(record, arrivals.back()));
  }
  if (record.initialized) text += ", init " + FormatSpan(*record.initialized - *record.formed);
  text += ", run " + FormatSpan(record.ended - record.initialized.value_or(*record.formed));
  if (arrivals.size() < 3 || arrivals.back().at - arrivals[arrivals.size() / 2].at < kWorthAList) return text;
  text += "\n  last to arrive: ";
  for (size_t i = 0; i < std::min(arrivals.size(), kSlowestNamed); ++i) {
    text += (i == 0 ? "" : ", ") + DescribeMoment(record, arrivals[arrivals.size() - 1 - i]);
  }
  return text;
}

}  // namespace

std::string FormatSpan(Duration duration) {
  const auto whole = std::chrono::duration_cast<seconds>(duration).count();
  if (duration < milliseconds(1)) return "<1 ms";
  if (duration < seconds(1)) return fmt::format("{} ms", std::chrono::round<milliseconds>(duration).count());
  if (whole < 100) return FormatSeconds(duration);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

std::string SummaryText(const RunRecord& record) {
  const rendezvous::Failure& failure = *record.failure;
  const Duration after = record.failed.value_or(record.ended);
  std::string text = fmt::format("the run failed after {}: {}", FormatSpan(after), failure.error.message);
  if (!failure.stderr_tail.empty()) {
    text += fmt::format("\n  the last lines of {}:{}", DescribeRank(record, failure.rank),
                        Indent(failure.stderr_tail));
  }
  return text + Others(record) + Phases(record);
}

std::vector<LogField> SummaryFields(const RunRecord& record) {
  const rendezvous::Failure& failure = *record.failure;
  std::vector<LogField> fields = {{"code", CodeName(failure.error.code)},
                                  {"exit_status", record.exit_status},
                                  {"failed_after", record.failed.value_or(record.ended)}};
  if (failure.rank >= 0) fields.push_back({"first_rank", failure.rank});
  if (failure.rank >= 0 && failure.rank < static_cast<int>(record.ranks.size())) {
    fields.push_back({"first_node", record.ranks[static_cast<size_t>(failure.rank)].node});
  }
  for (const auto& [outcome, ranks] : RanksByOutcome(record)) fields.push_back({OutcomeName(outcome), ranks});
  fields.push_back({"resolve", Seconds(record.joining)});
  if (!record.formed) return fields;
  fields.push_back({"rendezvous", Seconds(*record.formed - record.joining)});
  if (record.initialized) fields.push_back({"init", Seconds(*record.initialized - *record.formed)});
  fields.push_back({"run", Seconds(record.ended - record.initialized.value_or(*record.formed))});
  return fields;
}

}  // namespace muster::report
