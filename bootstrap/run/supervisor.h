// `muster run` and `muster launch`: forms the group, runs this process's ranks in it, passes signals on, and
// sees to it that the group ends together: the first failure ends every rank, is reported by rank and node,
// and is every supervisor's exit status. No orphan is left behind.
//
// The story is told once: by the root, at once in one line and at the end in one block (summary.h), and as
// run.report where that is asked for. The others are silent, unless they hear nothing from above any more:
// then a few of them tell what they know.
//
// Single-threaded on one EventLoop. A failing rank's supervisor does not end before every other one knows
// why.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bootstrap/process/end_request.h"
#include "bootstrap/process/signals.h"
#include "bootstrap/report/run_recorder.h"
#include "bootstrap/run/program_reports.h"
#include "bootstrap/run/programs.h"
#include "bootstrap/run/supervisor_plan.h"
#include "bootstrap/store/store_keeper.h"
#include "bootstrap/store/store_users.h"
#include "comm/net/process_watch.h"
#include "comm/rendezvous/control/adoption_server.h"
#include "comm/rendezvous/control/control_plane.h"
#include "comm/rendezvous/join/joiner.h"

namespace muster::run {

class Supervisor {
 public:
  explicit Supervisor(SupervisorPlan plan);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor();

  // The exit status of `muster run`. BLOCKS until all is over. Error: before anything was started.
  Result<int> Run();

  // After Run: a program failed, nobody was lost, and nobody was told to end. The same on every supervisor.
  bool MayStartAgain() const { return failure_ && failure_->exit_status > 0 && !failure_->as_told; }
  bool IsRoot() const { return !plane_ || plane_->is_root(); }
  // After Run, where this one was told to end but the group's failure says nothing of it: others may start
  // again, and would wait for this one.
  std::optional<Error> ToldToEnd() const;

 private:
  // The exchange among supervisors that ends a group when all programs have ended, and the one that
  // follows it if files are expected: the root takes part in that once it has found them.
  static constexpr std::string_view kAllDone = "all programs have ended";
  static constexpr std::string_view kFilesAreThere = "the expected files are there";
  // What Slurm tells all ranks at once is one request.
  static constexpr Duration kOneRequest = std::chrono::seconds(1);

  void Join();
  void OnJoined(rendezvous::Joined joined);
  void OnGathered(const rendezvous::KeyedAllGather& whole);
  Status ServeStore();
  void StartPrograms();
  void OnProgramsDone();
  void ContributeNothingTo(std::string_view exchange);
  bool ExpectsFiles() const;
  void CheckFiles();
  void OnFilesChecked(const std::optional<Error>& missing);
  void OnSignal(const process::SignalEvent& event);
  void OnSignalBeforePrograms(int number);
  void OnSignalAfterPrograms(int number);
  process::EndStep TakeRequest(const process::SignalEvent& event);
  void TakeStep(process::EndStep step, const process::SignalEvent* event);
  void PassOn(const process::SignalEvent& event);
  void SendToPrograms(int number, std::string_view because);
  void ReportWaiting();
  std::string NameRanks(const std::vector<int>& ranks) const;
  bool JustTerminated() const;
  std::string NameUnlessAlone(int rank) const;
  Status WatchLifeline();
  void OnProgramEnded(const RankProgram& program, rendezvous::OutOfMemory out_of_memory);
  void ReportEnd(const RankProgram& program, rendezvous::OutOfMemory out_of_memory);
  void OnProgramLost(int rank);
  void Report(rendezvous::Failure failure);
  void OnFailure(const rendezvous::Failure& failure);
  void EndPrograms();
  void CheckDone();
  void Finish(int status);
  static int StatusOf(const rendezvous::Failure& failure);
  void ClearNodeOf(const rendezvous::Failure& failure);
  void ClearOrphans();
  void ReportLost(int rank);
  bool TellsOfFailure() const;
  bool IsOwn(int rank) const;
  static bool TellsApart(const rendezvous::Failure& failure);
  std::string_view Reason(const rendezvous::Failure& failure, bool apart) const;
  void OnNotFormed(const rendezvous::Failure& failure);
  void BecomeTeller();
  void NoteWhoCame();
  void FinishFailed();
  void Conclude();
  std::string Describe(int rank) const;

  SupervisorPlan plan_;
  std::unique_ptr<net::EventLoop> loop_;
  std::unique_ptr<process::SignalRelay> relay_;
  std::unique_ptr<rendezvous::Joiner> joiner_;
  std::unique_ptr<rendezvous::ControlPlane> plane_;
  std::unique_ptr<rendezvous::AdoptionServer> server_;
  std::unique_ptr<ExpectedFiles> expected_;  // the root's
  bool files_checked_ = false;
  std::unique_ptr<Programs> programs_;
  std::unique_ptr<ProgramReports> reports_;
  std::unique_ptr<store::StoreUsers> store_users_;
  std::unique_ptr<store::StoreKeeper> store_keeper_;  // rank 0's
  rendezvous::FormedGroup group_;
  bool reported_ = false;  // a failure of our own, or will be at once; failure_ is what the group was told
  std::optional<rendezvous::Failure> failure_;
  std::optional<int> status_;
  Clock::time_point ended_at_{};  // the latest program
  std::set<int> lost_;            // ranks whose program left the group without a leave message
  std::unique_ptr<net::ProcessWatch> lost_supervisor_;  // of a rank of this node, until it has ended
  report::RunRecorder recorder_;
  process::EndRequest request_;
  bool root_ = false;
  bool everyone_knows_ = false;
  bool finishing_ = false;  // how the programs ended is on its way to the root
  bool ends_told_ = false;
  bool released_ = false;
  net::EventLoop::TimerId kill_timer_ = 0;
  net::EventLoop::TimerId request_timer_ = 0;
  int awaited_ = 0;  // the request's wait that the timer belongs to
  net::EventLoop::TimerId last_timer_ = 0;
};

}  // namespace muster::run
