#include "comm/rendezvous/link/root_dialer.h"

#include <sys/epoll.h>

#include <algorithm>
#include <map>
#include <utility>

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/rendezvous/link/handshake_clock.h"
#include "comm/rendezvous/messages/messages.h"
#include "comm/system/system_calls.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;

constexpr Duration kFirstPause = milliseconds(5);
// A peer with a wrong answer is tried again, but rarely.
constexpr Duration kStrangerPause = milliseconds(1000);
// Of more addresses, most are foreign: no quick attempts.
constexpr size_t kMostQuick = 64;
// Between two requests to the kernel of a root, which drops them if the queue of its port is full. Its own repetitions come
// after 1, 3 and 7 s. The network may be slow: only some are short.
constexpr Duration kRepeat = milliseconds(200);
constexpr int kQuickRequests = 10;
// A root whose queue another user of this node keeps full closes most connections, each after some 100 ms: of several
// parallel attempts, one finds a place sooner. A foreign process that closes immediately gets one at a time.
constexpr Duration kSlowClose = milliseconds(20);
constexpr int kMostParallel = 8;
// A root is seldom that late. A sweep resembles a port scan.
constexpr Duration kSweepAfter = milliseconds(15000);
constexpr Duration kLookForStrangers = milliseconds(250);

// Up to half as much again, so that a thousand leaders do not connect in step.
Duration Jittered(Duration pause) {
  return pause + pause * static_cast<Duration::rep>(RandomNumber() % 256) / 512;
}

std::string ProverHangs(const auth::Prover& prover) {
  return fmt::format("{} on this node did not answer", prover.method() == AuthMethod::kMunge
                                                           ? "munged"
                                                           : auth::AuthMethodName(prover.method()));
}

}  // namespace

Duration LongestPause(size_t candidates) {
  constexpr Duration kOfFew = milliseconds(200);
  constexpr Duration kOfMany = milliseconds(2000);
  constexpr Duration kForEach = milliseconds(2);
  return std::clamp(static_cast<Duration::rep>(candidates) * kForEach, kOfFew, kOfMany);
}

struct RootDialer::Attempt {
  net::SocketAddress address;
  UniqueFd connecting;
  std::unique_ptr<net::FrameStream> stream;
  std::unique_ptr<auth::Handshake> handshake;
  std::unique_ptr<HandshakeClock> clock;
  net::Timer timer;
  Duration pause = kFirstPause;
  std::string problem;
  bool answered = false;  // the peer has answered
  Clock::time_point connected{};
  std::shared_ptr<RetryBudget> retries;  // of the address, after connections that it has closed
  int requests = 0;                      // connects since the kernel of the peer answered last
  std::optional<size_t> further{};       // its index, of a further address that is being tried
  bool sweeping = false;                 // one of swept_
};

RootDialer::RootDialer(net::EventLoop& loop, Params params, auth::Prover& prover, OnLink on_link,
                       OnRejected on_rejected)
    : loop_(loop),
      params_(params),
      prover_(prover),
      on_link_(std::move(on_link)),
      on_rejected_(std::move(on_rejected)) {}

RootDialer::~RootDialer() { Stop(); }

void RootDialer::Stop() {
  sweep_timer_.Cancel();
  for (const auto* attempts : {&attempts_, &swept_}) {
    for (const auto& attempt : *attempts) StopAttempt(*attempt);
  }
  key_.Wipe();
}

void RootDialer::AddCandidates(const std::vector<net::SocketAddress>& candidates) {
  for (const net::SocketAddress& candidate : candidates) {
    if (!known_.insert(candidate.ToString()).second) continue;
    ++candidates_;
    AddAttempt(candidate, std::make_shared<RetryBudget>(params_.leaders));
  }
}

void RootDialer::AddAttempt(const net::SocketAddress& address, std::shared_ptr<RetryBudget> retries) {
  attempts_.push_back(std::make_unique<Attempt>());
  Attempt& attempt = *attempts_.back();
  attempt.address = address;
  attempt.retries = std::move(retries);
  attempt.timer = loop_.After(Duration::zero(), [this, &attempt] { Try(attempt); });
}

void RootDialer::SetFurther(Further further) {
  further_ = std::move(further);
  sweep_timer_ = loop_.After(kLookForStrangers, [this] { Sweep(); });
}

