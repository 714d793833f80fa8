// `muster run` and `muster launch`: forms the group, runs this process's ranks in it, passes signals on, and
// sees to it that the group ends together: the first failure ends every rank, is reported by rank and node,
// and is every supervisor's exit status. No orphan is left behind.
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
#include "bootstrap/run/rank_program.h"
#include "bootstrap/run/signals.h"
#include "comm/rendezvous/control_plane.h"
#include "comm/rendezvous/join_request.h"
#include "comm/rendezvous/joiner.h"
#include "comm/rendezvous/program_desk.h"

namespace muster {

struct SupervisorPlan {
  Config config;
  std::string configuration;  // the same as YAML, for programs that adopt this group
  std::vector<std::string> command;
  std::map<std::string, std::string, std::less<>> environment;  // what muster itself was started with
  std::optional<JoinRequest> join;                              // absent: a world of one
  std::string node;
  std::string job_key;             // JobIdentity::key
  bool own_process_groups = true;  // ChildOptions
};

class Supervisor {
 public:
  explicit Supervisor(SupervisorPlan plan);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor();

  // The exit status of `muster run`. BLOCKS until all is over. Error: before anything was started.
  Result<int> Run();

 private:
  void Join();
  void OnJoined(Joined joined);
  void StartPrograms(const FormedGroup& group);
  ChildOptions OptionsFor(const FormedGroup& group, int rank) const;
  void OnSignal(const SignalEvent& event);
  void OnChildren();
  void OnProgramEnded(const RankProgram& program);
  void OnProgramLost(int rank);
  void Report(Failure failure);
  void OnFailure(const Failure& failure);
  void EndPrograms();
  void CheckDone();
  void Finish(int status);
  void ClearNodeOf(const Failure& failure) const;
  void ReportLost(int rank);
  bool AllEnded() const;
  std::string Describe(int rank) const;

  SupervisorPlan plan_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<SignalRelay> relay_;
  std::unique_ptr<Joiner> joiner_;
  std::unique_ptr<ControlPlane> plane_;
  std::unique_ptr<ProgramDesk> desk_;
  std::vector<std::unique_ptr<RankProgram>> programs_;
  FormedGroup group_;
  bool reported_ = false;  // a failure of our own; failure_ is what the group was told
  std::optional<Failure> failure_;
  std::optional<int> status_;
  int asked_to_end_ = 0;  // the signal
  Clock::time_point asked_at_{};
  Clock::time_point ended_at_{};  // the latest program
  std::set<int> lost_;            // ranks whose program left the group without a goodbye
  bool everyone_knows_ = false;
  bool released_ = false;
  EventLoop::TimerId kill_timer_ = 0;
  EventLoop::TimerId last_timer_ = 0;
};

}  // namespace muster
