#include "comm/rendezvous/survey/surveyor.h"

#include <algorithm>
#include <utility>

#include "comm/net/socket.h"
#include "comm/rendezvous/survey/process_state.h"

namespace muster::rendezvous {
namespace {

// Limit of a survey's wait.
constexpr uint64_t kLongest = 60000;
// For the answer to travel.
constexpr Duration kGrace = std::chrono::milliseconds(500);

// The time that remains for the processes below.
uint64_t Below(uint64_t milliseconds) { return std::min(milliseconds, kLongest) * 3 / 4; }

Surveyor::Reports InGroup(const std::vector<int>& ranks) {
  Surveyor::Reports reports;
  for (const int rank : ranks) reports.push_back({.rank = rank, .state = RankState::kInGroup});
  return reports;
}

Duration TimeOf(const Survey& survey) { return FromMilliseconds(std::min(survey.milliseconds, kLongest)); }

}  // namespace

Surveyor::Surveyor(net::EventLoop& loop, Surroundings surroundings)
    : loop_(loop), at_(std::move(surroundings)) {}

void Surveyor::AskAll(const Survey& survey, OnAnswer then) {
  if (at_.is_root) {
    return AskBelow(survey, [this, then = std::move(then)](Surveyed answer) {
      AddAbsent(answer.reports);
      if (at_.maps) answer.maps = at_.maps();
      then(std::move(answer));
    });
  }
  const uint64_t number = next_++;
  Question& question = questions_[number];
  question.survey = survey;
  question.survey.number = number;
  question.then = std::move(then);
  question.timer = loop_.After(TimeOf(survey) + kGrace, [this, number] { AskThisNode(number); });
  if (!at_.send_up(Encode(question.survey))) AskThisNode(number);
}

// The root is silent: report the ranks known here.
void Surveyor::AskThisNode(uint64_t number) {
  auto node = questions_.extract(number);
  if (node.empty()) return;
  Question& question = node.mapped();
  question.survey.milliseconds /= 2;
  AskBelow(question.survey, [this, then = std::move(question.then)](Surveyed answer) {
    answer.complete = false;
    AddAbsent(answer.reports);
    then(std::move(answer));
  });
}

void Surveyor::NoteLeft(const std::set<int>& ranks) {
  Reports left;
  for (const int rank : ranks) left.push_back({.rank = rank, .state = RankState::kLeft});
  // An answer may begin the next survey.
  std::vector<uint64_t> numbers;
  for (const auto& [number, round] : rounds_) numbers.push_back(number);
  for (const uint64_t number : numbers) Take(number, left);
}

void Surveyor::ReceiveFromParent(ByteView frame) {
  if (ControlTypeOf(frame) == ControlType::kSurvey) {
    const auto survey = Decode<Survey>(frame);
    if (!survey) return;
    return AskBelow(*survey, [this, number = survey->number](Surveyed answer) {
      answer.number = number;
      at_.send_up(Encode(answer));
    });
  }
  auto answer = Decode<Surveyed>(frame);
  if (!answer) return;
  auto node = questions_.extract(answer->number);
  if (node.empty()) return;
  node.mapped().then(*std::move(answer));
}

void Surveyor::ReceiveFromChild(ChildLinks::Source source, ByteView frame) {
  if (ControlTypeOf(frame) == ControlType::kSurvey) {
    const auto survey = Decode<Survey>(frame);
    if (!survey) return;
    return AskAll(*survey, [this, source, number = survey->number](Surveyed answer) {
      answer.number = number;
      at_.children.Send(source, Encode(answer));
    });
  }
  if (const auto answer = Decode<Surveyed>(frame)) Take(answer->number, answer->reports);
}

void Surveyor::AskBelow(const Survey& survey, OnAnswer then) {
  const uint64_t number = next_++;
  Round& round = rounds_[number];
  round.then = std::move(then);
  round.timer = loop_.After(TimeOf(survey), [this, number] { Finish(number); });
  const auto await = [&](int rank) {
    if (at_.has_left(rank)) {
      RankReport& report = round.reports[rank];
      report.rank = rank;
      report.state = RankState::kLeft;
    } else {
      round.awaited.insert(rank);
    }
  };
  const Survey below{number, Below(survey.milliseconds), survey.stacks};
  for (const int rank : at_.own_ranks) await(rank);
  for (const auto& [source, child] : at_.children.all()) {
    for (const int rank : child.ranks) await(rank);
    if (!child.ranks.empty()) child.stream->Send(Encode(below));
  }
  if (round.awaited.empty()) return Finish(number);
  if (at_.own_ranks.empty()) return;
  if (!at_.report_own) return Take(number, InGroup(at_.own_ranks));
  at_.report_own(below, [this, number, alive = std::weak_ptr<bool>(alive_)](const Reports& reports) {
    if (!alive.expired()) Take(number, reports);
  });
}

void Surveyor::Take(uint64_t number, const Reports& reports) {
  const auto found = rounds_.find(number);
  if (found == rounds_.end()) return;
  Round& round = found->second;
  for (const RankReport& report : reports) {
    // Each rank is reported once, by the process that was responsible for it.
    if (round.awaited.erase(report.rank) > 0) round.reports[report.rank] = report;
  }
  if (round.awaited.empty()) Finish(number);
}

void Surveyor::Finish(uint64_t number) {
  auto node = rounds_.extract(number);
  if (node.empty()) return;
  Round& round = node.mapped();
  for (const int rank : round.awaited) round.reports[rank] = Silent(rank);
  Surveyed answer{number, true, {}};
  for (auto& [rank, report] : round.reports) answer.reports.push_back(std::move(report));
  round.then(std::move(answer));
}

// Its node's leader can still read the kernel's data about it.
RankReport Surveyor::Silent(int rank) const {
  RankReport report;
  report.rank = rank;
  for (const auto& [source, child] : at_.children.all()) {
    if (!child.same_node || std::ranges::count(child.ranks, rank) == 0) continue;
    const auto credentials = net::CredentialsOf(child.stream->fd());
    const auto process = credentials ? LookAtProcess(credentials->pid) : std::nullopt;
    if (process) report.process = *process;
  }
  return report;
}

// Ranks without a connection that could report.
void Surveyor::AddAbsent(Reports& reports) const {
  std::set<int> present;
  for (const RankReport& report : reports) present.insert(report.rank);
  for (int rank = 0; rank < at_.roster.size(); ++rank) {
    if (present.contains(rank)) continue;
    RankReport& report = reports.emplace_back();
    report.rank = rank;
    report.state = at_.has_left(rank) ? RankState::kLeft : RankState::kSilent;
  }
  std::ranges::sort(reports, {}, &RankReport::rank);
}

}  // namespace muster::rendezvous
