#include "bootstrap/run/program_reports.h"

#include <algorithm>
#include <utility>

#include "bootstrap/process/stack.h"
#include "comm/rendezvous/survey/process_state.h"

namespace muster::run {

void Merge(rendezvous::RankReport& ours, const rendezvous::RankReport& program) {
  const bool left_behind = ours.state == rendezvous::RankState::kEnded;
  if (program.state != rendezvous::RankState::kInGroup && !left_behind) return;
  if (ours.state == rendezvous::RankState::kLeft) return;
  ours.state = program.state;
  ours.operations = program.operations;
  ours.process = program.process;
}

rendezvous::Surveyor::Reports ProgramReports::LookAtPrograms(const std::vector<int>& own_ranks,
                                                             const rendezvous::AdoptionServer* server) const {
  rendezvous::Surveyor::Reports reports;
  for (const int rank : own_ranks) {
    rendezvous::RankReport& report = reports.emplace_back();
    report.rank = rank;
    report.state = server != nullptr && server->HasLeft(rank) ? rendezvous::RankState::kLeft
                   : store_users_.HaveCome(rank)              ? rendezvous::RankState::kOwnGroup
                                                              : rendezvous::RankState::kProgram;
    const RankProgram* program = programs_.Find(rank);
    if (program == nullptr) continue;
    if (program->exit()) {
      report.state = rendezvous::RankState::kEnded;
      report.exit_status = program->exit()->ShellStatus();
    } else if (const auto process = rendezvous::LookAtProcess(process::WorkingProcess(program->pid()))) {
      report.process = *process;
    }
  }
  return reports;
}

void ProgramReports::Report(const rendezvous::Survey& survey, const std::vector<int>& own_ranks,
                            rendezvous::AdoptionServer* server, Reply reply) {
  rendezvous::Surveyor::Reports ours = LookAtPrograms(own_ranks, server);
  if (server == nullptr) return reply(std::move(ours));
  // A program that is silent must not make its supervisor late.
  rendezvous::Survey inner = survey;
  if (!survey.stacks.empty()) inner.milliseconds /= 4;
  inner.stacks.clear();
  server->Ask(inner,
              [this, survey, ours = std::move(ours), reply = std::move(reply),
               alive = std::weak_ptr<bool>(alive_)](const rendezvous::Surveyor::Reports& theirs) mutable {
                if (alive.expired()) return;
                for (rendezvous::RankReport& report : ours) {
                  const auto found = std::ranges::find(theirs, report.rank, &rendezvous::RankReport::rank);
                  if (found != theirs.end()) Merge(report, *found);
                }
                AddStacks(survey, std::move(ours), std::move(reply));
              });
}

void ProgramReports::AddStacks(const rendezvous::Survey& survey, rendezvous::Surveyor::Reports reports,
                               Reply reply) {
  const auto wanted = [&](const rendezvous::RankReport& report) {
    return report.process.pid != 0 && std::ranges::count(survey.stacks, report.rank) > 0;
  };
  if (std::ranges::none_of(reports, wanted)) return reply(std::move(reports));
  const Deadline deadline = Deadline::After(rendezvous::FromMilliseconds(survey.milliseconds / 2));
  std::vector<std::pair<size_t, pid_t>> processes;
  for (size_t i = 0; i < reports.size(); ++i) {
    if (!wanted(reports[i])) continue;
    processes.emplace_back(i, reports[i].process.pid);
  }
  auto shared = std::make_shared<rendezvous::Surveyor::Reports>(std::move(reports));
  const auto path = plan_.environment.find("PATH");
  stacks_.Run(
      [shared, processes, deadline, path = path == plan_.environment.end() ? "" : path->second] {
        for (const auto& [index, pid] : processes) {
          (*shared)[index].stack = process::ReadStack(pid, path, deadline);
        }
      },
      [shared, reply = std::move(reply)] { reply(std::move(*shared)); });
}

}  // namespace muster::run