void RootDialer::Sweep() {
  const bool strangers = StrangersHoldAll();
  const bool due = strangers || Clock::now() - began_ >= kSweepAfter;
  if (due) TryFurther();
  sweep_timer_ = loop_.After(due ? PortSweep::Apart(params_.leaders, strangers) : kLookForStrangers,
                             [this] { Sweep(); });
}

// Each port at one address at least: the root needs a port that is free at all its addresses.
bool RootDialer::StrangersHoldAll() const {
  std::map<uint16_t, bool> held;
  for (const auto& attempt : attempts_) {
    bool& answered = held[attempt->address.port()];
    answered = answered || attempt->answered;
  }
  return !held.empty() && std::ranges::all_of(held, [](const auto& port) { return port.second; });
}

void RootDialer::TryFurther() {
  auto free = std::ranges::find_if(swept_, [](const auto& attempt) { return !attempt->further; });
  if (free == swept_.end() && swept_.size() == PortSweep::kAtOnce) return;
  const std::optional<size_t> index = sweep_.Next(further_.count());
  if (!index) return;
  if (free == swept_.end()) free = swept_.insert(free, std::make_unique<Attempt>());
  Attempt& attempt = **free;
  attempt.address = further_.at(*index);
  attempt.further = index;
  attempt.sweeping = true;
  attempt.answered = false;
  Try(attempt);
}

void RootDialer::StopAttempt(Attempt& attempt) {
  attempt.timer.Cancel();
  if (attempt.connecting) loop_.Forget(attempt.connecting.get());
  attempt.connecting.Reset();
  attempt.clock.reset();
  attempt.handshake.reset();
  attempt.stream.reset();
}

// A further address has its turn again, with more time.
Duration RootDialer::Patience(const Attempt& attempt, Duration limit) const {
  return attempt.sweeping ? std::min(limit, sweep_.patience()) : limit;
}

void RootDialer::Try(Attempt& attempt) {
  Result<UniqueFd> fd = net::StartConnect(attempt.address);
  if (!fd) return Retry(attempt, fd.error().message, Duration::zero());
  attempt.connecting = *std::move(fd);
  const Duration limit = Patience(attempt, params_.connect_timeout);
  const bool repeats = !attempt.sweeping && attempt.requests++ < kQuickRequests && kRepeat < limit;
  attempt.timer = loop_.After(repeats ? kRepeat : limit, [this, &attempt, limit, repeats] {
    Retry(attempt, repeats ? attempt.problem : fmt::format("no answer within {}", FormatDuration(limit)),
          Duration::zero());
  });
  const Status watched = loop_.Watch(attempt.connecting.get(), EPOLLOUT, [this, &attempt](uint32_t) {
    loop_.Forget(attempt.connecting.get());
    OnConnected(attempt, std::move(attempt.connecting));
  });
  if (!watched) Retry(attempt, watched.error().message, Duration::zero());
}

void RootDialer::OnConnected(Attempt& attempt, UniqueFd fd) {
  attempt.requests = 0;
  if (const int error = net::ConnectError(fd.get()); error != 0) {
    return Retry(attempt, ErrnoText(error), Duration::zero());
  }
  // The previous error is more useful than the note of a retry.
  if (!attempt.answered) attempt.problem = "it has not answered yet";
  attempt.answered = true;
  attempt.connected = Clock::now();
  attempt.timer.Cancel();
  const Duration limit = Patience(attempt, params_.handshake_timeout);
  attempt.clock = std::make_unique<HandshakeClock>(loop_, limit, [this, &attempt, limit](bool own_prover) {
    Retry(attempt,
          fmt::format("{} within {}", own_prover ? ProverHangs(prover_) : "it did not prove its identity",
                      FormatDuration(limit)),
          kStrangerPause);
  });
  attempt.stream = std::make_unique<net::FrameStream>(loop_, std::move(fd), auth::kMaxHandshakeMessage);
  net::FrameStream* stream = attempt.stream.get();
  attempt.handshake = std::make_unique<auth::Handshake>(
      auth::Handshake::Params{auth::Role::kClient, params_.meeting, attempt.address.ToString(), "this rank",
                              attempt.address.Host()},
      prover_, key_,
      [stream, &attempt](const Bytes& message) {
        attempt.clock->SetOwnTurn(false);
        stream->Send(message);
      },
      [this, &attempt](auth::HandshakeResult result) { OnHandshake(attempt, std::move(result)); });
  stream->Start([this, &attempt](ByteView frame) { OnFrame(attempt, frame); },
                [this, &attempt](const Error& error) { OnClosed(attempt, error); });
  attempt.handshake->Start();
}

