#include "comm/socket/engine/progress_engine.h"

#include <fmt/core.h>

#include <utility>

#include "comm/ops/group_failure.h"
#include "comm/roster.h"

namespace muster::socket {
namespace {

constexpr size_t kScratchBytes = size_t{64} * 1024;
// A loopback or Unix message takes 2 to 4 us to a peer that spins and 20 to one that sleeps.
constexpr Duration kSpinFor = std::chrono::microseconds(50);
// Trying more connections than this costs more than being woken.
constexpr size_t kMaxSpinPeers = 8;

void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ProgressEngine::ProgressEngine(ConnectionSet& connections, CallHistory* history,
                               const ProgressEngineOptions& options)
    : connections_(connections),
      mesh_(connections.mesh()),
      group_(mesh_.group()),
      options_(options),
      stall_monitor_(mesh_, history, options.patience) {}

ProgressEngine::~ProgressEngine() { End(); }

void ProgressEngine::Begin(const Call& call, Duration timeout, std::optional<Deadline> deadline) {
  call_ = call;
  timeout_ = timeout;
  given_deadline_ = deadline;
}

// An operation that never waits need not know what time it is: reading the clock is a good part of a short
// one.
void ProgressEngine::StartClock() {
  if (clock_started_) return;
  clock_started_ = true;
  deadline_ = given_deadline_.value_or(Deadline::After(timeout_));
  const Deadline latest = options_.latest.IsNever() ? group_.latest() : options_.latest;
  capped_ = !latest.IsNever() && !latest.Expired() && latest.when() < deadline_.when();
  if (capped_) deadline_ = latest;
  stall_monitor_.Begin(call_, deadline_, timeout_);
}

void ProgressEngine::End() {
  active_ = 0;
  arrivals_.clear();
  loss_.reset();
  if (clock_started_) stall_monitor_.End();
  clock_started_ = false;
  if (waker_added_) mesh_.RemoveWaker(waker_.get());
  waker_added_ = false;
}

PeerStream& ProgressEngine::StreamTo(int peer) {
  for (size_t i = active_; i > 0; --i) {
    if (streams_[i - 1].rank() == peer) return streams_[i - 1];
  }
  if (active_ == streams_.size()) streams_.emplace_back();
  PeerStream& stream = streams_[active_++];
  stream.Reset(peer, nullptr);
  return stream;
}

void ProgressEngine::Send(int peer, ByteView payload) { SendArriving(peer, payload, nullptr); }

void ProgressEngine::SendArriving(int peer, ByteView payload, const ArrivedBytes* arrival) {
  OutgoingMessage message{EncodeFrame({FrameKind::kData, call_, payload.size()}), payload};
  message.follows = arrival;
  StreamTo(peer).Queue(message);
}

const ArrivedBytes* ProgressEngine::QueueWatched(int peer, IncomingMessage message) {
  message.arrival = &arrivals_.emplace_back(0);
  StreamTo(peer).Queue(message);
  return message.arrival;
}

const ArrivedBytes* ProgressEngine::Receive(int peer, std::span<uint8_t> into) {
  IncomingMessage message;
  message.into = into;
  return QueueWatched(peer, message);
}

void ProgressEngine::ReceiveBytes(int peer, Bytes& into) {
  IncomingMessage message;
  message.grow = &into;
  StreamTo(peer).Queue(message);
}

const ArrivedBytes* ProgressEngine::ReceiveCombined(int peer, const Combining& combining) {
  if (!scratch_) scratch_ = std::make_unique<uint8_t[]>(kScratchBytes);
  IncomingMessage message;
  message.combine = combining;
  return QueueWatched(peer, message);
}

Status ProgressEngine::Run() {
  Status status = Drive();
  active_ = 0;
  arrivals_.clear();
  return status;
}

Status ProgressEngine::Drive() {
  bool moved = false;
  MUSTER_CHECK(AdvanceAll(moved));
  while (Unfinished() > 0) {
    if (options_.spin && active_ <= kMaxSpinPeers) MUSTER_CHECK(Spin());
    if (Unfinished() > 0) MUSTER_CHECK(Wait());
  }
  return {};
}

int ProgressEngine::Unfinished() const {
  int unfinished = 0;
  for (size_t i = 0; i < active_; ++i) unfinished += streams_[i].done() ? 0 : 1;
  return unfinished;
}

Status ProgressEngine::AdvanceAll(bool& moved) {
  for (size_t i = 0; i < active_; ++i) MUSTER_CHECK(Advance(streams_[i], moved));
  return moved ? AdvanceHeld(moved) : Status();
}

// What one stream has received another one may be waiting to pass on.
Status ProgressEngine::AdvanceHeld(bool& moved) {
  for (size_t i = 0; i < active_; ++i) {
    if (streams_[i].held() && streams_[i].MaySend()) MUSTER_CHECK(Advance(streams_[i], moved));
  }
  return {};
}

Status ProgressEngine::Advance(PeerStream& stream, bool& moved) {
  const bool lost = loss_ && loss_->rank == stream.rank();
  if (stream.done() || lost) return {};
  if (stream.connection() == nullptr) MUSTER_CHECK(Connect(stream));
  if (stream.connection() == nullptr) return {};
  const StreamEvent event = stream.Advance(call_, {scratch_.get(), scratch_ ? kScratchBytes : 0});
  if (event == StreamEvent::kNothing) return {};
  if (event != StreamEvent::kMoved) return OnEvent(stream, event);
  moved = true;
  stall_monitor_.Progress();
  return {};
}

Status ProgressEngine::Connect(PeerStream& stream) {
  ConnectionSet::Found found = connections_.Get(stream.rank());
  stream.set_connection(found.connection);
  if (!found.failure) return {};
  Lose(stream.rank(), DescribeFailure(stream.rank(), *found.failure));
  return {};
}

std::string ProgressEngine::DescribeFailure(int peer, const LinkFailure& failure) const {
  if (failure.refused) return fmt::format("{} left the group before {}", Subject(peer), Describe(call_));
  const std::string own = DescribeRank(group_.roster(), group_.rank());
  return fmt::format("{} cannot connect to {} for {}: {}{}", own, Subject(peer), Describe(call_),
                     failure.tried, failure.apart ? "; nor has that one connected to it" : "");
}

Status ProgressEngine::OnEvent(PeerStream& stream, StreamEvent event) {
  const int self = group_.rank();
  const int peer = connections_.WorldRank(stream.rank());
  switch (event) {
    case StreamEvent::kNothing:
    case StreamEvent::kMoved:
      return {};
    case StreamEvent::kMismatch:
      return Fail(Disagreement(group_.roster(), self, call_, peer, stream.connection()->header().call));
    case StreamEvent::kWrongLength:
      return Fail({Code::kInternal,
                   fmt::format("{} sent {} bytes in {}, which is not what {} had to get",
                               Subject(stream.rank()), stream.connection()->header().payload, Describe(call_),
                               DescribeRank(group_.roster(), self)),
                   ""});
    case StreamEvent::kNoMemory:
      return Fail({Code::kSystem,
                   fmt::format("{} has no memory for {} bytes in {}", DescribeRank(group_.roster(), self),
                               stream.connection()->header().payload, Describe(call_)),
                   ""});
    case StreamEvent::kTampered:
      return Tampered(stream.rank(), "its seal does not open");
    case StreamEvent::kLeave:
    case StreamEvent::kBroken:
      break;
  }
  if (event == StreamEvent::kLeave || LeftProperly(*stream.connection())) {
    return Fail({Code::kPeerLost,
                 fmt::format("{} left the group before {}", Subject(stream.rank()), Describe(call_)), ""});
  }
  Lose(stream.rank(),
       fmt::format("{} closed its connection during {}", Subject(stream.rank()), Describe(call_)));
  return {};
}

Status ProgressEngine::Tampered(int peer, std::string_view how) {
  return Fail({Code::kAuthentication,
               fmt::format("what {} sent to {} in {} was changed on the way: {}", Subject(peer),
                           DescribeRank(group_.roster(), group_.rank()), Describe(call_), how),
               "look for what stands between these two nodes; a faulty network card does the same"});
}

// A broken connection may still hold the leave message that explains it.
bool ProgressEngine::LeftProperly(Connection& connection) const {
  if (!options_.sole_reader) return connection.PeekLeave();
  return connection.ReadHeader() == Flow::kDone && connection.header().kind == FrameKind::kLeave;
}

void ProgressEngine::Lose(int peer, std::string message) {
  if (loss_) return;
  StartClock();
  loss_ = Loss{peer, Error{Code::kPeerLost, std::move(message), ""},
               Deadline::After(options_.cause_grace).EarlierOf(deadline_)};
}

Status ProgressEngine::Spin() {
  StartClock();
  Clock::time_point give_up = Clock::now() + kSpinFor;
  for (;;) {
    bool moved = false;
    MUSTER_CHECK(AdvanceAll(moved));
    if (Unfinished() == 0) return {};
    const Clock::time_point now = Clock::now();
    if (moved) give_up = now + kSpinFor;
    if (now >= give_up || deadline_.when() <= now) return {};
    Relax();
  }
}

void ProgressEngine::SendWithDescriptor(int peer, ByteView payload, int descriptor) {
  OutgoingMessage message{EncodeFrame({FrameKind::kData, call_, payload.size()}), payload, 0, descriptor};
  StreamTo(peer).Queue(message);
}

UniqueFd ProgressEngine::TakeDescriptor(int peer) {
  Connection* connection = connections_.Existing(peer);
  return connection != nullptr ? connection->TakeDescriptor() : UniqueFd();
}

std::string ProgressEngine::PrivateDirectoryName(int peer) {
  const Connection* connection = connections_.Existing(peer);
  return connection != nullptr ? connection->PrivateDirectoryName() : "";
}

Status ProgressEngine::Await(Awaited& awaited) {
  if (options_.spin) SpinFor(awaited);
  awaited.Idle();
  if (awaited.Happened()) return {};
  awaited_ = &awaited;
  Status status = AwaitAsleep();
  awaited_ = nullptr;
  stall_monitor_.Progress();
  return status;
}

// The clock costs as much as many looks.
void ProgressEngine::SpinFor(Awaited& awaited) {
  constexpr int kLooks = 32;
  std::optional<Clock::time_point> give_up;
  for (;;) {
    for (int look = 0; look < kLooks; ++look) {
      if (awaited.Happened()) return;
      Relax();
    }
    awaited.Idle();
    StartClock();
    const Clock::time_point now = Clock::now();
    if (!give_up) give_up = now + kSpinFor;
    if (now >= *give_up || deadline_.when() <= now) return;
  }
}

Status ProgressEngine::Disagree(int peer, const Call& theirs) {
  return Fail(Disagreement(group_.roster(), group_.rank(), call_, connections_.WorldRank(peer), theirs));
}

tl::unexpected<Error> ProgressEngine::Fail(const Error& error) {
  return muster::Fail(FailGroup(group_, error));
}

std::string ProgressEngine::Subject(int peer) const {
  return DescribeRank(group_.roster(), connections_.WorldRank(peer));
}

}  // namespace muster::socket
