#include "tests/comm/nccl/fake_fabric.h"

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "comm/base/bytes.h"
#include "comm/socket/reduce/reduce_kernels.h"

namespace muster::nccl {
namespace {

using Kind = FakeKernel::Kind;

Bytes ReduceAll(const std::map<int, FakeKernel>& kernels, size_t count) {
  const FakeKernel& first = kernels.begin()->second;
  std::vector<const void*> sources;
  for (const auto& [rank, kernel] : kernels) sources.push_back(kernel.send);
  Bytes result(count * SizeOf(first.type));
  const int divisor = first.operation == ReduceOp::kAvg ? static_cast<int>(kernels.size()) : 1;
  socket::CombineAll(first.type, first.operation, result.data(), sources, count, divisor);
  return result;
}

// The data that all ranks have sent, one after the other.
Bytes Concatenate(const std::map<int, FakeKernel>& kernels) {
  Bytes all;
  for (const auto& [rank, kernel] : kernels) {
    const auto* bytes = static_cast<const uint8_t*>(kernel.send);
    all.insert(all.end(), bytes, bytes + kernel.SendBytes(rank, kernels.size()));
  }
  return all;
}

// With the fabric's mutex held, all ranks being there: computes what each rank receives.
void Compute(const std::map<int, FakeKernel>& kernels) {
  const FakeKernel& first = kernels.begin()->second;
  const bool gathers = first.kind == Kind::kBroadcast || first.kind == Kind::kAllGather;
  const size_t blocks = first.kind == Kind::kReduceScatter ? kernels.size() : 1;
  const Bytes result = gathers ? Concatenate(kernels) : ReduceAll(kernels, first.count * blocks);
  for (const auto& [rank, kernel] : kernels) {
    const size_t bytes = kernel.ReceiveBytes(rank, kernels.size());
    const size_t offset = first.kind == Kind::kReduceScatter ? static_cast<size_t>(rank) * bytes : 0;
    if (bytes > 0) std::memcpy(kernel.receive, result.data() + offset, bytes);
  }
}

}  // namespace

bool FakeKernel::Matches(const FakeKernel& other) const {
  return kind == other.kind && count == other.count && type == other.type && operation == other.operation &&
         root == other.root;
}

size_t FakeKernel::SendBytes(int rank, size_t ranks) const {
  if (kind == Kind::kBroadcast && rank != root) return 0;
  return count * SizeOf(type) * (kind == Kind::kReduceScatter ? ranks : 1);
}

size_t FakeKernel::ReceiveBytes(int rank, size_t ranks) const {
  if (receive == nullptr || (kind == Kind::kReduce && rank != root)) return 0;
  return count * SizeOf(type) * (kind == Kind::kAllGather ? ranks : 1);
}

void FakeFabric::BreakComms(int rank, NcclResult result, std::string last_error) {
  const std::lock_guard lock(mutex);
  async_errors[rank] = {result, std::move(last_error)};
  changed.notify_all();
}

void FakeFabric::Release() {
  const std::lock_guard lock(mutex);
  released_ = true;
  changed.notify_all();
}

void FakeFabric::Hang(std::unique_lock<std::mutex>& lock) {
  ++hanging;
  changed.notify_all();
  changed.wait(lock, [this] { return released_; });
}

bool FakeFabric::DrawId(NcclId* id) {
  static std::atomic<uint64_t> drawn = 0;
  const uint64_t number = ++drawn;
  *id = {};
  std::memcpy(id->data(), &number, sizeof number);
  return true;
}

NcclResult FakeFabric::Run(const std::vector<FakeCall>& calls, FakeCut& cut) {
  std::unique_lock lock(mutex);
  if (cut.cut) return NcclResult::kInternalError;
  for (const FakeCall& call : calls) {
    Meeting& meeting = meetings_[call.meeting];
    meeting.kernels[call.rank] = call.kernel;
    const auto alike = [&](const auto& other) { return other.second.Matches(call.kernel); };
    if (meeting.kernels.size() < call.ranks || !std::ranges::all_of(meeting.kernels, alike)) continue;
    Compute(meeting.kernels);
    meeting.done = true;
    changed.notify_all();
  }
  for (const FakeCall& call : calls) {
    const auto found = meetings_.find(call.meeting);
    Meeting& meeting = found->second;
    changed.wait(lock, [&] { return meeting.done || cut.cut; });
    // The memory of a rank that has given up is its own again.
    meeting.kernels.erase(call.rank);
    if (meeting.kernels.empty()) meetings_.erase(found);
  }
  return cut.cut ? NcclResult::kInternalError : NcclResult::kSuccess;
}

void FakeFabric::Cut(FakeCut& cut) {
  cut.cut = true;
  for (const int connection : cut.connections) shutdown(connection, SHUT_RDWR);
  changed.notify_all();
}

}  // namespace muster::nccl
