// The examinations of `muster doctor`, one for each subject, and the forms of their findings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/check/findings/facts.h"
#include "bootstrap/environment/environment.h"
#include "bootstrap/resources/gpu_count.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/nccl/libraries/library_files.h"
#include "comm/net/hosts.h"
#include "comm/options.h"

namespace muster::doctor {

enum class Health : uint8_t {
  kOk,
  kNote,     // muster works; something costs time, safety or size
  kProblem,  // a job that starts here now would fail
};

// The result for one subject.
struct Finding {
  std::string subject;  // "munge"
  Health health = Health::kOk;
  std::string found;                                       // the fact
  std::string cost;                                        // its consequence for a job; empty: none
  std::string remedy;                                      // the remedy; may be empty
  std::vector<std::pair<std::string, std::string>> facts;  // for --json: name and value

  friend bool operator==(const Finding&, const Finding&) = default;
};

// Kernel, C library, processors and limits, as a job's root and ranks need them.
Finding JudgeSystem(const check::NodeFacts& node, const check::RankFacts& process,
                    const std::string& architecture);

// Limits beside those of RankFacts, which login nodes have.
struct LoginLimits {
  check::Limit processes;      // of the user: ulimit -u
  check::Limit address_space;  // bytes: ulimit -v
  check::Limit file_size;      // bytes: ulimit -f
};

// Open files, of which a rank may need one for every other rank; and those of login nodes, if they are low.
Finding JudgeLimits(const check::RankFacts& process, const LoginLimits& limits = {});

// Why this user cannot write /dev/shm ("Read-only file system"); empty if it can.
std::string ProblemOfSharedMemory();

// /dev/shm, through which ranks of one node exchange data. `problem`: ProblemOfSharedMemory().
Finding JudgeSharedMemory(const check::NodeFacts& node, const std::string& problem = {});

// The program itself, and the one that a shell finds by its name.
struct ProgramFacts {
  std::string path;     // of this process's program; empty: not known (no /proc)
  std::string in_path;  // the first `muster` in PATH; empty: none
  bool same = false;    // both are one file
};

ProgramFacts LookAtProgram(const Environment& environment);

// To the subject `system`.
void AddProgram(const ProgramFacts& facts, Finding& finding);

// The sockets at which the processes of this node would meet: makes one as a job would, in the first of `bases` in
// which that works, and removes it.
Finding ExamineSockets(const std::vector<std::string>& bases);

// The addresses for processes of other nodes. `interfaces`: LocalInterfaces().
// `infiniband`: devices of /sys/class/infiniband. `pattern`: rendezvous.interface, which chooses among them.
Finding JudgeNetwork(const std::vector<net::LocalInterface>& interfaces,
                     const std::vector<std::string>& infiniband,
                     const std::optional<std::string>& pattern = {});
Finding ExamineNetwork(const std::optional<std::string>& pattern);

// How ranks on different nodes would prove to each other whose they are.
struct AuthenticationFacts {
  std::string munge_socket;
  bool munge_socket_present = false;
  Status munge;  // a credential was made
  bool secret_known = false;
  std::string munge_library_problem = {};  // why libmunge does not load
};

// BLOCKS until munged has answered, at most until the deadline.
AuthenticationFacts LookAtAuthentication(const std::string& munge_socket, bool secret_known,
                                         Deadline deadline);

Finding JudgeAuthentication(const AuthenticationFacts& facts, AuthMethod configured);

// Slurm's commands and muster's own helper for it.
struct SlurmFacts {
  Result<std::string> version;  // "slurm 23.11.4", of srun
  Status helper;                // muster-slurm runs
  std::string job;              // SLURM_JOB_ID; empty: not in a job
};

// Starts `srun --version` and `muster-slurm --help`. BLOCKS until both have ended, for each at most `each`.
// `helper`: rendezvous.slurm_helper.
SlurmFacts LookAtSlurm(const Environment& environment, const std::optional<std::string>& helper,
                       Duration each);

Finding JudgeSlurm(const SlurmFacts& facts);

// The GPUs of this node, and what muster would use them with.
struct GpuFacts {
  std::string vendor;    // "NVIDIA" if its kernel driver is there, else "AMD" or "Intel"; empty: no GPU
  uint32_t devices = 0;  // of that vendor
  Result<std::string> cuda =
      Fail(Code::kConfiguration, "not looked for");  // "12.8, driver for 13.0, 4 devices"
  Result<std::string> nccl = Fail(Code::kConfiguration, "not looked for");  // "2.27.5"
};

// `nvidia`: device files of NVIDIA. `count`: by files alone. Libraries are loaded only if NVIDIA's driver
// is there. BLOCKS while they load, for each at most `each`.
GpuFacts LookAtGpus(const nccl::LibraryPlaces& places, uint32_t nvidia, const GpuCount& count, Duration each);

Finding JudgeGpus(const GpuFacts& facts);

struct Report {
  std::string muster;  // version
  std::string node;
  std::vector<Finding> findings;
};

Health Worst(const std::vector<Finding>& findings);

// Lines for a person.
std::string ReportText(const Report& report);

// One line: {"muster", "node", "health": "ok"|"note"|"problem", "findings": [{"subject", "health", "found",
// "cost", "remedy", "facts": {NAME: TEXT}}]}. cost and remedy are null if there is none.
std::string ReportJson(const Report& report);

}  // namespace muster::doctor
