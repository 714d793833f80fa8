// muster map: a command for each item, shared dynamically among the ranks.
#include <fmt/core.h>

#include <cstdio>

#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/config/text/quote.h"
#include "bootstrap/map/map_plan.h"
#include "bootstrap/map/map_run.h"
#include "comm/log/log.h"

namespace muster::cli {
namespace {

constexpr const char* kHelp =
    "Run CMD for each item. The items are shared dynamically among the ranks of this launch; each is "
    "committed\n"
    "once to a journal, and the same command goes on with what is left, with any number of ranks. CMD runs "
    "in a\n"
    "directory of its own, which becomes OUTPUT/KEY when CMD has exited with 0; its output is kept there in "
    "the\n"
    "files stdout and stderr.";
constexpr const char* kFooter =
    "Items: a file, one item a line (.txt), one JSON object a line (.jsonl), or CSV with a header line "
    "(.csv);\n"
    "in YAML also a list, or a map of lists whose combinations are the items (map.items).\n\n"
    "In CMD, run.env and --expect {NAME} is a field of the item; {item} {index} {key} {dir} {pwd} {attempt} "
    "{slot}\n"
    "{rank} {local_rank} {node} are known for every item; {{ and }} are braces. {pwd} is the directory where "
    "muster\n"
    "was started. CMD also gets MUSTER_ITEM, MUSTER_ITEM_KEY, MUSTER_ITEM_INDEX, MUSTER_ITEM_DIR, "
    "MUSTER_SLOT.\n\n"
    "Exit status, on every rank: 0 all items are committed; 79 items failed after --retries, named; 80 the "
    "time\n"
    "is up and items are left; otherwise as everywhere (muster --help).\n\n"
    "Examples:\n"
    "  muster map --items words.txt -- sh -c 'echo {item} >out'\n"
    "  srun muster map --items runs.csv --timeout 30m -- python {pwd}/eval.py --model {model} --task {task}\n"
    "  srun muster map -c configs/map-sweep.yaml\n"
    "  muster map -c configs/map-sweep.yaml --dry-run";

struct MapFlags {
  std::vector<std::string> command;
  std::string items;
  std::string journal;
  std::string output;
  std::string retries;
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
  set("map.timeout", flags.timeout);
  set("map.slots", flags.slots);
  std::string list;
  for (const std::string& file : flags.expected)
    list += (list.empty() ? "" : ", ") + config::JsonQuoted(file);
  if (!list.empty()) set("map.expect", "[" + list + "]");
  asked.group_only = true;
  return asked;
}

Result<int> DryRun(const Environment& environment, const join::StartOptions& asked, const MapFlags& flags) {
  MUSTER_TRY(const config::EffectiveConfig effective, join::LoadConfiguration(environment, asked));
  MUSTER_CHECK(join::StartLog(effective));
  MUSTER_TRY(const map::MapPlan plan, map::MakeMapPlan(effective, flags.command));
  for (const std::string& warning : plan.warnings) LogWarning("{}", warning);
  MUSTER_TRY(const std::string text, map::DescribePlan(plan, flags.json));
  fmt::print("{}", text);
  return 0;
}

void Report(const map::MapEnd& end, const map::MapPlan& plan, bool json) {
  if (json) fmt::print("{}", map::EndJson(end, plan));
  const int status = map::ExitStatusOf(end);
  for (const std::string& line : map::DescribeEnd(end)) {
    if (status == 0) LogInfo("{}", line);
    if (status != 0) LogError("{}", line);
  }
}

// `reports` becomes false on a rank that leaves the JSON object to rank 0.
Result<int> Map(const SharedFlags& shared, const MapFlags& flags, bool& reports) {
  const Environment environment = Environment::OfThisProcess();
  MUSTER_TRY(const join::StartOptions asked, AskedFor(shared, flags));
  if (flags.dry_run) return DryRun(environment, asked, flags);
  const auto started = join::StartUp(environment, asked);
  if (!started) {
    reports = !started.error().awaited || started.error().awaited->tuple.rank == 0;
    return tl::unexpected<Error>(join::TellOthers(environment, asked, started.error()).error);
  }
  reports = started->resolution.tuple.rank == 0;
  Result<map::MapPlan> plan = map::MakeMapPlan(started->effective, flags.command);
  if (!plan) {
    return tl::unexpected<Error>(
        join::TellOthers(environment, asked, started->resolution, plan.error()).error);
  }
  if (reports) {
    for (const std::string& warning : plan->warnings) LogWarning("{}", warning);
  }
  MUSTER_TRY(const map::MapEnd end, map::RunMap({environment, started->effective.config, asked,
                                                 started->resolution, map::Member::Join},
                                                *plan));
  if (end.reports) Report(end, *plan, flags.json);
  return map::ExitStatusOf(end);
}

void AddMapFlags(CLI::App& command, const std::shared_ptr<MapFlags>& flags) {
  const auto add = [&](const char* name, std::string& value, const char* what, const char* type) {
    command.add_option(name, value, what)->type_name(type);
  };
  add("--items", flags->items, "the items: .txt, .jsonl or .csv (map.items)", "FILE");
  add("--output", flags->output, "the directory of the results (map.output; default muster-map)", "DIR");
  add("--journal", flags->journal, "what is done, to go on from (map.journal; default OUTPUT/journal)",
      "DIR");
  add("--retries", flags->retries, "further attempts at an item that failed (map.retries; default 2)", "N");
  add("--timeout", flags->timeout, "end an attempt that takes longer (map.timeout)", "TIME");
  add("--slots", flags->slots,
      "items at a time for each rank: N, or {count: N, gpus: K, cores: C} (map.slots)", "N");
  command
      .add_option(
          "--expect", flags->expected,
          "an attempt has failed unless CMD has written this file, or FILE:JSON.PATH in it; repeatable")
      ->type_name("FILE")
      ->take_all()
      ->expected(1);
  command.add_flag("--dry-run", flags->dry_run,
                   "print the number of items and the first commands; run nothing");
  command.add_flag("--json", flags->json, "the outcome as one JSON object, on rank 0's stdout");
  command.add_option("CMD", flags->command, "the program and its arguments, after --");
  command.positionals_at_end();
}

}  // namespace

void AddMapCommand(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("map", "run a command for each item, shared among the ranks");
  command->description(kHelp);
  command->footer(kFooter);
  const auto shared = AddConfigFlags(*command);
  AddLaunchFlags(*command, shared);
  const auto flags = std::make_shared<MapFlags>();
  AddMapFlags(*command, flags);
  command->callback([shared, flags, &run] {
    run = [shared, flags] {
      bool reports = true;
      const Result<int> status = Map(*shared, *flags, reports);
      return status ? *status : ReportError(status.error(), flags->json && reports);
    };
  });
}

}  // namespace muster::cli
