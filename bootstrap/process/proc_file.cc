#include "bootstrap/process/proc_file.h"

#include <fmt/core.h>

#include <cstdio>
#include <memory>

#include "comm/base/parse.h"

namespace muster::process {

std::optional<std::string> ReadProcFile(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "re"), fclose);
  if (!file) return std::nullopt;
  std::string text;
  char buffer[4096];
  for (size_t got = 0; (got = fread(buffer, 1, sizeof buffer, file.get())) > 0;) text.append(buffer, got);
  return text;
}

std::string ProcessName(pid_t pid) {
  const auto name = ReadProcFile(fmt::format("/proc/{}/comm", pid));
  return name ? std::string(Trim(*name)) : "?";
}

}  // namespace muster::process
