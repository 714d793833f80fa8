// The part of `muster run` that uses a group, without programs: bootstrap/run/supervisor.cc is the original,
// and bootstrap/run/verdict/run_end.cc has the order of its last steps.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "comm/rendezvous/control/control_plane.h"
#include "comm/rendezvous/join/joiner.h"
#include "tests/simulation/scenario/member.h"

namespace muster::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kProgramsEndWithin = milliseconds(20);
constexpr Duration kAllKnowWithin = seconds(10);
constexpr Duration kEndsPatience = seconds(12);
constexpr Duration kEndsPatienceAtRoot = seconds(14);
// Of the connection for which a question is: this and its owner.
constexpr int kFirstClientPort = 40000;

class Supervisor {
 public:
  Supervisor(net::EventLoop& loop, const Launch& launch, Outcome& outcome)
      : loop_(loop), launch_(launch), outcome_(outcome) {}

  void Start(rendezvous::JoinRequest request) {
    for (const rendezvous::RankClaim& claim : request.self.claims) own_ranks_.push_back(claim.rank);
    joiner_ = std::make_unique<rendezvous::Joiner>(loop_, std::move(request),
                                                   [this](auto joined) { OnJoined(std::move(joined)); });
    joiner_->Start();
  }
  bool done() const { return done_; }

 private:
  void OnJoined(tl::expected<rendezvous::Joined, rendezvous::Failure> joined) {
    loop_.Post([this] { joiner_.reset(); });
    if (!joined) {
      Note(joined.error().error);
      done_ = true;
      return;
    }
    NoteFormed(outcome_, joined->group->roster);
    rendezvous::ControlPlane::Events events;
    events.on_failure = [this](const rendezvous::Failure& failure) { OnFailure(failure); };
    events.on_all_know = [this] { OnEveryoneKnows(); };
    events.on_released = [this] {
      if (outcome_.failure) return;
      outcome_.left = true;
      done_ = true;
    };
    events.on_ends = [this](const std::vector<rendezvous::RankEnd>& ends) {
      const KernelMemory kernel;
      for (const rendezvous::RankEnd& end : ends) outcome_.reported.insert(end.rank);
    };
    events.on_ends_reported = [this] { done_ = true; };
    events.on_gathered = [this](const rendezvous::KeyedAllGather& whole) { OnGathered(whole); };
    events.whose = [this, node = joined->group->roster.NodeOf(own_ranks_.front())](
                       const rendezvous::OwnerQuestion& question) { return OwnerOf(question, node); };
    plane_ = std::make_unique<rendezvous::ControlPlane>(loop_, *std::move(joined), own_ranks_,
                                                        launch_.liveness, std::move(events));
    outcome_.is_root = plane_->is_root();
    NextRound();
  }

  void Note(const Error& error) {
    const KernelMemory kernel;
    outcome_.failure = error;
    outcome_.failed_at = outcome_.process->world.now();
    outcome_.process->phase = Process::Phase::kFailed;
  }

  void NextRound() {
    if (outcome_.failure) return;
    if (outcome_.rounds == launch_.ask_round && !std::exchange(noted_, true)) {
      plane_->survey().NoteLate();
      if (own_ranks_.front() == launch_.asker) return Ask();
    }
    if (outcome_.rounds == launch_.rounds) {
      if (launch_.reports_exits) plane_->exit_reports().Send(Ends());
      outcome_.process->phase = Process::Phase::kLeft;
      return plane_->leaving().Leave();
    }
    loop_.After(launch_.pause, [this, round = outcome_.rounds] { Contribute(round); });
  }

  // The next round begins with the last answer.
  void Ask() {
    outcome_.answers.asked = true;
    outcome_.answers.missing = 2;
    const Time now = outcome_.process->world.now();
    plane_->survey().AskAll(kSurveyPatience, [this, now](const rendezvous::Surveyed& answer) {
      outcome_.answers.survey = outcome_.process->world.now() - now;
      outcome_.answers.whole = answer.complete;
      for (const rendezvous::RankReport& report : answer.reports)
        outcome_.answers.reports += report.state != rendezvous::RankState::kSilent ? 1 : 0;
      OnAnswer();
    });
    rendezvous::OwnerQuestion question;
    question.client_port = static_cast<uint16_t>(kFirstClientPort + launch_.owner);
    question.node = plane_->group().roster.NodeOf(launch_.owner);
    plane_->inquiry().Ask(question, [this](const rendezvous::OwnerAnswer& answer) {
      outcome_.answers.owner = answer.kind == rendezvous::OwnerKind::kProgram ? answer.rank : -1;
      OnAnswer();
    });
  }

