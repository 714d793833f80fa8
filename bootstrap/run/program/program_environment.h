// The environment of a program under `muster run` and `muster launch`. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bootstrap/resolve/launchers/launchers.h"
#include "comm/base/error.h"
#include "comm/roster.h"

namespace muster::run {

using Variables = std::map<std::string, std::string, std::less<>>;

struct ProgramFacts {
  const Roster& roster;
  int rank = 0;
  std::string job_key;       // JobIdentity::key
  std::string master_host;   // rank 0's node as the program can reach it; 127.0.0.1 for a world of one
  uint16_t master_port = 0;  // 0 for a world of one: PyTorch takes a free one
  bool agent_store = false;  // muster serves PyTorch's store at master_host and master_port
  std::string control;  // the supervisor's socket; empty: none, and then the program gets no MUSTER_ tuple
  int supervisor_pid = 0;
  bool rewrite_for_rank = false;  // the outer launcher's variables are not true of this one rank
  int restarts = 0;               // groups of this launch that have failed
  int max_restarts = 0;
  std::optional<int> threads;                // OMP_NUM_THREADS if the user has not set it
  std::map<std::string, std::string> extra;  // run.env: added last, its placeholders filled
  std::vector<std::string> interfaces;  // chosen for the program's own traffic, best first; empty: none were
  std::vector<std::pair<std::string, std::string>> nccl;  // NCCL's variables, from the section nccl
};

// The value of a placeholder of config::Placeholders; of those for which it is not the same for each rank
// (master_addr, master_port) it has none.
std::string ValueOfRank(std::string_view placeholder, const Roster& roster, int rank,
                        std::string_view job_key);

// From `base` (muster's own environment at its start):
//   set      what torchrun sets: RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE
//            ROLE_RANK ROLE_WORLD_SIZE ROLE_NAME MASTER_ADDR MASTER_PORT TORCHELASTIC_RUN_ID
//            TORCHELASTIC_RESTART_COUNT TORCHELASTIC_MAX_RESTARTS, with agent_store
//            TORCHELASTIC_USE_AGENT_STORE, and with threads OMP_NUM_THREADS; a torchrun above keeps what is
//            its own of these (TORCHELASTIC_*, ROLE_*, OMP_NUM_THREADS). NODE_RANK.
//            NCCL's variables of `nccl` and, if interfaces were chosen, GLOO_SOCKET_IFNAME, unless
//            they are set. With a control socket MUSTER_RANK MUSTER_WORLD_SIZE MUSTER_LOCAL_RANK
//            MUSTER_LOCAL_WORLD_SIZE MUSTER_NODE_RANK MUSTER_NUM_NODES MUSTER_NODE MUSTER_GROUP
//            MUSTER_CONTROL MUSTER_JOB_KEY MUSTER_BATCH_JOB MUSTER_SUPERVISOR_PID
//   removed  those of muster that are not for programs, and the launchers' `removed`
//   changed  for rewrite_for_rank, the outer launcher's variables (RewriteForRank)
//   kept     everything else: the outer launcher's variables are true of this one rank
Variables ProgramVariables(const Variables& base, const ProgramFacts& facts,
                           const resolve::LauncherTable& launchers = resolve::Launchers());

// NAME=VALUE, sorted.
std::vector<std::string> ToList(const Variables& variables);

// Error: kConfiguration if run.env sets a variable of muster's own; before anything is started.
Status CheckExtraVariables(const std::map<std::string, std::string>& extra);

}  // namespace muster::run
