#include "comm/socket/transport/dial.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "comm/base/parse.h"

namespace muster::socket {
namespace {

constexpr int kMaxRetries = 12;
constexpr Duration kFirstRetry = std::chrono::milliseconds(5);
constexpr Duration kQueueRetry = std::chrono::milliseconds(20);
// A full queue empties when its owner polls it. If there is an alternative, this is the limit of the wait.
constexpr Duration kQueuePatience = std::chrono::seconds(5);
constexpr Duration kSlowestRetry = std::chrono::milliseconds(500);
// For a peer that has closed without an answer: it may have too many connections.
constexpr Duration kSlowestEarlyRetry = std::chrono::milliseconds(100);
// Between two requests to the kernel of a peer. It is longer after some: the network may be as slow.
constexpr Duration kRepeat = std::chrono::milliseconds(200);
constexpr Duration kSlowRepeat = std::chrono::milliseconds(3000);
constexpr int kQuickRequests = 10;

// Also if the loop does not know it yet.
bool KernelHasAnswered(int fd) {
  pollfd connecting{fd, POLLOUT, 0};
  return poll(&connecting, 1, 0) > 0;
}

std::string ClosedText(int error_number) {
  return error_number == 0 ? "closed during the handshake" : ErrnoText(error_number);
}

}  // namespace

Dial::Dial(net::EventLoop& loop, const GroupMember& self, const LinkKey& key, DialStages stages,
           Duration connect_timeout, bool gone)
    : loop_(loop),
      self_(self),
      key_(key),
      stages_(std::move(stages)),
      connect_timeout_(connect_timeout),
      refused_(gone || !stages_.empty()) {
  StartStage();
}

Dial::~Dial() {
  for (Attempt& attempt : attempts_) Close(attempt);
}

void Dial::StartStage() {
  for (Attempt& attempt : attempts_) Close(attempt);
  attempts_.clear();
  proving_ = false;
  queue_full_ = false;
  retry_at_ = Deadline::Never();
  if (stage_ == stages_.size()) {
    state_ = State::kFailed;
    return;
  }
  connect_by_ = Deadline::After(connect_timeout_);
  attempts_.resize(stages_[stage_].size());
  requests_ = 1;
  repeat_at_ = Deadline::After(kRepeat);
  for (size_t i = 0; i < attempts_.size(); ++i) StartAttempt(i);
  Settle();
}

void Dial::RepeatRequests() {
  repeat_at_ = Deadline::After(requests_++ < kQuickRequests ? kRepeat : kSlowRepeat);
  for (size_t i = 0; i < attempts_.size(); ++i) {
    const Attempt& attempt = attempts_[i];
    if (!attempt.fd || attempt.phase != Attempt::Phase::kConnecting || KernelHasAnswered(attempt.fd.get()))
      continue;
    Close(attempts_[i]);
    StartAttempt(i);
  }
  Settle();
}

void Dial::StartAttempt(size_t index) {
  Attempt& attempt = attempts_[index];
  attempt.address = stages_[stage_][index];
  int error_number = 0;
  Result<UniqueFd> fd = net::StartConnect(attempt.address, &error_number);
  if (!fd) {
    if (error_number != ECONNREFUSED) refused_ = false;
    lacked_descriptors_ = lacked_descriptors_ || error_number == EMFILE || error_number == ENFILE;
    // Its owner is about to make it.
    retry_ = retry_ || error_number == ENOENT;
    // A Unix socket with a full queue returns EAGAIN instead of waiting.
    attempt.failure = ErrnoText(error_number);
    queue_full_ = queue_full_ || error_number == EAGAIN;
    return;
  }
  // The kernel connects a Unix socket immediately or not at all.
  const bool is_unix = attempt.address.family() == AF_UNIX;
  if (const Status watched =
          loop_.Watch(fd->get(), is_unix ? EPOLLIN : EPOLLOUT, [this, index](uint32_t) { OnReady(index); });
      !watched) {
    refused_ = false;
    attempt.failure = watched.error().message;
    return;
  }
  attempt.fd = *std::move(fd);
  // Inside a node the kernel vouches for both ends of a Unix socket, and nothing else is on the way.
  attempt.handshake = std::make_unique<ConnectorHandshake>(self_, key_, is_unix ? 0 : self_.ciphers);
  if (is_unix) OnConnected(attempt);
}

void Dial::OnReady(size_t index) {
  Progress(attempts_[index]);
  Settle();
}

// After anything that may have closed an attempt.
void Dial::Settle() {
  ProveNext();
  if (state_ == State::kTrying && retry_at_.IsNever() && !AnyOpen()) OnStageFailed();
}

void Dial::Progress(Attempt& attempt) {
  switch (attempt.phase) {
    case Attempt::Phase::kConnecting:
      return OnConnectEnd(attempt);
    case Attempt::Phase::kReply:
      return OnReply(attempt);
    case Attempt::Phase::kWaiting:
      return FailAttempt(attempt, ClosedText(0), true);
    case Attempt::Phase::kTaken:
      return OnShake(attempt, attempt.handshake->ReadTaken(attempt.fd.get()));
  }
}

void Dial::OnConnectEnd(Attempt& attempt) {
  if (const int error_number = net::ConnectError(attempt.fd.get()); error_number != 0) {
    if (error_number != ECONNREFUSED) refused_ = false;
    return FailAttempt(attempt, ErrnoText(error_number), false);
  }
  loop_.Change(attempt.fd.get(), EPOLLIN);
  OnConnected(attempt);
}

void Dial::OnConnected(Attempt& attempt) {
  if (attempt.address.family() == AF_UNIX) {
    const std::optional<net::PeerCredentials> owner = net::CredentialsOf(attempt.fd.get());
    if (!owner || owner->uid != geteuid()) {
      refused_ = false;
      return FailAttempt(attempt, "it belongs to another user", false);
    }
  }
  attempt.phase = Attempt::Phase::kReply;
  const Shake shake = attempt.handshake->Start(attempt.fd.get());
  if (shake != Shake::kDone) OnShake(attempt, shake);
}

void Dial::OnReply(Attempt& attempt) {
  const Shake shake = attempt.handshake->ReadReply(attempt.fd.get());
  if (shake != Shake::kDone) return OnShake(attempt, shake);
  attempt.phase = Attempt::Phase::kWaiting;
}

// At most one attempt at a time proves itself: the peer must not end up with two connections.
void Dial::ProveNext() {
  for (Attempt& attempt : attempts_) {
    if (proving_) return;
    if (attempt.phase != Attempt::Phase::kWaiting) continue;
    proving_ = true;
    attempt.phase = Attempt::Phase::kTaken;
    const Shake shake = attempt.handshake->Prove(attempt.fd.get());
    if (shake != Shake::kDone) OnShake(attempt, shake);
  }
}

void Dial::OnShake(Attempt& attempt, Shake shake) {
  switch (shake) {
    case Shake::kPending:
      return;
    case Shake::kDone:
      return Finish(attempt);
    case Shake::kClosed:
      return FailAttempt(attempt, ClosedText(attempt.handshake->error_number()), true);
    case Shake::kRejected:
      refused_ = false;
      return FailAttempt(attempt, attempt.handshake->reason(), false);
  }
}

void Dial::Finish(Attempt& attempt) {
  loop_.Forget(attempt.fd.get());
  net::AllowSilence(attempt.fd.get());
  connected_ = {std::move(attempt.fd), attempt.handshake->Keys()};
  state_ = State::kConnected;
  for (Attempt& other : attempts_) Close(other);
}

void Dial::FailAttempt(Attempt& attempt, std::string reason, bool retry) {
  if (attempt.phase == Attempt::Phase::kTaken) proving_ = false;
  if (attempt.phase == Attempt::Phase::kReply && retry) closed_early_ = true;
  Close(attempt);
  attempt.phase = Attempt::Phase::kConnecting;
  attempt.failure = std::move(reason);
  retry_ = retry_ || retry;
}

void Dial::OnStageFailed() {
  if (queue_full_) {
    if (queue_by_.IsNever()) queue_by_ = Deadline::After(std::min(kQueuePatience, connect_timeout_));
    queue_was_full_ = true;
    // Its owner may be busy with the user's program for any time.
    if (stage_ + 1 == stages_.size() || !queue_by_.Expired()) {
      retry_at_ = Deadline::After(kQueueRetry);
      return;
    }
  }
  queue_by_ = Deadline::Never();
  for (const Attempt& attempt : attempts_) {
    tried_.push_back(fmt::format("{}: {}", attempt.address.ToString(), attempt.failure));
  }
  if (++stage_ < stages_.size()) return StartStage();
  const bool early = closed_early_ && Clock::now() - began_ < connect_timeout_;
  const bool retry = retry_ && (early || retries_ < kMaxRetries);
  if (retry || queue_was_full_) {
    stage_ = 0;
    tried_.clear();
    refused_ = true;
    retry_ = false;
    queue_was_full_ = false;
    if (retry) return RetryLater();
    retry_at_ = Deadline::After(kQueueRetry);
    return;
  }
  if (retry_) refused_ = false;
  state_ = State::kFailed;
}

void Dial::RetryLater() {
  const Duration longest = std::exchange(closed_early_, false) ? kSlowestEarlyRetry : kSlowestRetry;
  const Duration delay = std::min<Duration>(kFirstRetry * (1 << std::min(retries_, 10)), longest);
  ++retries_;
  retry_at_ = Deadline::After(delay);
}

Deadline Dial::wake() const {
  if (state_ != State::kTrying) return Deadline::Never();
  const bool connecting = std::ranges::any_of(attempts_, [](const Attempt& attempt) {
    return attempt.fd && attempt.phase == Attempt::Phase::kConnecting;
  });
  return connecting ? retry_at_.EarlierOf(connect_by_).EarlierOf(repeat_at_) : retry_at_;
}

void Dial::OnTime() {
  if (state_ != State::kTrying) return;
  if (retry_at_.Expired()) return StartStage();
  if (!connect_by_.Expired()) {
    if (repeat_at_.Expired()) RepeatRequests();
    return;
  }
  refused_ = false;
  connect_by_ = Deadline::Never();
  const std::string reason = fmt::format("no answer within {}", FormatDuration(connect_timeout_));
  for (Attempt& attempt : attempts_) {
    if (attempt.fd && attempt.phase == Attempt::Phase::kConnecting) FailAttempt(attempt, reason, false);
  }
  Settle();
}

std::string Dial::Tried() const { return fmt::format("{}", fmt::join(tried_, ", ")); }

void Dial::Close(Attempt& attempt) {
  if (!attempt.fd) return;
  loop_.Forget(attempt.fd.get());
  attempt.fd.Reset();
}

// A result of connect(2) that this process has not polled may be either.
bool Dial::MayHaveReached() const {
  if (state_ == State::kConnected) return true;
  return std::ranges::any_of(attempts_, [](const Attempt& attempt) {
    if (!attempt.fd || attempt.phase != Attempt::Phase::kConnecting) return static_cast<bool>(attempt.fd);
    return KernelHasAnswered(attempt.fd.get());
  });
}

bool Dial::AnyOpen() const {
  return std::ranges::any_of(attempts_, [](const Attempt& attempt) { return static_cast<bool>(attempt.fd); });
}

}  // namespace muster::socket
