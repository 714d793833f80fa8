// run.expect: the root looks for the files when all programs have exited with 0.
#include "bootstrap/run/supervisor.h"

namespace muster::run {
namespace {

// A file system that hangs must not hold the ranks.
constexpr Duration kCheckedWithin = std::chrono::minutes(1);

}  // namespace

bool Supervisor::ExpectsFiles() const {
  return plan_.who == WhoRuns::kEveryRank && !plan_.config.run.expect.empty();
}

void Supervisor::NoteExpected() {
  if (!ExpectsFiles() || !root_) return;
  expected_ = ExpandExpected(plan_.config.run.expect, group_.roster.size(),
                             [this](int rank, std::string_view name) { return PlaceholderOf(rank, name); });
  if (!*plan_.files_before) *plan_.files_before = LookAtFiles(expected_);
}

std::string Supervisor::PlaceholderOf(int rank, std::string_view name) const {
  const Roster& roster = group_.roster;
  const int node = roster.NodeOf(rank);
  if (name == "rank") return std::to_string(rank);
  if (name == "world_size") return std::to_string(roster.size());
  if (name == "local_rank") return std::to_string(roster.members[static_cast<size_t>(rank)].local_rank);
  if (name == "local_world_size") return std::to_string(roster.LocalSize(node));
  if (name == "node_rank") return std::to_string(node);
  if (name == "num_nodes") return std::to_string(roster.nodes.size());
  if (name == "node") return roster.NodeName(rank);
  return plan_.job_key;
}

void Supervisor::CheckFiles() {
  struct Question {
    std::vector<std::string> expected;
    FileStates before;
    std::optional<Error> missing;
  };
  const auto question = std::make_shared<Question>(Question{expected_, **plan_.files_before, {}});
  file_checker_ = std::make_unique<net::ThreadWorker>(loop_->mailbox());
  const net::EventLoop::TimerId late = loop_->After(kCheckedWithin, [this] {
    OnFilesChecked(Error{Code::kDeadline,
                         fmt::format("the files of run.expect could not be looked at within {}",
                                     FormatDuration(kCheckedWithin)),
                         "the file system does not answer"});
  });
  file_checker_->Run([question] { question->missing = CheckExpected(question->expected, question->before); },
                     [this, question, late] {
                       loop_->Cancel(late);
                       OnFilesChecked(question->missing);
                     });
}

void Supervisor::OnFilesChecked(const std::optional<Error>& missing) {
  if (failure_ || reported_) return;
  files_checked_ = true;
  const int status = missing && missing->code == Code::kWorkFailed ? ExitStatus(missing->code) : -1;
  if (missing) return Report({*missing, -1, status, ""});
  if (plane_) return ContributeNothingTo(kFilesAreThere);
  CheckDone();
}

}  // namespace muster::run
