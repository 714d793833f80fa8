#include "bootstrap/config/launchers_page.h"

#include <fmt/core.h>

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
  std::string text;
  for (const std::string_view variable : resolve::VariablesOf(launcher))
    text += fmt::format("{}`{}`", text.empty() ? "" : ", ", variable);
  if (launcher.note.empty()) return text;
  return text.empty() ? std::string(launcher.note) : fmt::format("{}; {}", text, launcher.note);
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
  return text;
}

}  // namespace muster::config