void RootDialer::OnClosed(Attempt& attempt, const Error& error) {
  std::string problem = error.message.empty() ? "it closed the connection" : error.message;
  // It may have timed out first.
  if (attempt.handshake->WaitsForProver()) problem = ProverHangs(prover_) + ", and " + problem;
  const auto now = Clock::now();
  const bool quick = error.code == Code::kSystem && !attempt.sweeping && attempt.retries->Take(now);
  if (quick && candidates_ <= kMostQuick) attempt.pause = attempt.retries->pause();
  if (quick && now - attempt.connected >= kSlowClose) TryBeside(attempt);
  Retry(attempt, std::move(problem), quick ? Duration::zero() : kStrangerPause);
}

void RootDialer::TryBeside(const Attempt& attempt) {
  const auto at_once =
      std::ranges::count_if(attempts_, [&](const auto& a) { return a->address == attempt.address; });
  if (at_once < kMostParallel && params_.leaders <= RetryBudget::kFewLeaders)
    AddAttempt(attempt.address, attempt.retries);
}

void RootDialer::OnFrame(Attempt& attempt, ByteView frame) {
  const std::weak_ptr<bool> alive = alive_;
  attempt.handshake->OnMessage(frame);
  if (!alive.expired() && attempt.handshake && attempt.handshake->WaitsForProver())
    attempt.clock->SetOwnTurn(true);
}

void RootDialer::OnHandshake(Attempt& attempt, auth::HandshakeResult result) {
  if (result.outcome == auth::Outcome::kDone) {
    std::unique_ptr<net::FrameStream> stream = std::move(attempt.stream);
    Stop();
    stream->set_longest_frame(kLongestMessage);
    stream->Seal(std::move(result.channel->sealer), std::move(result.channel->opener));
    // The handler may destroy this dialer.
    const OnLink on_link = on_link_;
    return on_link(std::move(stream));
  }
  if (result.outcome == auth::Outcome::kRejected) {
    rejection_ = result.error;
    if (result.peer_proven || params_.ends_when_rejected) {
      const OnRejected on_rejected = on_rejected_;
      return on_rejected(result.error);
    }
    return Retry(attempt, result.error.message, kStrangerPause);
  }
  Retry(attempt, result.reason, kStrangerPause);
}

void RootDialer::Retry(Attempt& attempt, std::string problem, Duration at_least) {
  StopAttempt(attempt);
  if (attempt.problem != problem) LogDebug("{}: {}", attempt.address.ToString(), problem);
  attempt.problem = std::move(problem);
  if (attempt.sweeping) {
    if (attempt.answered) sweep_.SetStranger(*attempt.further);
    attempt.further.reset();
    return;
  }
  attempt.timer =
      loop_.After(Jittered(std::max(attempt.pause, at_least)), [this, &attempt] { Try(attempt); });
  attempt.pause = std::min(attempt.pause * 3 / 2, LongestPause(candidates_));
}

std::string RootDialer::Problem() const {
  if (rejection_) return rejection_->message;
  const Attempt* telling = nullptr;
  for (const auto& attempt : attempts_) {
    if (attempt->problem.empty()) continue;
    if (telling == nullptr || (attempt->answered && !telling->answered)) telling = attempt.get();
  }
  const auto trying = std::ranges::find_if(attempts_, [](const auto& a) { return bool{a->connecting}; });
  if (telling == nullptr && trying == attempts_.end()) return "";
  if (telling == nullptr) return fmt::format("{}: no answer so far", (*trying)->address.ToString());
  // The handshake's message names its peer already.
  if (telling->problem.starts_with(telling->address.ToString())) return telling->problem;
  return fmt::format("{}: {}", telling->address.ToString(), telling->problem);
}

}  // namespace muster::rendezvous
