#include "comm/socket/shm/agreement.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/log/log.h"
#include "comm/socket/algorithms/team_collectives.h"
#include "comm/system/cpus.h"

namespace muster::socket {
namespace {

using Flag = std::array<uint8_t, 1>;
constexpr size_t kLongestReason = 256;
// A flag, then the name of a private directory, filled up with zeros.
using OfferBytes = std::array<uint8_t, 65>;

// A set that cannot be read counts as all of them: then no rank spins for it. Of more processors than `noted`
// has bits several share one, and may count as the same.
void NoteProcessors(const std::optional<std::vector<int>>& processors, std::span<uint64_t> noted) {
  std::ranges::fill(noted, processors ? 0 : UINT64_MAX);
  if (!processors) return;
  for (const int processor : *processors) {
    const auto bit = static_cast<size_t>(processor) % (64 * noted.size());
    noted[bit / 64] |= uint64_t{1} << bit % 64;
  }
}

class Agreement {
 public:
  Agreement(ProgressEngine& engine, const Topology& topology, size_t slot_bytes)
      : engine_(engine), topology_(topology), local_(topology.local()) {
    shape_ = SegmentShape::For(local_.size(), slot_bytes);
  }

  Result<SharedMemoryAgreement> Run() {
    const bool first = local_.index == 0;
    if (local_.size() > 1) MUSTER_CHECK(first ? Offer() : Answer());
    Flag verdict = {reason_.empty()};
    if (first) {
      MUSTER_CHECK(
          RecursiveDoublingAllReduce(engine_, topology_.leaders(), {DataType::kU8, ReduceOp::kMin}, verdict));
    }
    MUSTER_CHECK(first ? ToMembers(verdict) : FromFirst(verdict));
    if (verdict[0] == 0) return SharedMemoryAgreement{};
    return SharedMemoryAgreement{true, TakeMemory()};
  }

 private:
  int first() const { return local_.at(0); }
  // A message of it has come.
  Connection& ConnectionTo(int rank) { return *engine_.connections().Existing(rank); }

  Status Offer() {
    std::vector<Flag> up(static_cast<size_t>(local_.size()));
    for (int i = 1; i < local_.size(); ++i) engine_.Receive(local_.at(i), up[static_cast<size_t>(i)]);
    MUSTER_CHECK(engine_.Run());
    Prepare();
    OfferBytes offer = {reason_.empty()};
    std::ranges::copy(directory_name_.substr(0, offer.size() - 1), offer.begin() + 1);
    for (int i = 1; i < local_.size(); ++i) {
      engine_.SendWithDescriptor(local_.at(i), offer, reason_.empty() ? segment_->fd() : -1);
    }
    MUSTER_CHECK(engine_.Run());
    return CollectReasons();
  }

  // All errors here happen before anything is offered.
  void Prepare() {
    for (int i = 1; i < local_.size(); ++i) {
      std::string name = ConnectionTo(local_.at(i)).PrivateDirectoryName();
      if (name.empty()) return Refuse(local_.at(i), "it is connected by TCP");
      if (i > 1 && name != directory_name_)
        return Refuse(local_.at(i), "it is connected through another directory than the other ranks");
      directory_name_ = std::move(name);
    }
    if (local_.size() > kMaxSharingRanks) return Refuse(first(), "there are too many ranks on this node");
    auto segment = Segment::Create(shape_);
    if (!segment) return Refuse(first(), segment.error().message);
    segment_ = *std::move(segment);
    if (const Status ready = Enrol(); !ready) Refuse(first(), ready.error().message);
  }

  Status CollectReasons() {
    std::vector<Bytes> reasons(static_cast<size_t>(local_.size()));
    for (int i = 1; i < local_.size(); ++i) {
      engine_.ReceiveBytes(local_.at(i), reasons[static_cast<size_t>(i)]);
    }
    MUSTER_CHECK(engine_.Run());
    for (int i = 1; i < local_.size(); ++i) {
      const Bytes& reason = reasons[static_cast<size_t>(i)];
      if (!reason.empty()) Refuse(local_.at(i), std::string(AsText(reason)));
    }
    if (!reason_.empty()) LogInfo("no shared memory inside this node, Unix sockets instead: {}", reason_);
    return {};
  }

  Status Answer() {
    const Flag up = {1};
    OfferBytes offer{};
    engine_.Send(first(), up);
    engine_.Receive(first(), offer);
    MUSTER_CHECK(engine_.Run());
    const auto end = std::ranges::find(offer.begin() + 1, offer.end(), 0);
    directory_name_.assign(offer.begin() + 1, end);
    if (offer[0] != 0) Join(ConnectionTo(first()).TakeDescriptor());
    const std::string reason = reason_.substr(0, kLongestReason);
    engine_.Send(first(), AsBytes(reason));
    return engine_.Run();
  }

  void Join(UniqueFd fd) {
    auto segment = Segment::Attach(std::move(fd), shape_);
    if (!segment) {
      reason_ = segment.error().message;
      return;
    }
    segment_ = *std::move(segment);
    if (const Status ready = Enrol(); !ready) reason_ = ready.error().message;
  }

  // Writes this rank's identity.
  Status Enrol() {
    directory_ = engine_.connections().mesh().FindDirectory(directory_name_);
    if (!directory_) return Fail(Code::kSystem, "it cannot reach the directory {}", directory_name_);
    MUSTER_TRY(Doorbell doorbell, Doorbell::Open(*directory_));
    SegmentMember& member = segment_->member(local_.index);
    if (doorbell.name().size() > member.doorbell.size()) {
      return Fail(Code::kSystem, "the name of a datagram socket is too long");
    }
    member.spins = engine_.spins() ? 1 : 0;
    std::ranges::copy(doorbell.name(), member.doorbell.begin());
    member.doorbell_length = static_cast<uint32_t>(doorbell.name().size());
    NoteProcessors(CpusOf(), member.processors);
    doorbell_ = std::move(doorbell);
    return {};
  }

  void Refuse(int rank, const std::string& reason) {
    if (!reason_.empty()) return;
    reason_ = fmt::format("rank {}: {}", engine_.connections().WorldRank(rank), reason);
    segment_.reset();
  }

  Status ToMembers(const Flag& verdict) {
    for (int i = 1; i < local_.size(); ++i) engine_.Send(local_.at(i), verdict);
    return engine_.Run();
  }
  Status FromFirst(Flag& verdict) {
    engine_.Receive(first(), verdict);
    return engine_.Run();
  }

  std::unique_ptr<NodeMemory> TakeMemory() {
    if (!segment_) return nullptr;
    segment_->CloseFd();
    if (OwnProcessors(*segment_)) engine_.AllowSpinning();
    return std::make_unique<NodeMemory>(engine_, std::move(segment_), *std::move(doorbell_), *directory_,
                                        local_);
  }

  ProgressEngine& engine_;
  const Topology& topology_;
  const Team& local_;
  SegmentShape shape_;
  std::unique_ptr<Segment> segment_;
  std::string directory_name_;  // of the doorbells
  std::optional<net::PrivateDirectory> directory_;
  std::optional<Doorbell> doorbell_;
  std::string reason_;  // the reason why not; empty: it can
};

}  // namespace

Result<SharedMemoryAgreement> AgreeOnSharedMemory(ProgressEngine& engine, const Topology& topology,
                                                  size_t slot_bytes) {
  return Agreement(engine, topology, slot_bytes).Run();
}

}  // namespace muster::socket
