// muster map: a command for each item, shared dynamically among the ranks.
#include <cstdio>

#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/config/text/quote.h"
#include "bootstrap/map/map_plan.h"
#include "bootstrap/map/map_run.h"
#include "bootstrap/process/standard_streams.h"
#include "bootstrap/run/planner.h"
#include "comm/log/log.h"

namespace muster::cli {
namespace {

constexpr CommandText kText = {
    .details =
        R"(Runs CMD for each item. A rank that is free takes the next item. The journal, a directory, records each item that is done
(committed): the same command then continues with the items that are left, on any number of ranks. CMD runs in a
directory of its own, which becomes OUTPUT/KEY when CMD has exited with 0. Its output is in the files stdout and stderr
there. KEY is the item's field key or id, else its value or all of its fields.)",
    .examples = R"(muster map --items words.txt -- sh -c 'echo {item} >out'
srun muster map --items runs.csv --timeout 30m -- python {pwd}/eval.py --model {model} --task {task}
srun muster map -c configs/map-sweep.yaml
muster map -c configs/map-sweep.yaml --dry-run)",
    .notes =
        R"(Items are the lines of a file (.txt), the JSON objects in its lines (.jsonl), or CSV with a header line (.csv). In YAML
they can also be a list, or a map of lists whose combinations are the items (map.items).

In CMD, run.env and --expect, {NAME} is a field of the item. Every item also has {item} {index} {key} {dir} {pwd}
{attempt} {slot} {rank} {local_rank} {node} {world_size} {local_world_size} {node_rank} {num_nodes} {job_key}; {{ and }}
are braces. {pwd} is the directory in which muster was started. CMD receives MUSTER_ITEM, MUSTER_ITEM_KEY,
MUSTER_ITEM_INDEX, MUSTER_ITEM_DIR, MUSTER_ITEM_ATTEMPT and MUSTER_SLOT.)",
    .exit_status = R"(0 all items are committed
79 items failed after --retries; they are named, and --retry-failed attempts them again (rank 0; the other ranks: 0)
80 the time is up and items are left (rank 0; the other ranks: 0))",
};

struct MapFlags {
  std::vector<std::string> command;
  std::string items;
  std::string journal;
  std::string output;
  std::string retries;
  bool retry_failed = false;
  std::string timeout;
  std::string slots;
  std::vector<std::string> expected;
  bool dry_run = false;
  bool json = false;
};

// Flags that are keys become settings of them.
Result<join::StartOptions> AskedFor(const SharedFlags& shared, const MapFlags& flags) {
  MUSTER_TRY(join::StartOptions asked, StartOptionsFrom(shared));
  const auto set = [&asked](const std::string& key, const std::string& value) {
    if (!value.empty()) asked.sets.push_back(key + "=" + value);
  };
  set("map.items", flags.items.empty() ? "" : config::JsonQuoted(flags.items));
  set("map.journal", flags.journal);
  set("map.output", flags.output);
  set("map.retries", flags.retries);
  set("map.retry_failed", flags.retry_failed ? "true" : "");
  set("map.timeout", flags.timeout);
  set("map.slots", flags.slots);
  const std::string list = config::Joined(flags.expected, ", ", config::JsonQuoted);
  if (!list.empty()) set("map.expect", "[" + list + "]");
  asked.command = "muster map";
  asked.group_only = true;
  return asked;
}

Result<int> DryRun(const Environment& environment, const join::StartOptions& asked, const MapFlags& flags) {
  MUSTER_TRY(const config::EffectiveConfig effective, join::LoadConfiguration(environment, asked));
  join::StartLog(effective);
  MUSTER_TRY(const map::MapPlan plan, map::MakeMapPlan(effective, flags.command));
  for (const std::string& warning : plan.warnings) LogWarning("{}", warning);
  MUSTER_TRY(const std::string text, map::DescribePlan(plan, flags.json));
  MUSTER_CHECK(process::Print(text));
  return 0;
}

