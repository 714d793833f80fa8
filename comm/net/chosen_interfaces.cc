#include "comm/net/chosen_interfaces.h"

#include <algorithm>

#include "comm/log/log.h"
#include "comm/net/hosts.h"

namespace muster::net {

std::vector<std::string> ChosenInterfaces(const std::optional<std::string>& pattern) {
  if (!pattern) return {};
  const Result<std::vector<LocalInterface>> interfaces = LocalInterfaces();
  if (!interfaces) {
    LogWarning("{}", interfaces.error().message);
    return {};
  }
  std::vector<std::string> names;
  for (const LocalInterface& interface : *interfaces) {
    if (interface.address.IsLoopback() || interface.address.IsLinkLocal()) continue;
    if (IsNodeLocalInterface(interface.name) || !MatchesInterface(interface, *pattern)) continue;
    if (std::ranges::find(names, interface.name) == names.end()) names.push_back(interface.name);
  }
  return names;
}

}  // namespace muster::net
