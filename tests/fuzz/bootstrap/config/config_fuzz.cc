// A configuration from a file, variables and --set: an accepted one is written out and read back as the same.
// The text of a supervisor may hold the same as a file, except for keys that are unknown.
//
// An input is YAML; after a first NUL byte come, separated by further ones, variables (MUSTER_...=) and sets. Each of
// these is also a file that may be included, by its number.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bootstrap/config/explain.h"
#include "bootstrap/config/load.h"
#include "comm/base/parse.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

void CheckConfig(const Result<config::EffectiveConfig>& effective) {
  if (!effective) {
    Require(effective.error().code == Code::kConfiguration, "{} is {}", effective.error().message,
            CodeName(effective.error().code));
    return;
  }
  const config::Config& config = effective->config;
  Require(config.liveness.heartbeat < config.liveness.suspect_after, "checks hold");
  for (const bool origins : {false, true}) {
    const std::string yaml = config::ToYaml(*effective, origins);
    const auto again = config::LoadConfigText(yaml, "again");
    Require(again && again->config == config, "{} is read back: {}", yaml,
            again ? "another" : again.error().message);
    Require(config::GroupWideText(again->config) == config::GroupWideText(config), "the digest is the same");
    Require(nlohmann::json::accept(config::ToJson(*effective, origins)), "JSON");
  }
}

// The files that an input includes: no file of this machine. "0" to "9" are its own parts, and may include
// each other.
Result<std::string> Part(const std::vector<std::string_view>& parts, const std::filesystem::path& file) {
  const auto number = ParseInteger<size_t>(file.native());
  if (!number || *number >= parts.size()) return Fail(Code::kConfiguration, "there is no such part");
  return std::string(parts[*number]);
}

void FuzzOne(ByteView input) {
  const std::vector<std::string_view> parts = Split(AsText(input), '\0');
  const Result<config::EffectiveConfig> lenient = config::LoadConfigText(std::string(parts[0]), "file");
  CheckConfig(lenient);
  const config::FileReader read = [&](const std::filesystem::path& path) { return Part(parts, path); };
  const Result<config::EffectiveConfig> strict = config::LoadConfig("0", {}, {}, read);
  CheckConfig(strict);
  Require(!strict || (lenient ? lenient->config == strict->config
                              : lenient.error().message.ends_with("only a file can include files")),
          "a file that is taken is taken as text, as the same");
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> sets;
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    if (parts[i].starts_with("MUSTER_") && equals != std::string_view::npos) {
      environment.emplace_back(parts[i].substr(0, equals), parts[i].substr(equals + 1));
    } else {
      sets.emplace_back(parts[i]);
    }
  }
  if (parts.size() == 1) return;
  CheckConfig(config::LoadConfig(std::nullopt, environment, sets));
  CheckConfig(config::LoadConfig("0", environment, sets, read));
}

std::vector<Bytes> Seeds() {
  using namespace std::string_literals;
  return {ToBytes("\0MUSTER_TIMEOUTS_COLLECTIVE=1h\0rendezvous.endpoint=[::1]:61000\0run.command=[a, b]\0"
                  "MUSTER_RUN_ENV={A: b}\0rendezvous.interface=10.1.0.0/16"s),
          ToBytes("timeouts: {collective: 16h40m, barrier: 60000}\nliveness:\n  heartbeat: 500ms\n"),
          ToBytes("run: {command: [python, -m, x], env: {A: '1', B: \"\\n\"}, grace: 1d}\nbackend: gloo\n"),
          ToBytes("rendezvous: {ports: 70000-1, endpoint: gpu01:0, method: pmix}"),
          ToBytes("timeout:\n  colective: 1\n"),
          ToBytes("timeouts.collective: 1h"),
          ToBytes("log: {level: debug, format: json, file: /x%h}"),
          ToBytes("liveness: {heartbeat: 9s}"),
          ToBytes("backend: mpi"),
          ToBytes("include: [1, 2]\nbackend: nccl\0include: 2\0timeouts: {init: 1s}\nbackend: socket"s),
          ToBytes("include: 1\0include: 0"s),
          ToBytes("rendezvous: {auth: none, protect: all}")};
}

std::vector<std::string> Words() {
  using namespace std::string_literals;
  return {"\0"s,        "MUSTER_",    "launcher",    "backend",   "include",
          "rendezvous", "timeouts",   "liveness",    "run",       "log",
          "method",     "endpoint",   "ports",       "interface", "auth",
          "protect",    "collective", "barrier",     "heartbeat", "suspect_after",
          "dead_after", "command",    "env",         "grace",     "stop_on_failure",
          "store",      "level",      "format",      "file",      "null",
          "auto",       "true",       "61000-64999", "16h40m",    "500ms",
          "100000d",    ": ",         "{",           "}",         "[",
          "]",          "\n  ",       "=",           "."};
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds, Words}; }

}  // namespace muster::fuzz
