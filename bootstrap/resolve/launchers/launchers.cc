#include "bootstrap/resolve/launchers/launchers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "bootstrap/config/text/nearest.h"
#include "bootstrap/config/text/quote.h"
#include "bootstrap/resolve/launchers/rows.h"

namespace muster::resolve {
namespace {

constexpr const Launcher* kLaunchers[] = {
#define MUSTER_LAUNCHER(row) &row,
#include "bootstrap/resolve/launchers/launchers.inc"
#undef MUSTER_LAUNCHER
};

constexpr Launcher kUnknown{};

char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Whether `word` is an element of this list: "Open MPI's mpirun" and "mpirun (MPI), jsrun" have mpirun.
bool Lists(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) { return Lower(a) == Lower(b); };
  for (auto at = text.begin();; ++at) {
    at = std::search(at, text.end(), word.begin(), word.end(), same);
    if (at == text.end()) return false;
    const std::string_view before(text.begin(), at);
    const std::string_view behind(at + static_cast<ptrdiff_t>(word.size()), text.end());
    const bool begins =
        before.empty() || before.ends_with(", ") || before.ends_with("; ") || before.ends_with("'s ");
    if (begins && (behind.empty() || behind.starts_with(" (") || std::strchr(",;.", behind[0]) != nullptr))
      return true;
  }
}

}  // namespace

std::vector<std::string_view> VariablesOf(const Launcher& launcher) {
  const TupleVariables& tuple = launcher.tuple;
  std::vector<std::string_view> variables = {
      tuple.rank,      tuple.world_size, tuple.local_rank, tuple.local_world_size,
      tuple.node_rank, tuple.num_nodes,  launcher.job_id,  launcher.node};
  std::erase(variables, "");
  variables.insert(variables.end(), launcher.others.begin(), launcher.others.end());
  if (launcher.NamesMaster()) variables.insert(variables.end(), {"MASTER_ADDR", "MASTER_PORT"});
  return variables;
}

const Launcher* LauncherTable::Find(std::string_view name) const {
  const auto found = std::ranges::find(rows_, name, &Launcher::name);
  return found == rows_.end() ? nullptr : *found;
}

const Launcher& LauncherTable::Of(std::string_view name) const {
  const Launcher* launcher = Find(name);
  return launcher == nullptr ? kUnknown : *launcher;
}

const Launcher& LauncherTable::With(LauncherRole role) const {
  const auto found = std::ranges::find(rows_, role, &Launcher::role);
  return found == rows_.end() ? kUnknown : **found;
}

std::string LauncherTable::Names() const {
  return config::Joined(rows_, ", ", [](const Launcher* launcher) { return launcher->name; });
}

Status LauncherTable::CheckName(std::string_view name) const {
  if (name == "auto" || Find(name) != nullptr) return {};
  std::vector<std::string_view> names = {"auto"};
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), Lower);
  std::vector<std::string_view> meant;  // srun is the command of slurm
  for (const Launcher* launcher : rows_) {
    names.push_back(launcher->name);
    if (Lists(launcher->tested, name) || Lists(launcher->documented, name)) meant.push_back(launcher->name);
  }
  if (meant.empty()) meant = {config::Nearest(lower, names)};
  const std::string nearest = fmt::format("{}", fmt::join(meant, " or "));
  return WithHint(Fail(Code::kConfiguration, "there is no launcher called \"{}\"{}", name,
                       nearest.empty() ? "" : fmt::format(", did you mean {}?", nearest)),
                  fmt::format("use auto or one of {}", Names()));
}

LauncherTable Launchers() { return LauncherTable(kLaunchers); }

const Launcher* FindLauncher(std::string_view name) { return Launchers().Find(name); }

bool HasRole(std::string_view name, LauncherRole role) { return Launchers().Of(name).role == role; }

}  // namespace muster::resolve
