// `muster launch --hosts FILE`: one `muster launch` on each machine, started with ssh, as one group.
//
// Each ends when its standard input closes, so nothing outlives this process, however it ends. Its command is
// the first line of that standard input: every user of this machine can read an argument of ssh, and the line
// has the group's secret and the settings of run.env. ssh's only argument is the same for all, and sh, csh
// and fish all understand it.
//
// ssh must not ask at the terminal: each has a process group of its own, so that Ctrl-C leaves it and with it the
// last output of its machine. One that asks ends the launch.
//
// ssh exits with 255 when it cannot reach a machine, and so does the command if muster cannot run there. A
// program's own 255 travels as 193 and is 255 again here; so is its 193. Other statuses are the program's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/process/child.h"
#include "bootstrap/process/signals.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/net/event_loop.h"

namespace muster::hosts {

struct HostLaunchPlan {
  std::vector<std::string> hosts;
  std::vector<std::string> ssh;      // the command that reaches a machine; its name and a command line follow
  std::vector<std::string> launch;   // this muster's `launch` with all its flags but --node-rank
  std::vector<std::string> command;  // CMD
  std::map<std::string, std::string> variables;  // set on each machine
  std::string directory;                         // to be in there
  std::vector<std::string> environment;          // of ssh: NAME=VALUE
  std::string secret;                            // JobSecret::Text
  Duration patience{};  // how long the machines may take after one has failed, or after the request to end
};

// ssh's argument after the name of a machine.
std::string_view RemoteCommand();
// The line that this command reads and runs on machine `node`; no newline but the last.
std::string RemoteScript(const HostLaunchPlan& plan, int node);

class HostLaunch {
 public:
  explicit HostLaunch(HostLaunchPlan plan);
  HostLaunch(const HostLaunch&) = delete;
  HostLaunch& operator=(const HostLaunch&) = delete;
  ~HostLaunch();

  // The exit status of the first that failed, else 0. BLOCKS until all have ended. A signal that requests an
  // end is passed on as the end of their standard input; another one kills, at least 1 s later. Error: kSystem,
  // before anything ran.
  Result<int> Run();

 private:
  struct Machine {
    std::string host;
    UniqueFd lifeline;
    std::string script;  // not yet written there
    std::unique_ptr<process::Child> ssh;
    std::optional<process::ChildExit> exit;
  };

  Status Start(int node);
  void WriteScript(Machine& machine);
  void Release(Machine& machine);
  void OnSignal(const process::SignalEvent& event);
  void OnChildren();
  void OnEnded(Machine& machine);
  void OnQuestion(Machine& machine);
  void End(Duration unless_within);
  void KillAll();
  bool AllEnded() const;

  HostLaunchPlan plan_;
  std::unique_ptr<net::EventLoop> loop_;
  std::unique_ptr<process::SignalRelay> relay_;
  std::vector<Machine> machines_;
  std::optional<int> status_;
  std::optional<Clock::time_point> asked_at_;  // to end: the first time
  bool ending_ = false;                        // at the latest when the timer fires
};

}  // namespace muster::hosts