  void OnAnswer() {
    if (--outcome_.answers.missing == 0) loop_.Post([this] { NextRound(); });
  }

  rendezvous::OwnerAnswer OwnerOf(const rendezvous::OwnerQuestion& question, int node) const {
    const int rank = question.client_port - kFirstClientPort;
    if (question.node != node || std::ranges::count(own_ranks_, rank) == 0) return {};
    return {.kind = rendezvous::OwnerKind::kProgram, .uid = outcome_.process->uid, .rank = rank};
  }

  void Contribute(int round) {
    if (outcome_.failure) return;
    if (outcome_.fails_at == round) {
      const int rank = own_ranks_.front();
      return plane_->failures().Fail(
          {{Code::kPeerLost, fmt::format("rank {} gives up", rank), ""}, rank, 1, "its last line"});
    }
    rendezvous::KeyedAllGather part{
        RoundName(round), rendezvous::MillisecondsLeft(Deadline::After(launch_.gather)), {}};
    for (const int rank : own_ranks_) {
      const std::string gift = GiftOf(round, rank);
      part.entries.emplace_back(rank, Bytes(gift.begin(), gift.end()));
    }
    plane_->exchanges().Contribute(part);
  }

  void OnGathered(const rendezvous::KeyedAllGather& whole) {
    if (outcome_.failure || whole.name != RoundName(outcome_.rounds)) return;
    for (const auto& [rank, bytes] : whole.entries) {
      if (AsText(bytes) != GiftOf(outcome_.rounds, rank))
        return plane_->failures().Fail({WrongGift(outcome_.rounds, rank), rank, -1, ""});
    }
    if (std::cmp_not_equal(whole.entries.size(), launch_.world_size))
      return plane_->failures().Fail({WrongGift(outcome_.rounds, -1), -1, -1, ""});
    ++outcome_.rounds;
    loop_.Post([this] { NextRound(); });
  }

  std::vector<rendezvous::RankEnd> Ends() const {
    std::vector<rendezvous::RankEnd> ends;
    for (const int rank : own_ranks_) {
      rendezvous::RankEnd end;
      end.rank = rank;
      ends.push_back(end);
    }
    return ends;
  }

  void OnFailure(const rendezvous::Failure& failure) {
    Note(failure.error);
    loop_.After(kProgramsEndWithin, [this] {
      programs_ended_ = true;
      if (all_know_) return Finish();
      loop_.After(kAllKnowWithin, [this] { OnEveryoneKnows(); });
    });
  }

  void OnEveryoneKnows() {
    if (std::exchange(all_know_, true)) return;
    // The plane's own call must end first.
    if (programs_ended_) loop_.Post([this] { Finish(); });
  }

  void Finish() {
    plane_->exit_reports().Finish(Ends(), plane_->is_root() ? kEndsPatienceAtRoot : kEndsPatience);
  }

  net::EventLoop& loop_;
  const Launch& launch_;
  Outcome& outcome_;
  std::vector<int> own_ranks_;
  std::unique_ptr<rendezvous::Joiner> joiner_;
  std::unique_ptr<rendezvous::ControlPlane> plane_;
  bool programs_ended_ = false;
  bool all_know_ = false;
  bool noted_ = false;
  bool done_ = false;
};

}  // namespace

void RunSupervisor(const Scenario& scenario, const ProcessPlan& plan, Outcome& outcome) {
  auto loop = net::EventLoop::Create();
  if (!loop) return;
  Supervisor supervisor(**loop, scenario.launches[static_cast<size_t>(plan.launch)], outcome);
  supervisor.Start(RequestOf(scenario, plan, outcome));
  (*loop)->RunUntil([&] { return supervisor.done(); }, Deadline::Never());
}

}  // namespace muster::simulation
