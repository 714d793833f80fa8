#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "bootstrap/doctor/findings.h"
#include "bootstrap/process/exec_child.h"

namespace muster::doctor {

ProgramFacts LookAtProgram(const Environment& environment) {
  ProgramFacts facts;
  std::error_code ignored;
  facts.path = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  const auto path = environment.Get("PATH");
  if (!path) return facts;
  for (const std::string& file : process::ExecCandidates("muster", {fmt::format("PATH={}", *path)})) {
    if (!std::filesystem::is_regular_file(file, ignored) || access(file.c_str(), X_OK) != 0) continue;
    facts.in_path = file;
    facts.same = std::filesystem::equivalent(file, "/proc/self/exe", ignored);
    break;
  }
  return facts;
}

void AddProgram(const ProgramFacts& facts, Finding& finding) {
  finding.facts.emplace_back("program", facts.path);
  finding.facts.emplace_back("program_in_path", facts.in_path);
  if (facts.path.empty() || facts.in_path.empty() || facts.same) return;
  finding.health = Health::kNote;
  finding.found += fmt::format("; this is {}, and PATH has another muster: {}", facts.path, facts.in_path);
  finding.cost = "commands and scripts that call `muster` start the other one, perhaps of another version";
  finding.remedy = fmt::format("put this one first: export PATH=\"{}:$PATH\"",
                               std::filesystem::path(facts.path).parent_path().string());
}

}  // namespace muster::doctor
