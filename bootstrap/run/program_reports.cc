#include "bootstrap/run/program_reports.h"

#include <algorithm>
#include <utility>

#include "bootstrap/process/stack.h"
#include "comm/rendezvous/survey/process_state.h"

namespace muster {
namespace {

// What the program says counts; what it cannot say of itself is ours.
void Merge(RankReport& ours, const RankReport& program) {
  if (program.state != RankState::kInGroup) return;
  ours.state = RankState::kInGroup;
  ours.operations = program.operations;
  ours.process = program.process;
}

}  // namespace

Surveyor::Reports ProgramReports::LookAtPrograms(const std::vector<int>& own_ranks) const {
  Surveyor::Reports reports;
  for (const int rank : own_ranks) {
    RankReport& report = reports.emplace_back();
    report.rank = rank;
    report.state = uses_store_(rank) ? RankState::kOwnGroup : RankState::kProgram;
    const auto program = std::ranges::find(programs_, rank, [](const auto& one) { return one->rank(); });
    if (program == programs_.end()) continue;
    if ((*program)->exit()) {
      report.state = RankState::kEnded;
      report.exit_status = (*program)->exit()->ShellStatus();
    } else if (const auto process = LookAtProcess(WorkingProcess((*program)->pid()))) {
      report.process = *process;
    }
  }
  return reports;
}

void ProgramReports::Report(const Survey& survey, const std::vector<int>& own_ranks, AdoptionServer* server,
                            Reply reply) {
  Surveyor::Reports ours = LookAtPrograms(own_ranks);
  if (server == nullptr) return reply(std::move(ours));
  // A program that is silent must not make its supervisor late.
  Survey inner = survey;
  if (!survey.stacks.empty()) inner.milliseconds /= 4;
  inner.stacks.clear();
  server->Ask(inner, [this, survey, ours = std::move(ours), reply = std::move(reply),
                      alive = std::weak_ptr<bool>(alive_)](const Surveyor::Reports& theirs) mutable {
    if (alive.expired()) return;
    for (RankReport& report : ours) {
      const auto found = std::ranges::find(theirs, report.rank, &RankReport::rank);
      if (found != theirs.end()) Merge(report, *found);
    }
    AddStacks(survey, std::move(ours), std::move(reply));
  });
}

void ProgramReports::AddStacks(const Survey& survey, Surveyor::Reports reports, Reply reply) {
  const auto wanted = [&](const RankReport& report) {
    return report.process.pid != 0 && std::ranges::count(survey.stacks, report.rank) > 0;
  };
  if (std::ranges::none_of(reports, wanted)) return reply(std::move(reports));
  const Deadline deadline = Deadline::After(FromMilliseconds(survey.milliseconds / 2));
  std::vector<std::pair<size_t, pid_t>> processes;
  for (size_t i = 0; i < reports.size(); ++i) {
    if (!wanted(reports[i])) continue;
    processes.emplace_back(i, reports[i].process.pid);
  }
  auto shared = std::make_shared<Surveyor::Reports>(std::move(reports));
  stacks_.Run(
      [shared, processes, deadline] {
        for (const auto& [index, pid] : processes) (*shared)[index].stack = ReadStack(pid, deadline);
      },
      [shared, reply = std::move(reply)] { reply(std::move(*shared)); });
}

}  // namespace muster
