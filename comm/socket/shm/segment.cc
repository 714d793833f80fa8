#include "comm/socket/shm/segment.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "comm/system/anonymous_file.h"

namespace muster::socket {
namespace {

// The smallest page. With larger ones (64 KiB of some aarch64 kernels) small slots of two ranks share a page: its
// NUMA node is then right for one of them.
constexpr size_t kPage = 4096;
constexpr size_t kLargestSlot = size_t{128} * 1024;
constexpr size_t kAllSlots = size_t{8} * 1024 * 1024;

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Growing a file past this limit would kill the process with SIGXFSZ.
bool FitsFileSizeLimit(size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

}  // namespace

SegmentShape SegmentShape::For(int ranks, size_t slot_bytes) {
  const size_t count = static_cast<size_t>(ranks);
  // A slot has a piece for each other rank, of a cache line at least.
  const size_t least = std::max(count * kCacheLine, kLeastSlotBytes);
  if (slot_bytes == 0) slot_bytes = std::min(kAllSlots / (kSlots * count), kLargestSlot);
  return {ranks, RoundUp(std::max(slot_bytes, least), kPage)};
}

size_t SegmentShape::SleepersAt() const { return static_cast<size_t>(ranks) * sizeof(SegmentMember); }
size_t SegmentShape::HeadersAt() const {
  return SleepersAt() + RoundUp(static_cast<size_t>(ranks) * sizeof(uint32_t), kCacheLine);
}
size_t SegmentShape::SlotsAt() const {
  return RoundUp(HeadersAt() + kSlots * static_cast<size_t>(ranks) * sizeof(SlotHeader), kPage);
}
size_t SegmentShape::Bytes() const { return SlotsAt() + kSlots * static_cast<size_t>(ranks) * slot_bytes; }

Result<std::unique_ptr<Segment>> Segment::Create(const SegmentShape& shape) {
  const size_t bytes = shape.Bytes();
  if (!FitsFileSizeLimit(bytes)) {
    return Fail(Code::kSystem, "{} bytes are more than the file size limit", bytes);
  }
  MUSTER_TRY(UniqueFd fd, MakeAnonymousFile(bytes));
  std::unique_ptr<Segment> segment(new Segment(shape, std::move(fd)));
  MUSTER_CHECK(segment->Map());
  return segment;
}

Result<std::unique_ptr<Segment>> Segment::Attach(UniqueFd fd, const SegmentShape& shape) {
  if (!fd) return Fail(Code::kSystem, "no descriptor was received");
  if (!IsAnonymousFile(fd.get(), shape.Bytes())) {
    return Fail(Code::kSystem, "the received descriptor is not an anonymous file of {} bytes", shape.Bytes());
  }
  std::unique_ptr<Segment> segment(new Segment(shape, std::move(fd)));
  MUSTER_CHECK(segment->Map());
  return segment;
}

Status Segment::Map() {
  void* memory = mmap(nullptr, shape_.Bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (memory == MAP_FAILED) return Fail(Code::kSystem, "mmap: {}", ErrnoText(errno));
  base_ = static_cast<uint8_t*>(memory);
  headers_ = base_ + shape_.HeadersAt();
  slots_ = base_ + shape_.SlotsAt();
  // Advice: a worker that the program forks has no part in this.
  madvise(memory, shape_.Bytes(), MADV_DONTFORK);
  return {};
}

Segment::~Segment() {
  if (base_ != nullptr) munmap(base_, shape_.Bytes());
}

SegmentMember& Segment::member(int rank) const { return reinterpret_cast<SegmentMember*>(base_)[rank]; }

std::atomic<uint32_t>& Segment::sleeper(int rank) const {
  return reinterpret_cast<std::atomic<uint32_t>*>(base_ + shape_.SleepersAt())[rank];
}

uint8_t* Segment::slot(int rank, uint64_t step) const {
  return slots_ + (static_cast<size_t>(rank) * kSlots + step % kSlots) * shape_.slot_bytes;
}

}  // namespace muster::socket
