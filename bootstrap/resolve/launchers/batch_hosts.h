// The hosts and tasks of a job that batch systems beside Slurm show: PBS, OAR, Grid Engine, Cobalt, LSF; and ALPS and Flux,
// which start ranks.
//
// Reads a host file of the batch system if the environment is live: a captured one has its files elsewhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bootstrap/environment/environment.h"
#include "bootstrap/resolve/slurm/allocation.h"

namespace muster::resolve {

// A job on more than one host.
struct JobHosts {
  std::string manager;   // as users write it: "Grid Engine"
  std::string variable;  // the evidence: "PBS_NODEFILE"
  size_t hosts = 0;
};
std::optional<JobHosts> HostsOfJob(const Environment& environment);

// A task's number, without the number of tasks: aprun, pbsdsh. Not if it can only be the one task of its job.
struct TaskNumber {
  std::string manager;
  std::string variable;
  int number = 0;
};
std::optional<TaskNumber> NumberOfTask(const Environment& environment);

// One of the processes that a manager starts on several nodes, where no launcher makes them ranks. Not read: the number of a
// process that is the only one.
struct Peer {
  std::string_view manager;
  std::string_view variable;
  int number = 0;
  std::string_view count_variable;
  int count = 0;
};
std::optional<Peer> PeerOfOthers(const Environment& environment);

// Why there may be more ranks or hosts than one, if neither of the above shows them.
std::vector<std::string> DoubtsOfOne(const Environment& environment);

// The job of HostsOfJob, in the form of Slurm's.
Allocation AllocationOf(const JobHosts& hosts, const Environment& environment);

}  // namespace muster::resolve
