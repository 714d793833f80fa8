#include "comm/rendezvous/roster/agreement.h"

#include <algorithm>
#include <map>

#include "comm/base/lists.h"
#include "comm/base/parse.h"

namespace muster::rendezvous {
namespace {

// Beside the keys: each command has settings of its own.
constexpr std::string_view kCommandKey = "command";

using Settings = std::map<std::string_view, std::string_view>;

Settings ParseSettings(std::string_view text) {
  Settings settings;
  for (const std::string_view line : Split(text, '\n')) {
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos) settings[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return settings;
}

std::string_view ValueOf(const Settings& settings, std::string_view key) {
  const auto found = settings.find(key);
  return found == settings.end() ? "the default" : found->second;
}

// The text holds only non-default values, so a key may be on one side alone.
std::string_view FirstDifference(const Settings& a, const Settings& b) {
  for (const auto& [key, value] : a) {
    if (ValueOf(b, key) != value) return key;
  }
  for (const auto& [key, value] : b) {
    if (!a.contains(key)) return key;
  }
  return "";
}

std::string_view Has(const ProcessInfo& member) { return member.claims.size() == 1 ? "has" : "have"; }

template <typename T>
Error Differs(std::string_view what, const ProcessInfo& mine, const T& my_value, const ProcessInfo& other,
              const T& other_value, std::string hint) {
  return {Code::kDisagreement,
          fmt::format("the ranks disagree on the {}: {} {} {}, {} {} {}", what, DescribeProcess(other),
                      Has(other), other_value, DescribeProcess(mine), Has(mine), my_value),
          std::move(hint)};
}

Error ConfigurationDiffers(const ProcessInfo& mine, const ProcessInfo& other) {
  const Settings my_settings = ParseSettings(mine.agreement.configuration);
  const Settings other_settings = ParseSettings(other.agreement.configuration);
  const std::string_view my_command = ValueOf(my_settings, kCommandKey);
  const std::string_view other_command = ValueOf(other_settings, kCommandKey);
  if (my_command != other_command)
    return Differs(kCommandKey, mine, my_command, other, other_command,
                   "start the same command on every rank");
  const std::string_view key = FirstDifference(my_settings, other_settings);
  return {Code::kDisagreement,
          fmt::format("the configurations differ in {}: {} {} {}, {} {} {}", key, DescribeProcess(other),
                      Has(other), ValueOf(other_settings, key), DescribeProcess(mine), Has(mine),
                      ValueOf(my_settings, key)),
          "give every rank the same file, flags and MUSTER_ variables; \"muster config --explain\" shows "
          "where a value "
          "comes from"};
}

}  // namespace

std::string DescribeProcess(const ProcessInfo& member) {
  std::vector<int> ranks;
  for (const RankClaim& claim : member.claims) ranks.push_back(claim.rank);
  std::ranges::sort(ranks);
  return FormatRanks(ranks, member.node);
}

std::optional<Error> FindDisagreement(const ProcessInfo& mine, const ProcessInfo& other) {
  const Agreement& a = mine.agreement;
  const Agreement& b = other.agreement;
  const std::string_view resolve = "run \"muster resolve\" on both to see where it comes from";
  if (a.restart != b.restart) {
    return Differs("restart of the job", mine, a.restart, other, b.restart,
                   "end the process that an earlier start of the job has left");
  }
  if (a.world_size != b.world_size) {
    return Differs("world size", mine, a.world_size, other, b.world_size, std::string(resolve));
  }
  if (a.launcher != b.launcher) {
    return Differs("launcher", mine, a.launcher, other, b.launcher,
                   fmt::format("{}; MUSTER_LAUNCHER forces one", resolve));
  }
  if (a.job_key != b.job_key) return Differs("job", mine, a.job_key, other, b.job_key, std::string(resolve));
  if (a.backend != b.backend) {
    return Differs("backend", mine, a.backend, other, b.backend, "set the same backend everywhere");
  }
  if (a.configuration != b.configuration) return ConfigurationDiffers(mine, other);
  return std::nullopt;
}

Error ClaimedTwice(int rank, const Claimant& first, const Claimant& second) {
  return {Code::kDisagreement,
          fmt::format("rank {} is claimed twice: by pid {} on {} and by pid {} on {}", rank, first.pid,
                      first.node, second.pid, second.node),
          "look for a RANK or SLURM_PROCID that was exported before the launch, or for two launches at the "
          "same time"};
}

Failure RefusalOf(const ProcessInfo& member) {
  const int rank = member.claims.empty() ? -1 : member.claims.front().rank;
  return {member.refused.value_or(Error{}), rank};
}

int FirstRankOf(const Hello& hello) {
  if (hello.members.empty() || hello.members.front().claims.empty()) return -1;
  return hello.members.front().claims.front().rank;
}

std::optional<Error> FindLeftover(const ProcessInfo& mine, const Hello& hello) {
  for (const ProcessInfo& member : hello.members) {
    if (member.agreement.restart < mine.agreement.restart) return FindDisagreement(mine, member);
  }
  return std::nullopt;
}

}  // namespace muster::rendezvous
