#include "tests/gpu/device_checks.h"

#include <fmt/core.h>

#include "tests/gpu/numbers.h"

namespace muster {
namespace {

constexpr DataType kTypes[] = {DataType::kI8,   DataType::kU8,  DataType::kI32,
                               DataType::kI64,  DataType::kU64, DataType::kF16,
                               DataType::kBF16, DataType::kF32, DataType::kF64};
constexpr ReduceOp kReductions[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin, ReduceOp::kMax,
                                    ReduceOp::kAvg};
// Odd ones, and more than one chunk of NCCL's.
constexpr size_t kCounts[] = {1, 1003, 70'001};

// One rank's part in the calls with one type and count.
class Checker {
 public:
  Checker(Communicator& group, const Device& device, DataType type, size_t count)
      : group_(group), device_(device), type_(type), count_(count) {}

  Status All() {
    for (const ReduceOp operation : kReductions) {
      MUSTER_CHECK(AllReduce(operation));
      MUSTER_CHECK(Reduce(operation));
      MUSTER_CHECK(ReduceScatter(operation));
    }
    MUSTER_CHECK(Broadcast());
    MUSTER_CHECK(Gathers());
    MUSTER_CHECK(Scatter());
    MUSTER_CHECK(AllToAll());
    MUSTER_CHECK(AroundTheRing());
    // A start of NCCL each: once for every type is enough.
    return count_ == kCounts[1] ? InParts() : Status();
  }
  size_t compared() const { return compared_; }

 private:
  int rank() const { return group_.rank(); }
  int ranks() const { return group_.size(); }
  int last() const { return ranks() - 1; }

  // A new call's data.
  void Next() { ++seed_; }
  Values Of(int rank, size_t count) const { return RandomValues(type_, seed_, rank, count); }
  Values OfAll() const {
    Values all;
    for (int r = 0; r < ranks(); ++r) {
      const Values block = Of(r, count_);
      all.insert(all.end(), block.begin(), block.end());
    }
    return all;
  }
  Values BlockOf(const Values& all, int index) const {
    const auto begin = all.begin() + index * static_cast<ptrdiff_t>(count_);
    return {begin, begin + static_cast<ptrdiff_t>(count_)};
  }
  Result<DeviceArray> Put(const Values& values) const {
    return DeviceArray::Filled(device_, Pack(type_, values));
  }
  Result<DeviceArray> Room(size_t count) const {
    return DeviceArray::Filled(device_, Bytes(count * SizeOf(type_), 0x5a));
  }
  CallOptions options() const { return device_.options(); }

  Status Expect(std::string_view what, const DeviceArray& array, const Values& wanted, double tolerance = 0) {
    MUSTER_CHECK(group_.Synchronize());
    MUSTER_TRY(const Bytes got, array.Fetch());
    ++compared_;
    return Compare(fmt::format("{} {}[{}] on rank {} of {}", what, Name(type_), count_, rank(), ranks()),
                   Unpack(type_, got), wanted, tolerance);
  }
  double ToleranceOf(ReduceOp operation) const { return Tolerance(type_, operation == ReduceOp::kAvg); }

  Status AllReduce(ReduceOp operation) {
    Next();
    const Values wanted = Reduced(type_, operation, seed_, ranks(), count_);
    const std::string what = fmt::format("AllReduce {}", Name(operation));
    MUSTER_TRY(const DeviceArray send, Put(Of(rank(), count_)));
    MUSTER_TRY(const DeviceArray receive, Room(count_));
    MUSTER_CHECK(group_.AllReduce(send.As(type_), receive.As(type_), operation, options()));
    MUSTER_CHECK(Expect(what, receive, wanted, ToleranceOf(operation)));
    MUSTER_CHECK(group_.AllReduce(send.As(type_), send.As(type_), operation, options()));
    return Expect(what + " in place", send, wanted, ToleranceOf(operation));
  }

  Status Reduce(ReduceOp operation) {
    Next();
    const Values mine = Of(rank(), count_);
    MUSTER_TRY(const DeviceArray send, Put(mine));
    MUSTER_TRY(const DeviceArray receive, Room(count_));
    MUSTER_CHECK(group_.Reduce(send.As(type_), receive.As(type_), operation, last(), options()));
    MUSTER_CHECK(Expect("what Reduce sends", send, mine));
    if (rank() != last()) return {};
    return Expect(fmt::format("Reduce {}", Name(operation)), receive,
                  Reduced(type_, operation, seed_, ranks(), count_), ToleranceOf(operation));
  }

  Status ReduceScatter(ReduceOp operation) {
    Next();
    const size_t whole = count_ * static_cast<size_t>(ranks());
    MUSTER_TRY(const DeviceArray send, Put(Of(rank(), whole)));
    MUSTER_TRY(const DeviceArray receive, Room(count_));
    MUSTER_CHECK(group_.ReduceScatter(send.As(type_), receive.As(type_), operation, options()));
    return Expect(fmt::format("ReduceScatter {}", Name(operation)), receive,
                  BlockOf(Reduced(type_, operation, seed_, ranks(), whole), rank()), ToleranceOf(operation));
  }

  Status Broadcast() {
    Next();
    MUSTER_TRY(const DeviceArray array, Put(Of(rank(), count_)));
    MUSTER_CHECK(group_.Broadcast(array.As(type_), last(), options()));
    return Expect("Broadcast", array, Of(last(), count_));
  }

  Status Gathers() {
    Next();
    const size_t whole = count_ * static_cast<size_t>(ranks());
    MUSTER_TRY(const DeviceArray send, Put(Of(rank(), count_)));
    MUSTER_TRY(const DeviceArray all, Room(whole));
    MUSTER_CHECK(group_.AllGather(send.As(type_), all.As(type_), options()));
    MUSTER_CHECK(Expect("AllGather", all, OfAll()));
    MUSTER_TRY(const DeviceArray gathered, Room(whole));
    MUSTER_CHECK(group_.Gather(send.As(type_), gathered.As(type_), last(), options()));
    if (rank() != last()) return group_.Synchronize();
    return Expect("Gather", gathered, OfAll());
  }

  Status Scatter() {
    Next();
    MUSTER_TRY(const DeviceArray all, Put(OfAll()));
    MUSTER_TRY(const DeviceArray mine, Room(count_));
    MUSTER_CHECK(group_.Scatter(all.As(type_), mine.As(type_), last(), options()));
    return Expect("Scatter", mine, Of(rank(), count_));
  }

  // Block r of rank s becomes block s of rank r.
  Status AllToAll() {
    Next();
    const size_t whole = count_ * static_cast<size_t>(ranks());
    Values wanted;
    for (int from = 0; from < ranks(); ++from) {
      const Values block = BlockOf(Of(from, whole), rank());
      wanted.insert(wanted.end(), block.begin(), block.end());
    }
    MUSTER_TRY(const DeviceArray send, Put(Of(rank(), whole)));
    MUSTER_TRY(const DeviceArray receive, Room(whole));
    MUSTER_CHECK(group_.AllToAll(send.As(type_), receive.As(type_), options()));
    MUSTER_CHECK(Expect("AllToAll", receive, wanted));
    MUSTER_CHECK(group_.AllToAll(send.As(type_), send.As(type_), options()));
    return Expect("AllToAll in place", send, wanted);
  }

  Status AroundTheRing() {
    if (ranks() == 1) return {};
    Next();
    const int before = (rank() + last()) % ranks();
    MUSTER_TRY(const DeviceArray send, Put(Of(rank(), count_)));
    MUSTER_TRY(const DeviceArray receive, Room(count_));
    MUSTER_CHECK(group_.BeginGroup());
    const Status sent = group_.Send(send.As(type_), (rank() + 1) % ranks(), options());
    const Status received = group_.Recv(receive.As(type_), before, options());
    MUSTER_CHECK(group_.EndGroup());
    MUSTER_CHECK(sent);
    MUSTER_CHECK(received);
    return Expect("Send and Recv", receive, Of(before, count_));
  }

  // Two halves; in each the order is turned around.
  Status InParts() {
    Next();
    MUSTER_TRY(const std::unique_ptr<Communicator> part, group_.Split(rank() % 2, -rank()));
    Values wanted(count_);
    for (int r = rank() % 2; r < ranks(); r += 2) {
      const Values more = Of(r, count_);
      for (size_t i = 0; i < count_; ++i) wanted[i] += more[i];
    }
    MUSTER_TRY(const DeviceArray array, Put(Of(rank(), count_)));
    MUSTER_CHECK(part->AllReduce(array.As(type_), array.As(type_), ReduceOp::kSum, options()));
    MUSTER_CHECK(part->Synchronize());
    return Expect("AllReduce in a part", array, wanted, Tolerance(type_, false));
  }

  Communicator& group_;
  const Device& device_;
  const DataType type_;
  const size_t count_;
  uint64_t seed_ = 0;
  size_t compared_ = 0;
};

// A caller's mistakes are reported, and break nothing.
Status CheckHostPointerIsRefused(Communicator& group, const Device& device) {
  float element = 1;
  const Buffer wrong{&element, 1, DataType::kF32, Memory::kDevice};
  const Status refused = group.AllReduce(wrong, wrong, ReduceOp::kSum, device.options());
  if (!refused && refused.error().code == Code::kUsage) return {};
  return Fail(Code::kInternal, "a host pointer as device memory: {}",
              refused ? "taken" : refused.error().message);
}

// Copies before and behind the call in its stream, none awaited; meanwhile the host's memory is summed, too.
Status CheckOrderOfStream(Communicator& group, const Device& device) {
  constexpr size_t kCount = size_t{4} << 20;
  const double ranks = group.size();
  const Bytes ones = Pack(DataType::kF32, Values(kCount, 1));
  MUSTER_TRY(const DeviceArray from, DeviceArray::Filled(device, ones));
  MUSTER_TRY(const DeviceArray sum, DeviceArray::Filled(device, Bytes(ones.size(), 0x5a)));
  MUSTER_TRY(const DeviceArray to, DeviceArray::Filled(device, Bytes(ones.size(), 0x5a)));
  const Buffer in_place = sum.As(DataType::kF32);
  for (int times = 0; times < 20; ++times) {
    MUSTER_CHECK(from.CopyTo(sum));
    MUSTER_CHECK(group.AllReduce(in_place, in_place, ReduceOp::kSum, device.options()));
    MUSTER_CHECK(sum.CopyTo(to));
    double host = 1;
    MUSTER_CHECK(group.AllReduce(std::span(&host, 1), ReduceOp::kSum));
    MUSTER_CHECK(Compare("AllReduce of host memory beside one on the device", {host}, {ranks}, 0));
  }
  MUSTER_TRY(const Bytes got, to.Fetch());
  return Compare("copies around an AllReduce", Unpack(DataType::kF32, got), Values(kCount, ranks), 0);
}

// Work that NCCL does not do goes beside it.
Status CheckHostMemory(Communicator& group) {
  std::vector<double> sum = {1, static_cast<double>(group.rank())};
  MUSTER_CHECK(group.AllReduce(std::span(sum), ReduceOp::kSum));
  const double ranks = group.size();
  MUSTER_CHECK(Compare("AllReduce of host memory", sum, {ranks, ranks * (ranks - 1) / 2}, 0));
  MUSTER_TRY(const std::vector<Bytes> all, group.AllGatherBytes(Bytes(static_cast<size_t>(group.rank()), 7)));
  for (size_t r = 0; r < all.size(); ++r) {
    if (all[r] != Bytes(r, 7)) return Fail(Code::kInternal, "AllGatherBytes: rank {}'s are wrong", r);
  }
  return group.Barrier();
}

}  // namespace

Result<size_t> CheckOnDevice(Communicator& group, const Device& device) {
  size_t compared = 0;
  MUSTER_CHECK(CheckHostPointerIsRefused(group, device));
  for (const DataType type : kTypes) {
    for (const size_t count : kCounts) {
      Checker checker(group, device, type, count);
      MUSTER_CHECK(checker.All());
      compared += checker.compared();
    }
  }
  MUSTER_CHECK(CheckOrderOfStream(group, device));
  MUSTER_CHECK(CheckHostMemory(group));
  return compared;
}

}  // namespace muster
