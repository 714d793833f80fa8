#include "comm/socket/engine/progress_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "comm/base/parse.h"
#include "comm/ops/group_failure.h"
#include "comm/roster.h"

namespace muster::socket {
namespace {

// A loopback or Unix message takes 2 to 4 us to a peer that spins and 20 to one that sleeps.
constexpr Duration kSpinFor = std::chrono::microseconds(50);
// Trying more connections than this costs more than being woken.
constexpr size_t kMaxSpinPeers = 8;
// Short sleeps show that the process was suspended.
constexpr Duration kLongestSleep = std::chrono::seconds(1);
// Later than this after it should have woken up, a process was suspended; a busy machine is faster.
constexpr Duration kSuspended = std::chrono::seconds(2);

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
      failures_(connections, options.cause_grace, options.sole_reader),
      stall_monitor_(mesh_, history, options.patience),
      wait_set_(mesh_) {}

ProgressEngine::~ProgressEngine() { End(); }

void ProgressEngine::Begin(const Call& call, Duration timeout, std::optional<Deadline> deadline) {
  call_ = call;
  clock_.Begin(timeout, deadline);
}

void ProgressEngine::End() {
  round_.Clear();
  failures_.Clear();
  if (clock_.started()) stall_monitor_.End();
  clock_.Stop();
  wait_set_.RemoveWaker();
}

void ProgressEngine::SendArriving(int peer, ByteView payload, const ArrivedBytes* arrival) {
  OutgoingMessage message{EncodeFrame({FrameKind::kData, call_, payload.size()}), payload};
  message.follows = arrival;
  round_.Queue(peer, message);
}

void ProgressEngine::SendWithDescriptor(int peer, ByteView payload, int descriptor) {
  round_.Queue(
      peer, OutgoingMessage{EncodeFrame({FrameKind::kData, call_, payload.size()}), payload, 0, descriptor});
}

const ArrivedBytes* ProgressEngine::Receive(int peer, std::span<uint8_t> into) {
  IncomingMessage message;
  message.into = into;
  return round_.QueueObserved(peer, message);
}

void ProgressEngine::ReceiveBytes(int peer, Bytes& into) {
  IncomingMessage message;
  message.grow = &into;
  round_.Queue(peer, message);
}

const ArrivedBytes* ProgressEngine::ReceiveCombined(int peer, const Combining& combining) {
  IncomingMessage message;
  message.combine = combining;
  return round_.QueueObserved(peer, message);
}

UniqueFd ProgressEngine::TakeDescriptor(int peer) {
  Connection* connection = connections_.Existing(peer);
  return connection != nullptr ? connection->TakeDescriptor() : UniqueFd();
}

std::string ProgressEngine::PrivateDirectoryName(int peer) {
  const Connection* connection = connections_.Existing(peer);
  return connection != nullptr ? connection->PrivateDirectoryName() : "";
}

Status ProgressEngine::Run() {
  Status status = Drive();
  round_.Clear();
  return status;
}

Status ProgressEngine::Drive() {
  bool moved = false;
  MUSTER_CHECK(AdvanceAll(moved));
  while (!round_.done()) {
    if (options_.spin && round_.streams().size() <= kMaxSpinPeers) MUSTER_CHECK(Spin());
    if (!round_.done()) MUSTER_CHECK(Wait());
  }
  return {};
}

Status ProgressEngine::AdvanceAll(bool& moved) {
  for (PeerStream& stream : round_.streams()) MUSTER_CHECK(Advance(stream, moved));
  return moved ? AdvanceHeld(moved) : Status();
}

// What one stream has received another one may be waiting to pass on.
Status ProgressEngine::AdvanceHeld(bool& moved) {
  for (PeerStream& stream : round_.streams()) {
    if (stream.held() && stream.MaySend()) MUSTER_CHECK(Advance(stream, moved));
  }
  return {};
}

Status ProgressEngine::Advance(PeerStream& stream, bool& moved) {
  if (stream.done() || failures_.IsLost(stream.rank())) return {};
  if (stream.connection() == nullptr) Connect(stream);
  if (stream.connection() == nullptr) return {};
  const StreamEvent event = stream.Advance(call_, round_.scratch());
  if (event == StreamEvent::kNothing) return {};
  if (event != StreamEvent::kMoved) return failures_.OnEvent(call_, stream, event);
  moved = true;
  stall_monitor_.Progress();
  return {};
}

void ProgressEngine::Connect(PeerStream& stream) {
  const ConnectionSet::Found found = connections_.Get(stream.rank());
  stream.set_connection(found.connection);
  if (found.failure) failures_.OnNotConnected(call_, stream.rank(), *found.failure);
}

Status ProgressEngine::Spin() {
  StartClock();
  Clock::time_point give_up = Clock::now() + kSpinFor;
  for (;;) {
    bool moved = false;
    MUSTER_CHECK(AdvanceAll(moved));
    if (round_.done()) return {};
    const Clock::time_point now = Clock::now();
    if (moved) give_up = now + kSpinFor;
    if (now >= give_up || clock_.deadline().when() <= now) return {};
    Relax();
  }
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
    if (now >= *give_up || clock_.deadline().when() <= now) return;
  }
}

Status ProgressEngine::AwaitAsleep() {
  while (!awaited_->Happened()) {
    awaited_->FallAsleep();
    Status status = Wait();
    awaited_->WakeUp();
    MUSTER_CHECK(std::move(status));
    if (options_.spin) SpinFor(*awaited_);
  }
  return {};
}

Status ProgressEngine::Wait() {
  StartClock();
  if (stall_monitor_.Blocked()) stall_monitor_.Attend(WaitingFor());
  MUSTER_CHECK(UseWaker());
  PrepareWait();
  const auto slept_from = Clock::now();
  const int ready = wait_set_.Poll(WakeAt().EarlierOf(Deadline::At(slept_from + kLongestSleep)));
  if (ready < 0 && errno != EINTR) {
    return failures_.Fail(
        {Code::kSystem, fmt::format("poll failed in {}: {}", Describe(call_), ErrnoText(errno)), ""});
  }
  NoticeSuspension(slept_from);
  if (ready > 0) MUSTER_CHECK(ServeReady());
  return CheckTime();
}

// Everything is tried once more after the waker has been added, so that nothing is missed in between.
Status ProgressEngine::UseWaker() {
  if (wait_set_.has_waker() || !(round_.LacksConnection() || stall_monitor_.Asking())) return {};
  if (Status added = wait_set_.AddWaker(); !added) return failures_.Fail(added.error());
  bool moved = false;
  return AdvanceAll(moved);
}

void ProgressEngine::PrepareWait() {
  wait_set_.Prepare();
  for (PeerStream& stream : round_.streams()) {
    if (stream.done() || failures_.IsLost(stream.rank()) || stream.connection() == nullptr) continue;
    wait_set_.Add(stream);
  }
  if (awaited_ == nullptr) return;
  wait_set_.AddDoorbell(awaited_->doorbell_fd());
  for (const int peer : awaited_->WaitingFor()) {
    const Connection* connection = failures_.IsLost(peer) ? nullptr : connections_.Existing(peer);
    if (connection != nullptr) wait_set_.AddEndOf(peer, connection->fd());
  }
}

Deadline ProgressEngine::WakeAt() const {
  // Everything may have been done while the waker was put up.
  if (Settled()) return Deadline::At(Clock::now());
  return clock_.deadline()
      .EarlierOf(mesh_.wake())
      .EarlierOf(stall_monitor_.wake())
      .EarlierOf(failures_.report_at());
}

void ProgressEngine::NoticeSuspension(Clock::time_point slept_from) {
  const Duration stall = Clock::now() - slept_from - kLongestSleep;
  if (stall < kSuspended) return;
  clock_.Postpone(stall);
  failures_.Postpone(stall);
  stall_monitor_.Postpone(stall);
}

Status ProgressEngine::ServeReady() {
  if (wait_set_.group_failed()) {
    if (std::optional<Error> failure = group_.failure()) return Fail(*std::move(failure));
  }
  if (wait_set_.mesh_ready()) mesh_.Serve();
  const bool woken = wait_set_.DrainWaker();
  if (wait_set_.doorbell_rang()) awaited_->Drain();
  for (const int peer : wait_set_.ended_peers()) MUSTER_CHECK(NoticeEnd(peer));
  bool moved = false;
  for (PeerStream* stream : wait_set_.ready_streams()) MUSTER_CHECK(Advance(*stream, moved));
  if (moved) MUSTER_CHECK(AdvanceHeld(moved));
  if (!wait_set_.mesh_ready() && !woken) return {};
  for (PeerStream& stream : round_.streams()) {
    if (stream.connection() == nullptr) MUSTER_CHECK(Advance(stream, moved));
  }
  return {};
}

// A peer may end as soon as it has done its part.
Status ProgressEngine::NoticeEnd(int peer) {
  const std::vector<int> waiting = awaited_->WaitingFor();
  if (std::ranges::find(waiting, peer) == waiting.end()) return {};
  return failures_.OnClosed(call_, peer, *connections_.Existing(peer));
}

void ProgressEngine::StartClock() {
  if (clock_.started()) return;
  clock_.Start(options_.latest.IsNever() ? group_.latest() : options_.latest);
  stall_monitor_.Begin(call_);
}

Status ProgressEngine::CheckTime() {
  if (mesh_.wake().Expired()) mesh_.Serve();
  if (Settled()) return {};
  if (const std::optional<int> gone = stall_monitor_.Gone()) {
    for (const int peer : UnfinishedPeers()) {
      if (connections_.WorldRank(peer) == *gone) failures_.OnLeft(call_, peer);
    }
  }
  const bool expired = clock_.deadline().Expired();
  if (failures_.any_lost() && (expired || failures_.report_at().Expired())) return failures_.FailLost();
  return expired ? failures_.Fail(DeadlineError()) : Status();
}

bool ProgressEngine::Settled() const {
  return round_.done() && (awaited_ == nullptr || awaited_->Happened());
}

std::vector<int> ProgressEngine::UnfinishedPeers() const {
  std::vector<int> peers = round_.UnfinishedPeers();
  if (awaited_ != nullptr) {
    const std::vector<int> others = awaited_->WaitingFor();
    peers.insert(peers.end(), others.begin(), others.end());
  }
  return peers;
}

std::vector<int> ProgressEngine::WaitingFor() const {
  std::vector<int> ranks = UnfinishedPeers();
  for (int& rank : ranks) rank = connections_.WorldRank(rank);
  std::ranges::sort(ranks);
  return ranks;
}

Error ProgressEngine::DeadlineError() const {
  // The rank that all wait for is rarely a peer that this one exchanges bytes with.
  const std::string missing = AskWhoIsMissing(group_, call_, connections_.own_rank());
  if (!missing.empty()) return clock_.DeadlineError(call_, missing);
  return clock_.DeadlineError(call_, DescribeRanks(group_.roster(), WaitingFor()));
}

}  // namespace muster::socket
