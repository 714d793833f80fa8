#include "tests/deploy/examples/thread_group.h"

#include <fmt/core.h>

#include <cstring>

namespace muster::examples {

ThreadGroup::ThreadGroup(int size) : arriving_(static_cast<size_t>(size)) {
  constexpr int kPerNode = 4;
  for (int rank = 0; rank < size; ++rank) {
    if (rank % kPerNode == 0) roster_.nodes.push_back({fmt::format("gpu{:02}", rank / kPerNode + 1), {}});
    roster_.members.push_back({rank / kPerNode, rank % kPerNode, 1000 + rank, {}});
  }
}

Result<std::vector<Bytes>> ThreadGroup::KeyedAllGather(int rank, Bytes mine) {
  std::unique_lock lock(mutex_);
  const int round = round_;
  arriving_[static_cast<size_t>(rank)] = std::move(mine);
  if (++arrived_ == roster_.size()) {
    complete_ = arriving_;
    arrived_ = 0;
    ++round_;
    changed_.notify_all();
  }
  const bool in_time =
      changed_.wait_for(lock, std::chrono::seconds(60), [&] { return round_ != round || left_; });
  if (round_ != round) return complete_;
  if (!in_time) return Fail(Code::kDeadline, "the ranks did not all arrive within 60 s");
  return Fail(Code::kPeerLost, "{} left", DescribeRank(roster_, *left_));
}

void ThreadGroup::Leave(int rank) {
  const std::lock_guard lock(mutex_);
  if (!left_) left_ = rank;
  changed_.notify_all();
}

Status ThreadCommunicator::Perform(const OperationRequest& request, const CallOptions&) {
  const auto& [operation, send, receive, reduce, root] = request;
  const bool adds = operation == Operation::kAllReduce && reduce == ReduceOp::kSum;
  if (!adds || send.type != DataType::kU64) return Refuse();
  const auto* bytes = static_cast<const uint8_t*>(send.data);
  MUSTER_TRY(const std::vector<Bytes> all, group_.KeyedAllGather(rank_, Bytes(bytes, bytes + send.bytes())));
  std::vector<uint64_t> sums(send.count);
  for (const Bytes& part : all) {
    std::vector<uint64_t> values(send.count);
    if (part.size() != send.bytes()) return Fail(Code::kDisagreement, "AllReduce of different sizes");
    std::memcpy(values.data(), part.data(), part.size());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
  }
  std::memcpy(receive.data, sums.data(), send.bytes());
  return {};
}

Result<std::vector<Bytes>> ThreadCommunicator::PerformBytes(Operation operation, ByteView mine, int root,
                                                            const CallOptions&) {
  if (operation == Operation::kBroadcastBytes) return Refuse();
  MUSTER_TRY(std::vector<Bytes> all, group_.KeyedAllGather(rank_, Bytes(mine.begin(), mine.end())));
  if (operation == Operation::kGatherBytes && rank_ != root) all.clear();
  return all;
}

}  // namespace muster::examples
