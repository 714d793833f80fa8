// The environment in which this process was started: an immutable snapshot, and the only place of muster that
// reads the environment, the host name, the process id and the user id. All other code receives an
// Environment, so that a captured one (`muster resolve --env-file`) gives the same answer as the process it
// came from.
//
// A value; copies share the variables. No I/O after construction. Safe to read from any thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "comm/base/error.h"

namespace muster {

class Environment {
 public:
  using Variables = std::map<std::string, std::string, std::less<>>;

  // Reads the environment of this process and, inside a Slurm job or under `muster run`, /proc of its
  // ancestors. Does not block. Not while another thread calls setenv.
  static Environment OfThisProcess();

  // NAME=VALUE lines as `env` prints them (blank lines, # comments and exported shell functions are passed
  // over), or NUL-separated as `env -0` and /proc/PID/environ have them. Not live. Error: kSystem for a file
  // that cannot be read (at most 16 MiB), kBadEnvironment naming `name` and the line otherwise.
  static Result<Environment> FromFile(const std::string& path);
  static Result<Environment> FromText(std::string_view text, std::string_view name = "environment");
  static Environment FromVariables(Variables variables);

  // Present but empty is not absent.
  std::optional<std::string_view> Get(std::string_view name) const;
  bool Has(std::string_view name) const { return Get(name).has_value(); }
  // nullopt: not set. Error: kBadEnvironment naming the variable and its value (blank, not decimal, negative,
  // too large).
  Result<std::optional<int>> GetCount(std::string_view name) const;
  const Variables& All() const { return *variables_; }

  // Facts of the running process itself; absent in a captured environment.
  struct Process {
    pid_t pid = 0;
    pid_t parent = 0;
    uid_t uid = 0;
    std::string host_name;
    std::string slurm_step;  // "13.0" "13.batch" "?.batch": of the nearest slurmstepd above; empty: none seen
    pid_t pmi_server = 0;  // the process at the other end of PMI_FD (Hydra's proxy on this node); 0: unknown
    // Whether MUSTER_SUPERVISOR_PID names an ancestor. Absent: not all ancestors up to a slurmstepd are visible.
    std::optional<bool> below_supervisor;
    // The environment with which the process named by SLURM_TASK_PID or MUSTER_SUPERVISOR_PID was started, if
    // it is an ancestor of this one: proves which launcher was there first. Else null.
    std::shared_ptr<const Environment> slurm_task;
    std::shared_ptr<const Environment> supervisor;
  };
  bool live() const { return process_.has_value(); }
  const std::optional<Process>& process() const { return process_; }
  std::optional<std::string> host_name() const;
  // The same variables as if they were those of a live process; for tests.
  Environment AsProcess(Process process) const;

 private:
  std::shared_ptr<const Variables> variables_ = std::make_shared<Variables>();
  std::optional<Process> process_;
};

}  // namespace muster
