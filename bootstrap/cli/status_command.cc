// muster status: the state of this job's running group, rank by rank.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flag_values.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/environment/environment.h"
#include "bootstrap/join/startup.h"
#include "bootstrap/process/stack.h"
#include "bootstrap/process/standard_streams.h"
#include "bootstrap/status/report.h"
#include "bootstrap/status/watch.h"
#include "comm/log/log.h"
#include "comm/rendezvous/survey/process_state.h"
#include "comm/rendezvous/survey/status_client.h"

namespace muster::cli {
namespace {

using std::chrono::seconds;

constexpr CommandText kText = {
    .details =
        R"(Prints what the ranks of the running groups on this node are doing: the operation, since when, and the ranks that it
waits for. Of a map: the items that are done, failed and at work, the slowest items, and how busy the ranks are. It queries
one process of each group, its leader on this node; the programs are not disturbed. The groups are those of `muster run` and of
programs that link muster, of the same user. A rank that does not answer within 2 s is reported as silent.)",
    .examples = R"(srun --overlap --jobid=4711 -N1 -n1 muster status
srun --overlap --jobid=4711 -N1 -n1 --pty muster status --watch
srun --overlap --jobid=4711 -N1 -n1 muster status --stacks --ranks 5,12-15
muster status --json | jq '.groups[].waiting')",
    .notes =
        R"(--stacks shows the frames of late ranks: of those that other ranks wait for, else of those in no operation. py-spy
(Python), eu-stack, gdb or pstack, if installed on the rank's node, read the program's own frames: under `muster run` on
every node, for other programs on this node. They stop the rank for a moment.

--watch ends with 0 when the group has ended, and by Ctrl-C. Without a terminal it prints a block for each TIME, with --json
an object.)",
    .exit_status = R"(64 there is no group on this node
75 the leader of the group does not answer)",
};

constexpr uint64_t kStacksMilliseconds = 30000;
constexpr size_t kMostStacks = 8;
constexpr std::string_view kInterval = "2s";

struct StatusFlags {
  bool json = false;
  bool stacks = false;
  std::string ranks;
  std::optional<std::string> watch;  // the interval; empty: kInterval
};

// The answer may take half as long again if the root is silent.
Result<rendezvous::AskedGroups> Ask(uint64_t milliseconds, const std::vector<int>& stacks,
                                    const Environment& environment) {
  const Deadline deadline = Deadline::After(std::chrono::milliseconds(2 * milliseconds) + seconds(1));
  return rendezvous::AskGroupsOnThisNode({0, milliseconds, stacks}, environment.process()->uid,
                                         join::SharedDirectories(environment), deadline);
}

// Of processes on this node that no other process can inspect: a program that links muster does not start
// tools.
void LookOnThisNode(rendezvous::GroupStatus& status, const std::vector<int>& ranks, std::string_view path) {
  const auto node_of = [&](int rank) { return status.node_of_rank[static_cast<size_t>(rank)]; };
  for (rendezvous::RankReport& report : status.reports) {
    if (std::ranges::count(ranks, report.rank) == 0 || !report.stack.empty()) continue;
    if (node_of(report.rank) != node_of(status.answering_rank)) {
      report.stack =
          fmt::format("to see it, ask on {}", status.nodes[static_cast<size_t>(node_of(report.rank))]);
    } else if (report.process.pid != 0) {
      report.stack = process::ReadStack(report.process.pid, path, Deadline::After(seconds(10)));
    }
  }
}

Status AddStacks(rendezvous::GroupStatus& status, const StatusFlags& flags, const Environment& environment) {
  std::vector<int> ranks = status::RanksToLookAt(status, kMostStacks);
  if (!flags.ranks.empty()) {
    MUSTER_TRY(ranks, ParseRankList(flags.ranks, "--ranks"));
  }
  const auto size = static_cast<int>(status.node_of_rank.size());
  std::erase_if(ranks, [size](int rank) { return rank >= size; });
  if (ranks.empty()) return {};
  MUSTER_TRY(rendezvous::AskedGroups asked, Ask(kStacksMilliseconds, ranks, environment));
  const auto again = std::ranges::find(asked.groups, status.group_id, &rendezvous::GroupStatus::group_id);
  if (again != asked.groups.end()) status = std::move(*again);
  LookOnThisNode(status, ranks, environment.Get("PATH").value_or(""));
  return {};
}

