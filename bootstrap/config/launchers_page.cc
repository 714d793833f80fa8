#include <fmt/core.h>

#include <array>

#include "bootstrap/config/generated.h"
#include "bootstrap/config/text/quote.h"
#include "bootstrap/environment/outer_variables.h"

namespace muster::config {
namespace {

constexpr std::string_view kHead = R"(# The launchers

Generated from the rows of `bootstrap/resolve/launchers`: `bazel run //bootstrap/config:generate -- launchers`.

The name is the same everywhere: `launcher:`, `MUSTER_LAUNCHER`, `--launcher`, `resolve`. If several launchers describe the same
world, the first in this order gives the tuple.

**Run in the tests**: the launcher itself starts the ranks, on several nodes if it can (`tests/launchers`). **From documentation**:
the variables that its documentation or source names; tested with constructed environments only.

| name | run in the tests | from documentation, never run here | meeting of its ranks |
| --- | --- | --- | --- |
)";

constexpr std::string_view kMeetings = R"(
Meetings:

- *master*: port ladder on `MASTER_ADDR`.
- *mpi*: one node: Unix socket; in a Slurm job: a ladder on each of its nodes; else `MASTER_ADDR` or `rendezvous.endpoint`.

The variables of each, those of the tuple first:

)";

std::string MeetingOf(const resolve::Launcher& launcher) {
  switch (launcher.meets) {
    case resolve::Meets::kJob:
      return "mpi";
    case resolve::Meets::kJobThenPmi:
      return "mpi, then the launcher's PMI server";
    case resolve::Meets::kJobThenPmix:
      return "mpi, then the launcher's PMIx server";
    case resolve::Meets::kPmix:
      return "one node: Unix socket; else the PMIx server";
    case resolve::Meets::kMaster:
      if (launcher.store_variable.empty()) return "master";
      return fmt::format("if `{}=True` the agent's store, else master", launcher.store_variable);
    case resolve::Meets::kStep:
      return "port ladder on the step's first node";
    case resolve::Meets::kEndpoint:
      return "`--endpoint`";
    case resolve::Meets::kSupervisor:
      return "their supervisor's group";
    case resolve::Meets::kNowhere:
      break;
  }
  return "-";
}

std::string_view OrDash(std::string_view text) { return text.empty() ? "-" : text; }

std::string VariablesText(const resolve::Launcher& launcher) {
  const auto code = [](std::string_view variable) { return fmt::format("`{}`", variable); };
  std::string text = Joined(resolve::VariablesOf(launcher), ", ", code);
  if (launcher.note.empty()) return text;
  return text.empty() ? std::string(launcher.note) : fmt::format("{}; {}", text, launcher.note);
}

constexpr std::string_view kRemoved = R"(
Variables that no program under `muster run` or `muster launch` inherits, whatever started muster:

| variable | reason |
| --- | --- |
)";

constexpr std::string_view kRewritten = R"(
If one muster starts several ranks of a node, it rewrites these variables for each rank. The former value is in `MUSTER_OUTER_NAME`.
`*`: every variable that begins so.

| variable | meaning | becomes |
| --- | --- | --- |
)";

std::string_view BecomesText(Becomes becomes) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"removed", "the rank", "the number of ranks", "the local rank", "the number of ranks of the node",
       "the node's number, if the group has another number of nodes",
       "the number of nodes, if the group has another number of nodes",
       "the nodes, if the group has another number of nodes", "the ranks of the node: `4,5,6,7`",
       "the ranks of each node: `4(x3)`", "divided by the ranks of this muster; removed if less than 1"});
  static_assert(kNames.size() == static_cast<size_t>(Becomes::kShareOfCpus) + 1);
  return kNames.at(static_cast<size_t>(becomes));
}

}  // namespace

std::string LaunchersPage(const resolve::LauncherTable& launchers) {
  std::string text(kHead);
  for (const resolve::Launcher* launcher : launchers) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", launcher->name, OrDash(launcher->tested),
                        OrDash(launcher->documented), MeetingOf(*launcher));
  }
  text += kMeetings;
  for (const resolve::Launcher* launcher : launchers)
    text += fmt::format("- `{}`: {}\n", launcher->name, VariablesText(*launcher));
  text += kRemoved;
  for (const resolve::Launcher* launcher : launchers) {
    for (const RemovedVariable& variable : launcher->removed)
      text += fmt::format("| `{}` | {} |\n", variable.name, variable.why);
  }
  text += kRewritten;
  for (const resolve::Launcher* launcher : launchers) {
    for (const OuterVariable& variable : launcher->per_rank)
      text += fmt::format("| `{}` | {} | {} |\n", variable.name, variable.why, BecomesText(variable.becomes));
  }
  return text;
}

}  // namespace muster::config
