#include "comm/socket/shm/node_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "comm/log/log.h"

namespace muster::socket {
namespace {

// Fences between what is atomic itself: it does no harm that ThreadSanitizer does not follow them.
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
void FenceAll() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void FenceAcquire() { __atomic_thread_fence(__ATOMIC_ACQUIRE); }
void FenceRelease() { __atomic_thread_fence(__ATOMIC_RELEASE); }
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

constexpr uint64_t kSeldom = 64;  // steps

bool IsCrowded(const Segment& segment) {
  if (OwnProcessors(segment)) return false;
  for (int rank = 0; rank < segment.shape().ranks; ++rank) {
    if (segment.member(rank).spins == 0) return true;
  }
  return false;
}

}  // namespace

NodeMemory::NodeMemory(ProgressEngine& engine, std::unique_ptr<Segment> segment, Doorbell doorbell,
                       net::PrivateDirectory directory, Team local)
    : engine_(engine),
      segment_(std::move(segment)),
      doorbell_(std::move(doorbell)),
      directory_(std::move(directory)),
      doorbells_(static_cast<size_t>(local.size())),
      local_(std::move(local)),
      crowded_(IsCrowded(*segment_)) {}

int NodeMemory::IndexOf(int rank) const {
  return static_cast<int>(std::ranges::find(local_.ranks, rank) - local_.ranks.begin());
}

Status NodeMemory::Claim(uint64_t steps) {
  const uint64_t last = step_ + steps;
  if (last + 1 <= kSlots || all_reached_ + kSlots >= last + 1) return {};
  const uint64_t needed = last + 1 - kSlots;
  MUSTER_CHECK(AwaitStep(0, ranks(), needed));
  all_reached_ = needed;
  // A rank that only publishes reads no other header than these. Reading the calls costs some 20 ns, so a rank
  // that repeats a call does it now and then.
  if (step_ - changed_ > kSlots && needed % kSeldom != 0) return {};
  for (int i = 0; i < ranks(); ++i) MUSTER_CHECK(CheckCall(i, needed, published_[needed % kSlots]));
  return {};
}

// A reader of the call of an older step in this header must not take the new call for it. So the step changes
// first, to a value that satisfies waits for the older step and not waits for the new one.
void NodeMemory::Publish(ByteView inlined) {
  if (const Call& call = engine_.call(); call.sequence != sequence_) BeginCall(call);
  const uint64_t step = ++step_;
  SlotHeader& header = segment_->header(local_.index, step);
  header.step.store(step - 1, std::memory_order_relaxed);
  FenceRelease();
  for (size_t i = 0; i < words_.size(); ++i) header.call[i].store(words_[i], std::memory_order_relaxed);
  if (!inlined.empty()) std::memcpy(header.inlined.data(), inlined.data(), inlined.size());
  published_[step % kSlots] = words_;
  header.step.store(step, std::memory_order_release);
  rings_due_ = true;
  if (!engine_.spins()) RingSleepers();
}

Status NodeMemory::AwaitAll() {
  MUSTER_CHECK(AwaitStep(0, ranks(), step_));
  all_reached_ = step_;
  for (int i = 0; i < ranks(); ++i) MUSTER_CHECK(CheckCall(i, step_, words_));
  return {};
}

Status NodeMemory::AwaitOne(int index) {
  MUSTER_CHECK(AwaitStep(index, index + 1, step_));
  return CheckCall(index, step_, words_);
}

Status NodeMemory::AwaitStep(int begin, int end, uint64_t step) {
  first_ = begin;
  end_ = end;
  target_ = step;
  return engine_.Await(*this);
}

bool NodeMemory::Happened() {
  for (;;) {
    while (first_ < end_ && (first_ == local_.index || Reached(first_, target_))) ++first_;
    if (first_ == end_) return true;
    if (!asleep_ || announced_ == first_) return false;
    announced_ = first_;
    WriteSleeper(static_cast<uint32_t>(first_) + 1);
    FenceAll();
  }
}

void NodeMemory::FallAsleep() {
  RingSleepers();
  asleep_ = true;
  announced_ = -1;
}

void NodeMemory::WakeUp() {
  asleep_ = false;
  WriteSleeper(0);
}

void NodeMemory::WriteSleeper(uint32_t word) {
  constexpr Duration kBriefSleep = std::chrono::milliseconds(1);
  const uint32_t before = segment_->sleeper(local_.index).exchange(word, std::memory_order_relaxed);
  if (before != kUndelivered || longest_sleep_ == kBriefSleep) return;
  longest_sleep_ = kBriefSleep;
  LogWarning(
      "the other ranks of this node cannot reach the socket in {} that wakes this rank in a collective; "
      "another program may have removed it; each such wait takes up to 1 ms longer",
      directory_.path());
}

void NodeMemory::RingSleepers() {
  if (!rings_due_) return;
  rings_due_ = false;
  FenceAll();
  const uint32_t mine = static_cast<uint32_t>(local_.index) + 1;
  for (int i = 0; i < ranks(); ++i) {
    if (segment_->sleeper(i).load(std::memory_order_relaxed) == mine) Ring(i);
  }
}

void NodeMemory::Ring(int index) {
  uint32_t mine = static_cast<uint32_t>(local_.index) + 1;
  if (!segment_->sleeper(index).compare_exchange_strong(mine, 0)) return;
  const std::optional<net::SocketAddress>& other = AddressOf(index);
  const Delivery delivery = other ? doorbell_.Ring(*other) : Delivery::kNoSocket;
  if (delivery == Delivery::kDone) return;
  uint32_t awake = 0;
  segment_->sleeper(index).compare_exchange_strong(awake,
                                                   delivery == Delivery::kNoRoom ? mine : kUndelivered);
  rings_due_ = rings_due_ || delivery == Delivery::kNoRoom;
}

// The text from a peer is a name, never a path.
const std::optional<net::SocketAddress>& NodeMemory::AddressOf(int index) {
  std::optional<net::SocketAddress>& address = doorbells_[static_cast<size_t>(index)];
  if (address) return address;
  const SegmentMember& member = segment_->member(index);
  const std::string name(member.doorbell.data(),
                         std::min<size_t>(member.doorbell_length, member.doorbell.size()));
  if (name.find('/') != std::string::npos) return address;
  if (const auto found = directory_.AddressOf(name)) address = *found;
  return address;
}

std::vector<int> NodeMemory::WaitingFor() {
  std::vector<int> waiting;
  for (int i = first_; i < end_; ++i) {
    if (i != local_.index && !Reached(i, target_)) waiting.push_back(local_.at(i));
  }
  return waiting;
}

void NodeMemory::BeginCall(const Call& call) {
  const CallWords next = PackCall(call, Digest(words_));
  if (next[1] != words_[1] || next[2] != words_[2]) changed_ = step_ + 1;
  words_ = next;
  sequence_ = call.sequence;
}

CallWords NodeMemory::WordsOf(int index, uint64_t step) const {
  const SlotHeader& header = segment_->header(index, step);
  CallWords words{};
  for (size_t i = 0; i < words.size(); ++i) words[i] = header.call[i].load(std::memory_order_relaxed);
  return words;
}

// The words of a step that is over may be overwritten while they are read. The digest in the later ones has
// this call as well.
Status NodeMemory::CheckCall(int index, uint64_t step, const CallWords& mine) {
  if (index == local_.index) return {};
  const SlotHeader& header = segment_->header(index, step);
  uint64_t differences = 0;
  for (size_t i = 0; i < mine.size(); ++i) {
    differences |= header.call[i].load(std::memory_order_relaxed) ^ mine[i];
  }
  if (differences == 0) return {};
  FenceAcquire();
  return IsAt(index, step) ? Disagree(index, step) : Status();
}

Status NodeMemory::CheckLast() {
  for (int i = 0; step_ > 0 && i < ranks(); ++i) {
    if (Reached(i, step_) && IsAt(i, step_)) MUSTER_CHECK(CheckCall(i, step_, words_));
  }
  return {};
}

// The first difference that the headers still have; `step` is the last one that both have published.
Status NodeMemory::Disagree(int index, uint64_t step) {
  PeerFailures& failures = engine_.failures();
  for (uint64_t at = step_ - std::min(step_, kSlots) + 1; at <= step; ++at) {
    const CallWords theirs = WordsOf(index, at);
    FenceAcquire();
    if (!IsAt(index, at)) continue;
    const std::optional<Call> own = UnpackCall(published_[at % kSlots], engine_.call());
    const std::optional<Call> other = UnpackCall(theirs, engine_.call());
    if (!own || !other)
      return failures.FailHere({Code::kInternal, "the shared memory of this node has been overwritten"});
    if (*own != *other) return failures.Disagree(*own, local_.at(index), *other);
  }
  return failures.DisagreedBefore(local_.at(index));
}

bool OwnProcessors(const Segment& segment) {
  std::array<uint64_t, 16> taken{};
  for (int rank = 0; rank < segment.shape().ranks; ++rank) {
    for (size_t word = 0; word < taken.size(); ++word) {
      const uint64_t processors = segment.member(rank).processors[word];
      if ((taken[word] & processors) != 0) return false;
      taken[word] |= processors;
    }
  }
  return true;
}

}  // namespace muster::socket
