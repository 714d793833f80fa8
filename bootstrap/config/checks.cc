#include "bootstrap/config/checks.h"

#include <string>
#include <string_view>

#include "bootstrap/config/table.h"
#include "bootstrap/config/value.h"

namespace muster::config {
namespace {

// "liveness.dead_after is 3s (--set)".
std::string Describe(const EffectiveConfig& effective, std::string_view path) {
  const Key& key = *FindKey(path);
  return fmt::format("{} is {} ({})", path, YamlValue(key, effective.config),
                     effective.origins.at(std::string(path)));
}

Status CheckOrder(const EffectiveConfig& effective, std::string_view shorter, std::string_view longer,
                  bool holds) {
  if (holds) return {};
  return WithHint(
      Fail(Code::kConfiguration, "{}, but {}", Describe(effective, shorter), Describe(effective, longer)),
      fmt::format("set {} below {}", shorter, longer));
}

}  // namespace

Status CheckConfig(const EffectiveConfig& effective) {
  constexpr uint16_t kFirstUnprivilegedPort = 1024;
  const Config& config = effective.config;
  MUSTER_CHECK(CheckOrder(effective, "liveness.heartbeat", "liveness.suspect_after",
                          config.liveness.heartbeat < config.liveness.suspect_after));
  MUSTER_CHECK(CheckOrder(effective, "liveness.suspect_after", "liveness.dead_after",
                          config.liveness.suspect_after < config.liveness.dead_after));
  if (config.rendezvous.ports.last < kFirstUnprivilegedPort) {
    return WithHint(Fail(Code::kConfiguration, "{}: all below 1024", Describe(effective, "rendezvous.ports")),
                    "give ports from 1024 on: only root may listen below");
  }
  if (config.rendezvous.protect == Protect::kAll && config.rendezvous.auth == AuthMethod::kNone) {
    return WithHint(
        Fail(Code::kConfiguration, "{}, but {}", Describe(effective, "rendezvous.protect"),
             Describe(effective, "rendezvous.auth")),
        "set rendezvous.auth: munge or secret, which gives the keys, or rendezvous.protect: control");
  }
  return {};
}

}  // namespace muster::config
