#include "tests/comm/nccl/fake_fabric.h"

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

Bytes Concatenate(const std::map<int, FakeKernel>& kernels) {
  Bytes all;
  for (const auto& [rank, kernel] : kernels) {
    const auto* bytes = static_cast<const uint8_t*>(kernel.send);
    all.insert(all.end(), bytes, bytes + kernel.count * SizeOf(kernel.type));
  }
  return all;
}

void Put(const FakeKernel& kernel, const Bytes& result) {
  if (!result.empty()) std::memcpy(kernel.receive, result.data(), result.size());
}

}  // namespace

bool FakeKernel::Matches(const FakeKernel& other) const {
  return kind == other.kind && count == other.count && type == other.type && operation == other.operation &&
         root == other.root;
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
  changed.wait(lock, [this] { return released_; });
}

NcclId FakeFabric::DrawId() {
  const std::lock_guard lock(mutex);
  NcclId id = {};
  const uint64_t number = ++drawn_;
  std::memcpy(id.data(), &number, sizeof number);
  return id;
}

std::shared_ptr<FakeRing> FakeFabric::RingOf(const std::vector<NcclId>& ids, int size) {
  std::shared_ptr<FakeRing>& ring = rings_[ids];
  if (!ring) {
    ring = std::make_shared<FakeRing>();
    ring->size = size;
  }
  return ring;
}

void Compute(const std::map<int, FakeKernel>& kernels) {
  const FakeKernel& first = kernels.begin()->second;
  const size_t block = first.count * SizeOf(first.type);
  switch (first.kind) {
    case Kind::kBroadcast: {
      const auto* from = static_cast<const uint8_t*>(kernels.at(first.root).send);
      const Bytes data(from, from + block);
      for (const auto& [rank, kernel] : kernels) Put(kernel, data);
      return;
    }
    case Kind::kReduce: {
      const Bytes result = ReduceAll(kernels, first.count);
      Put(kernels.at(first.root), result);
      return;
    }
    case Kind::kAllReduce: {
      const Bytes result = ReduceAll(kernels, first.count);
      for (const auto& [rank, kernel] : kernels) Put(kernel, result);
      return;
    }
    case Kind::kAllGather: {
      const Bytes all = Concatenate(kernels);
      for (const auto& [rank, kernel] : kernels) Put(kernel, all);
      return;
    }
    case Kind::kReduceScatter: {
      const Bytes result = ReduceAll(kernels, first.count * kernels.size());
      for (const auto& [rank, kernel] : kernels) {
        const auto* mine = result.data() + static_cast<size_t>(rank) * block;
        Put(kernel, Bytes(mine, mine + block));
      }
      return;
    }
  }
}

}  // namespace muster::nccl
