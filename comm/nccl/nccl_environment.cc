#include "comm/nccl/nccl_environment.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

namespace muster::nccl {
namespace {

std::string_view NameOf(NcclDebug debug) {
  constexpr std::array<std::string_view, 4> kNames = {"VERSION", "WARN", "INFO", "TRACE"};
  return kNames.at(static_cast<size_t>(debug));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> NcclVariables(const NcclOptions& options,
                                                               const std::vector<std::string>& interfaces) {
  std::vector<std::pair<std::string, std::string>> variables;
  variables.emplace_back("NCCL_DEBUG", NameOf(options.debug));
  // "=" means whole names.
  if (!interfaces.empty())
    variables.emplace_back("NCCL_SOCKET_IFNAME", fmt::format("={}", fmt::join(interfaces, ",")));
  // NCCL before 2.30.3 does not have it.
  if (options.share_device) variables.emplace_back("NCCL_MULTI_RANK_GPU_ENABLE", "1");
  if (options.algorithm) variables.emplace_back("NCCL_ALGO", *options.algorithm);
  if (options.protocol) variables.emplace_back("NCCL_PROTO", *options.protocol);
  return variables;
}

void SetUnsetVariables(const std::vector<std::pair<std::string, std::string>>& variables) {
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 0);
}

void UnsetCommBlocking() { unsetenv("NCCL_COMM_BLOCKING"); }

}  // namespace muster::nccl
