#include "comm/rendezvous/survey/straggler_watch.h"

#include <algorithm>
#include <utility>

#include "comm/log/log.h"

namespace muster::rendezvous {
namespace {

constexpr uint64_t kLongestPause = uint64_t{10} * 60 * 1000;
constexpr Duration kMargin = std::chrono::milliseconds(100);
constexpr Duration kSecondLookAfter = std::chrono::seconds(2);
constexpr Duration kShortestRetry = std::chrono::seconds(1);
constexpr Duration kBetweenSurveys = std::chrono::seconds(1);
// A wait for a rank that has left counts earlier than one for a straggler: the rank that waits has found no process there.
constexpr Duration kLeftAfter = std::chrono::milliseconds(100);
// Of the times in two reports of one wait.
constexpr uint64_t kClocksDiffer = 100;

uint64_t Milliseconds(Duration duration) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

std::string NameOf(const WaitingCall& call) {
  const int peer = call.call.collective || call.call.waiting_for.empty() ? -1 : call.call.waiting_for.front();
  return fmt::format("{} {} {}", call.call.communicator, ShortName(call.call), peer);
}

}  // namespace

StragglerWatch::StragglerWatch(net::EventLoop& loop, const Roster& roster, Duration after, Ask ask,
                               OnHopeless on_hopeless)
    : loop_(loop),
      roster_(roster),
      after_(after),
      ask_(std::move(ask)),
      on_hopeless_(std::move(on_hopeless)) {}

// The ranks that wait for the same one report it within moments of each other.
void StragglerWatch::OnLate() {
  ask_again_ = asking_;
  if (asking_) return;
  const auto earliest = last_asked_ + std::min(after_ / 2, kBetweenSurveys);
  AskIn(std::max(Duration::zero(), Duration(earliest - Clock::now())));
}

void StragglerWatch::AskIn(Duration delay) {
  const auto when = Clock::now() + delay;
  if (timer_.pending() && next_ask_ <= when) return;
  next_ask_ = when;
  timer_ = loop_.At(when, [this] { AskNow(); });
}

void StragglerWatch::AskNow() {
  asking_ = true;
  last_asked_ = Clock::now();
  ask_([this, alive = std::weak_ptr<bool>(alive_)](const std::vector<RankReport>& reports) {
    if (!alive.expired()) Take(reports);
  });
}

void StragglerWatch::Take(const std::vector<RankReport>& reports) {
  asking_ = false;
  std::vector<WaitingCall> calls = FindWaitingCalls(reports, std::min(after_, kLeftAfter));
  std::erase_if(calls, [this](const WaitingCall& call) {
    return call.call.milliseconds < Milliseconds(after_) && (call.left.empty() || !call.call.collective);
  });
  Duration pause = Duration::max();
  if (Note(calls, Missing(reports))) {
    const Duration shortest = std::max(kShortestRetry, after_ / 2);
    const Duration longest = std::max<Duration>(shortest, std::chrono::milliseconds(kLongestPause));
    pause = retry_ = std::clamp(2 * retry_, shortest, longest);
  } else {
    retry_ = Duration::zero();
  }
  for (const WaitingCall& call : calls) {
    if (call.left.empty()) {
      pause = std::min(pause, Report(call));
      continue;
    }
    WaitingCall hopeless = call;
    hopeless.left = GoneFor(call);
    if (!hopeless.left.empty()) return on_hopeless_(hopeless);
    pause = std::min(pause, kSecondLookAfter);
  }
  if (pause != Duration::max()) AskIn(pause);
  if (std::exchange(ask_again_, false)) OnLate();
}

std::set<int> StragglerWatch::Missing(const std::vector<RankReport>& reports) {
  std::set<int> missing;
  for (const RankReport& report : reports) {
    // Its supervisor reports a program that does not answer.
    const bool program = report.state == RankState::kProgram || report.state == RankState::kOwnGroup;
    if (report.state == RankState::kInGroup || !report.operations.empty()) {
      seen_.insert(report.rank);
    } else if (report.state == RankState::kSilent || (program && seen_.contains(report.rank))) {
      missing.insert(report.rank);
    }
  }
  return missing;
}

bool StragglerWatch::Note(const std::vector<WaitingCall>& calls, const std::set<int>& missing) {
  bool may_continue = calls.empty() && !missing.empty();
  std::map<std::string, Known> known;
  for (const WaitingCall& call : calls) {
    const std::string name = NameOf(call);
    const Known& before = known_[name];
    Known& now = known[name];
    now.next = before.next;
    now.waiting = call.waiting;
    for (const int rank : call.left) {
      const auto found = before.left.find(rank);
      // A call of this name in the next group of the same programs is another one: it has not waited that long.
      const bool same = found != before.left.end() && found->second < last_asked_ &&
                        call.call.milliseconds + kClocksDiffer >= Milliseconds(last_asked_ - found->second);
      now.left[rank] = same ? found->second : Clock::now();
    }
  }
  const auto is_missing = [&](int rank) { return missing.contains(rank); };
  for (auto& [name, before] : known_) {
    if (known.contains(name) || std::ranges::none_of(before.waiting, is_missing)) continue;
    known[name] = std::move(before);
    may_continue = true;
  }
  known_ = std::move(known);
  return may_continue;
}

std::vector<int> StragglerWatch::GoneFor(const WaitingCall& call) const {
  std::vector<int> gone;
  for (const auto& [rank, since] : known_.at(NameOf(call)).left) {
    if (since + kSecondLookAfter <= last_asked_) gone.push_back(rank);
  }
  return gone;
}

Duration StragglerWatch::Report(const WaitingCall& call) {
  const uint64_t waited = call.call.milliseconds;
  uint64_t& next = known_[NameOf(call)].next;
  if (waited >= next) {
    LogInfo("{}", Describe(roster_, call));
    next = waited + std::min(waited, kLongestPause);
  }
  return std::chrono::milliseconds(next - waited) + kMargin;
}

}  // namespace muster::rendezvous
