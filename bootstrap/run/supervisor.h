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

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bootstrap/config/config.h"
#include "bootstrap/process/end_request.h"
#include "bootstrap/process/signals.h"
#include "bootstrap/report/run_recorder.h"
#include "bootstrap/run/expected_files.h"
#include "bootstrap/run/input_plan.h"
#include "bootstrap/run/oom_watch.h"
#include "bootstrap/run/output_plan.h"
#include "bootstrap/run/program_environment.h"
#include "bootstrap/run/program_reports.h"
#include "bootstrap/run/rank_program.h"
#include "bootstrap/store/store_keeper.h"
#include "bootstrap/store/store_users.h"
#include "comm/net/process_watch.h"
#include "comm/rendezvous/control/adoption_server.h"
#include "comm/rendezvous/control/control_plane.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/join/joiner.h"

namespace muster::run {

// Which ranks have a program.
enum class WhoRuns : uint8_t { kEveryRank, kFirstRank, kFirstOfEachNode };

struct SupervisorPlan {
  config::Config config;
  std::string configuration;     // the same as YAML, for programs that adopt this group
  bool says_nccl_debug = false;  // whether somebody has set nccl.debug
  std::vector<std::string> command;
  std::map<std::string, std::string, std::less<>> environment;  // what muster itself was started with
  std::optional<rendezvous::JoinRequest> join;                  // absent: a world of one
  std::string node;
  std::string job_key;                     // JobIdentity::key
  std::string version;                     // for the report
  Clock::time_point began = Clock::now();  // when the command began, or the group began again
  bool own_process_groups = true;          // ChildOptions
  // Where not every rank has one, each program is a world of its own, and all wait until all have ended.
  WhoRuns who = WhoRuns::kEveryRank;
  // No launcher stands above that ends programs which do not exit: this process does.
  bool ends_programs = false;
  int lifeline = -1;  // when it closes, this process was told to end; stays the caller's; -1: none
  int restarts = 0;   // how many groups of this launch have failed
  int max_restarts = 0;
  // run.expect: what was there before the first of these groups; looked at by the first one.
  std::shared_ptr<std::optional<FileStates>> files_before = std::make_shared<std::optional<FileStates>>();
  std::shared_ptr<store::StorePort> store;  // rank 0's, where muster serves the store; used up by Run
};

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
  void StartPrograms(const rendezvous::FormedGroup& group);
  std::optional<rendezvous::Failure> StartProgram(const rendezvous::FormedGroup& group, int rank);
  process::ChildOptions OptionsFor(const rendezvous::FormedGroup& group, int rank) const;
  process::ChildOptions OptionsAlone() const;
  process::ChildOptions OptionsWith(const ProgramFacts& facts) const;
  bool HasProgram(int rank) const;
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
  void OnChildren();
  void OnProgramEnded(const RankProgram& program);
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
  bool AllEnded() const;
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
  std::unique_ptr<OutputPlan> output_;
  std::unique_ptr<InputPlan> input_;
  std::unique_ptr<ExpectedFiles> expected_;  // the root's
  bool files_checked_ = false;
  std::vector<std::unique_ptr<RankProgram>> programs_;
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
  std::optional<OomWatch> memory_;                      // since the programs were started
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
