#include "comm/ops/call.h"

#include <fmt/core.h>

#include <array>

namespace muster {
namespace {

constexpr std::array<std::string_view, kOperationCount> kNames = {
    "Barrier",   "Broadcast",   "Reduce",         "AllReduce",      "Gather",
    "AllGather", "Scatter",     "ReduceScatter",  "AllToAll",       "Send",
    "Recv",      "GatherBytes", "AllGatherBytes", "BroadcastBytes", "Split"};

constexpr const char* kSameCalls = "make the same calls in the same order on all ranks";

bool HasElements(Operation operation) {
  switch (operation) {
    case Operation::kBarrier:
    case Operation::kGatherBytes:
    case Operation::kAllGatherBytes:
    case Operation::kBroadcastBytes:
    case Operation::kSplit:
      return false;
    default:
      return true;
  }
}

// Details that Describe omits for brevity.
std::string Detail(const Call& call, const Call& other) {
  std::string detail;
  if (call.reduce != other.reduce) detail += fmt::format(" {}", Name(call.reduce));
  if (call.root != other.root) detail += fmt::format(" root {}", call.root);
  return detail;
}

}  // namespace

std::string_view Name(Operation operation) { return kNames.at(static_cast<size_t>(operation)); }

std::string DescribeElements(const Call& call) {
  return HasElements(call.operation) ? fmt::format("{}[{}]", Name(call.type), call.count) : "";
}

std::string Describe(const Call& call) {
  const std::string elements = DescribeElements(call);
  return fmt::format("{} #{}{}{}", Name(call.operation), call.sequence, elements.empty() ? "" : " ",
                     elements);
}

bool Match(const Call& mine, const Call& theirs) {
  if (mine.operation != Operation::kRecv) return mine == theirs;
  Call expected = mine;
  expected.operation = Operation::kSend;
  return expected == theirs;
}

Error Disagreement(const Roster& roster, int rank, const Call& call, int other_rank, const Call& other_call) {
  if (other_rank < rank) return Disagreement(roster, other_rank, other_call, rank, call);
  const bool alike = Describe(call) == Describe(other_call);
  return Error{Code::kDisagreement,
               fmt::format("{} is in {}{}, {} in {}{}", DescribeRank(roster, rank), Describe(call),
                           alike ? Detail(call, other_call) : "", DescribeRank(roster, other_rank),
                           Describe(other_call), alike ? Detail(other_call, call) : ""),
               kSameCalls};
}

Error NoMemory(const Roster& roster, int rank, const Call& call) {
  return Error{Code::kSystem,
               fmt::format("{} has no memory for {}", DescribeRank(roster, rank), Describe(call)),
               "start fewer ranks on a node, or request more memory: --mem"};
}

Error EarlierDisagreement(const Roster& roster, int lower_rank, int higher_rank, const Call& call) {
  return Error{Code::kDisagreement,
               fmt::format("{} and {} made different calls before {}", DescribeRank(roster, lower_rank),
                           DescribeRank(roster, higher_rank), Describe(call)),
               kSameCalls};
}

}  // namespace muster