Status Report(const map::MapEnd& end, const map::MapPlan& plan, bool json) {
  const int status = map::ExitStatusOf(end);
  for (const std::string& line : map::DescribeEnd(end)) {
    if (status == 0) LogInfo("{}", line);
    if (status != 0) LogError("{}", line);
  }
  return json ? process::Print(map::EndJson(end, plan)) : Status{};
}

// `reports` becomes false on a rank that leaves the JSON object to rank 0.
Result<int> Map(const SharedFlags& shared, const MapFlags& flags, bool& reports) {
  const Environment environment = Environment::OfThisProcess();
  MUSTER_TRY(const join::StartOptions asked, AskedFor(shared, flags));
  if (flags.dry_run) return DryRun(environment, asked, flags);
  const auto started = join::StartUp(environment, asked);
  if (!started) {
    reports = !started.error().awaited || started.error().awaited->tuple.rank == 0;
    return tl::unexpected<Error>(join::ReportStartFailure(environment, asked, started.error()).error);
  }
  reports = started->resolution.tuple.rank == 0;
  run::WarnOfNoLauncher(environment, started->effective.config, started->resolution, "muster map ...",
                        "-- muster map ...");
  Result<map::MapPlan> plan = map::MakeMapPlan(started->effective, flags.command);
  if (!plan) {
    return tl::unexpected<Error>(
        join::ReportStartFailure(environment, asked, started->resolution, plan.error()).error);
  }
  if (reports) {
    for (const std::string& warning : plan->warnings) LogWarning("{}", warning);
  }
  MUSTER_TRY(const map::MapEnd end, map::RunMap({environment, started->effective.config, asked,
                                                 started->resolution, map::Member::Join},
                                                *plan));
  if (end.reports) MUSTER_CHECK(Report(end, *plan, flags.json));
  return map::ExitStatusOf(end);
}

void AddMapFlags(Options& options, const std::shared_ptr<MapFlags>& flags) {
  options.Under(kProgram);
  options.Text("--items", flags->items, "FILE", "the items: a .txt, .jsonl or .csv file (map.items)");
  options.Text("--output", flags->output, "DIR",
               "the directory of the results (map.output; default muster-map)");
  options.Text("--journal", flags->journal, "DIR",
               "the journal to continue from (map.journal; default OUTPUT/journal)");
  options.Text("--retries", flags->retries, "N",
               "further attempts at an item that failed (map.retries; default 2)");
  options.Flag("--retry-failed", flags->retry_failed,
               "attempt again the items that earlier runs gave up (map.retry_failed)");
  options.Text("--timeout", flags->timeout, "TIME",
               "end an attempt that takes longer than TIME (map.timeout)");
  options.Text(
      "--slots", flags->slots, "N",
      "the number of items that a rank works on at a time, or {count: N, gpus: K, cores: C} (map.slots)");
  options
      .Text(
          "--expect", [flags](const std::string& file) { flags->expected.push_back(file); }, "FILE",
          "an attempt fails unless CMD has written FILE, or FILE:JSON.PATH in it; repeatable")
      .Repeatable();
  options.Flag("--dry-run", flags->dry_run, "print the number of items and the first commands; run nothing");
  options.Under(kOutput);
  options.Flag("--json", flags->json, "print the outcome as one JSON object, on rank 0");
  options.Program({flags, &flags->command});
}

}  // namespace

CommandText AddMapCommand(Options& options, Run& run) {
  const auto shared = AddConfigFlags(options);
  AddLaunchFlags(options, shared);
  const auto flags = std::make_shared<MapFlags>();
  AddMapFlags(options, flags);
  run = [shared, flags] {
    bool reports = true;
    const Result<int> status = Map(*shared, *flags, reports);
    return StatusOf(status, flags->json && reports);
  };
  return kText;
}

}  // namespace muster::cli