// A rank of none of the groups is the user's mistake.
Status CheckRanks(const std::string& text, const std::vector<rendezvous::GroupStatus>& groups) {
  size_t largest = 0;
  for (const rendezvous::GroupStatus& group : groups) largest = std::max(largest, group.node_of_rank.size());
  MUSTER_TRY(const std::vector<int> ranks, ParseRankList(text, "--ranks"));
  for (const int rank : ranks) {
    if (largest > 0 && static_cast<size_t>(rank) >= largest)
      return Fail(Code::kUsage, "there is no rank {}: the largest group has the ranks 0 to {}", rank,
                  largest - 1);
  }
  return {};
}

Error NoGroup(const rendezvous::AskedGroups& asked, const Environment& environment) {
  const std::string node = environment.process()->host_name;
  if (!asked.refused.empty()) return asked.refused.front();
  if (asked.silent.empty()) {
    return {Code::kNotLaunched, fmt::format("no group of this user has a rank on {}", node),
            "ask on a node of the job: srun --overlap --jobid=JOB -N1 -n1 muster status"};
  }
  const auto process = rendezvous::LookAtProcess(asked.silent.front());
  const bool stopped = process && process->state == 'T';
  return {Code::kDeadline,
          fmt::format("the group's leader on {}, process {}, does not answer{}", node, asked.silent.front(),
                      stopped ? ": it is stopped" : ""),
          "ask on another node of the job"};
}

Result<status::WatchedState> StateNow(const StatusFlags& flags, const Environment& environment) {
  MUSTER_TRY(rendezvous::AskedGroups asked, Ask(rendezvous::kSurveyMilliseconds, {}, environment));
  if (asked.groups.empty()) return Fail(NoGroup(asked, environment));
  status::KeepJob(asked.groups, environment.Get("SLURM_JOB_ID").value_or(""));
  if (!flags.ranks.empty()) MUSTER_CHECK(CheckRanks(flags.ranks, asked.groups));
  for (rendezvous::GroupStatus& group : asked.groups) {
    if (flags.stacks && group.forming.empty()) MUSTER_CHECK(AddStacks(group, flags, environment));
  }
  status::WatchedState state;
  for (const rendezvous::GroupStatus& group : asked.groups) {
    if (!group.job.empty()) state.jobs += (state.jobs.empty() ? "" : ", ") + group.job;
    if (!flags.json) state.text += (state.text.empty() ? "" : "\n") + status::StatusText(group);
  }
  if (flags.json) state.text = status::StatusJson(asked.groups, std::chrono::system_clock::now());
  return state;
}

Result<int> ShowStatus(const StatusFlags& flags) {
  const Environment environment = Environment::OfThisProcess();
  if (flags.watch) {
    MUSTER_TRY(const Duration interval,
               status::ParseInterval(flags.watch->empty() ? kInterval : *flags.watch));
    const auto describe = [&](const Error& error) {
      return flags.json ? ErrorAsJson(error) : ToString(error) + "\n";
    };
    return status::Watch({interval, flags.json, describe}, [&] { return StateNow(flags, environment); });
  }
  MUSTER_TRY(const status::WatchedState state, StateNow(flags, environment));
  MUSTER_CHECK(process::Print(state.text));
  return 0;
}

}  // namespace

CommandText AddStatusCommand(Options& options, Run& run) {
  const auto flags = std::make_shared<StatusFlags>();
  options.Under(kOutput);
  options.Flag("--json", flags->json, "print one JSON object with every rank; with --watch one a line");
  const Option watch =
      options
          .Text(
              "--watch", [flags](const std::string& interval) { flags->watch = interval; }, "TIME",
              "print the state again each TIME (default 2s), in place on a terminal, until "
              "the group has ended")
          .WithOptionalValue();
  const Option stacks =
      options.Flag("--stacks", flags->stacks, "print the stacks of late ranks").Excludes(watch);
  options
      .Text("--ranks", flags->ranks, "LIST",
            "with --stacks: print the stacks of these ranks, for example 5,12-15")
      .Needs(stacks);
  run = [flags] { return StatusOf(ShowStatus(*flags), flags->json); };
  return kText;
}

}  // namespace muster::cli
