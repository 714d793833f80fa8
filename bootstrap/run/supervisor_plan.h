// The programs and ranks of a supervisor. A value.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bootstrap/config/config.h"
#include "bootstrap/run/program/expected_files.h"
#include "bootstrap/store/store_port.h"
#include "comm/base/deadline.h"
#include "comm/rendezvous/join/join_request.h"

namespace muster::run {

// Which ranks have a program.
enum class WhoRuns : uint8_t { kEveryRank, kFirstRank, kFirstOfEachNode };

struct SupervisorPlan {
  config::Config config;
  std::string configuration;     // the same as YAML, for programs that adopt this group
  bool says_nccl_debug = false;  // nccl.debug is set, by the user or the file
  std::vector<std::string> command;
  std::map<std::string, std::string, std::less<>> environment;  // muster's own environment at its start
  std::optional<rendezvous::JoinRequest> join;                  // absent: a world of one
  bool own_group = false;  // muster launch: the ranks are not those of the launcher above
  std::string node;
  std::string job_key;                     // JobIdentity::key
  std::string version;                     // for the report
  Clock::time_point began = Clock::now();  // when the command began, or the group began again
  bool own_process_groups = true;          // ChildOptions
  // If not every rank has one, each program is a world of its own, and all wait until all have ended.
  WhoRuns who = WhoRuns::kEveryRank;
  // No launcher above this process ends programs which do not exit: this process does.
  bool ends_programs = false;
  int lifeline = -1;      // its end of file is a request to end; stays the caller's; -1: none
  std::set<int> signals;  // that came before the programs: passed on when they have started
  int job_restart = 0;    // JobIdentity::restart
  int restarts = 0;       // how many groups of this launch have failed
  int max_restarts = 0;
  // run.expect: the files before the first of these groups; its root reads them.
  std::shared_ptr<std::optional<FileStates>> files_before = std::make_shared<std::optional<FileStates>>();
  std::shared_ptr<store::StorePort> store;  // rank 0's, if muster serves the store; used up by Run
};

}  // namespace muster::run
