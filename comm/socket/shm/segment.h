// The memory that the ranks of one node share for one communicator: an anonymous file
// (comm/system/anonymous_file.h) without a name, so nothing of it remains after its processes.
//
//     member (one for each rank)   its identity: name of its doorbell, processors it may use
//     sleeper (one word for each)  0: awake; 1 + i: asleep until rank i has published; kUndelivered
//     header (for each slot)       its step, the call, up to 32 bytes of data
//     slot (kSlots for each rank)  data; written by its rank alone
//
// The layout follows from the number of ranks and the bytes of a slot alone. Values of peers are
// never used unchecked as a length or an index. A memfd is sealed: no rank can truncate it under
// another one. A forked child does not inherit the mapping. Pages of a memfd that are not touched cost nothing.
//
// Ownership: owns descriptor and mapping. Threads: shared values are atomic or guarded by SlotHeader::step.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/ops/call.h"

namespace muster::socket {

inline constexpr uint64_t kSlots = 4;
inline constexpr size_t kCacheLine = 64;
inline constexpr size_t kInlineBytes = 32;
inline constexpr size_t kLeastSlotBytes = size_t{8} * 1024;
inline constexpr int kMaxSharingRanks = 512;
inline constexpr uint32_t kUndelivered = UINT32_MAX;  // its doorbell could not be rung

struct alignas(kCacheLine) SlotHeader {
  std::atomic<uint64_t> step;
  std::array<std::atomic<uint64_t>, 3> call;
  std::array<uint8_t, kInlineBytes> inlined;
};
static_assert(sizeof(SlotHeader) == kCacheLine);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

struct alignas(kCacheLine) SegmentMember {
  uint32_t spins;  // 0: it sleeps immediately when it waits
  uint32_t doorbell_length;
  std::array<char, 56> doorbell;
  std::array<uint64_t, 16> processors;  // a set of up to 1024
};

// A value; both sides of an offer must mean the same one.
struct SegmentShape {
  int ranks = 0;
  size_t slot_bytes = 0;  // a multiple of 4096, kLeastSlotBytes or more

  // Large slots for few ranks, about 8 MiB in all for many. `slot_bytes` 0: chosen.
  static SegmentShape For(int ranks, size_t slot_bytes = 0);

  size_t SleepersAt() const;
  size_t HeadersAt() const;
  size_t SlotsAt() const;
  size_t Bytes() const;
};

class Segment {
 public:
  // All zero. Error: kSystem with the reason (no memory, a limit).
  static Result<std::unique_ptr<Segment>> Create(const SegmentShape& shape);
  // Of another process: verified before it is mapped (IsAnonymousFile, of exactly that size). Error:
  // kSystem.
  static Result<std::unique_ptr<Segment>> Attach(UniqueFd fd, const SegmentShape& shape);
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment();

  const SegmentShape& shape() const { return shape_; }
  int fd() const { return fd_.get(); }
  // Once all ranks have it.
  void CloseFd() { fd_.Reset(); }

  SegmentMember& member(int rank) const;
  std::atomic<uint32_t>& sleeper(int rank) const;
  // Ranks that spin read it repeatedly.
  SlotHeader& header(int rank, uint64_t step) const {
    const size_t index = (step % kSlots) * static_cast<size_t>(shape_.ranks) + static_cast<size_t>(rank);
    return reinterpret_cast<SlotHeader*>(headers_)[index];
  }
  uint8_t* slot(int rank, uint64_t step) const;

 private:
  Segment(const SegmentShape& shape, UniqueFd fd) : shape_(shape), fd_(std::move(fd)) {}
  Status Map();

  const SegmentShape shape_;
  UniqueFd fd_;
  uint8_t* base_ = nullptr;
  uint8_t* headers_ = nullptr;
  uint8_t* slots_ = nullptr;
};

// A call in three words, as a header has room for, and a digest of all calls before it. So a rank that has
// only published in a call is found by the next rank that reads any later header of it. The communicator is
// the segment's, and of the sequence there are 32 bits.
using CallWords = std::array<uint64_t, 3>;

inline CallWords PackCall(const Call& call, uint32_t earlier = 0) {
  return {uint64_t{earlier} << 32 | static_cast<uint32_t>(call.sequence),
          uint64_t{static_cast<uint32_t>(call.root)} << 32 |
              uint64_t{static_cast<uint8_t>(call.reduce)} << 16 |
              uint64_t{static_cast<uint8_t>(call.type)} << 8 | static_cast<uint8_t>(call.operation),
          call.count};
}

// The digest of this call and those before it: every bit of the words counts.
inline uint32_t Digest(const CallWords& words) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t digest = (words[0] ^ words[1]) * kOdd;
  digest = (digest ^ (digest >> 32) ^ words[2]) * kOdd;
  return static_cast<uint32_t>(digest >> 32);
}

// `near`: a call of the same communicator, whose sequence is less than 2^31 away. Absent for anything that
// PackCall does not write.
inline std::optional<Call> UnpackCall(const CallWords& words, const Call& near) {
  const auto byte = [&](int shift) { return static_cast<uint8_t>(words[1] >> shift); };
  if (byte(0) >= kOperationCount || byte(8) > static_cast<uint8_t>(DataType::kF64) ||
      byte(16) > static_cast<uint8_t>(ReduceOp::kAvg) || byte(24) != 0) {
    return std::nullopt;
  }
  Call call;
  call.communicator = near.communicator;
  const uint32_t ahead = static_cast<uint32_t>(words[0]) - static_cast<uint32_t>(near.sequence);
  call.sequence = near.sequence + static_cast<uint64_t>(int64_t{static_cast<int32_t>(ahead)});
  call.operation = static_cast<Operation>(byte(0));
  call.type = static_cast<DataType>(byte(8));
  call.reduce = static_cast<ReduceOp>(byte(16));
  call.root = static_cast<int32_t>(static_cast<uint32_t>(words[1] >> 32));
  call.count = words[2];
  return call;
}

}  // namespace muster::socket
