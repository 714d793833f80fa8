#include "tests/simulation/scenario/transitions.h"

#include <fmt/format.h>

#include "comm/rendezvous/messages/messages.h"
#include "tests/simulation/machine/world.h"

using muster::ByteView;
using muster::rendezvous::ControlType;
using namespace muster::simulation;

// Each process of a group reads the type of each message that it receives.
extern "C" std::optional<ControlType>
__real__ZN6muster10rendezvous13ControlTypeOfESt4spanIKhLm18446744073709551615EE(ByteView frame);
extern "C" std::optional<ControlType>
__wrap__ZN6muster10rendezvous13ControlTypeOfESt4spanIKhLm18446744073709551615EE(ByteView frame) {
  const auto type = __real__ZN6muster10rendezvous13ControlTypeOfESt4spanIKhLm18446744073709551615EE(frame);
  if (Process* const process = World::Caller(); process != nullptr && type) {
    const KernelMemory kernel;
    process->received.insert({process->phase, static_cast<uint8_t>(*type)});
    if (*type == ControlType::kAccepted) {
      const auto acceptance = muster::rendezvous::Decode<muster::rendezvous::Acceptance>(frame);
      if (acceptance && !acceptance->ranks.empty()) {
        const int by = std::exchange(process->accepted_by, acceptance->ranks.front());
        process->accepted_at = process->world.now();
        process->acceptances = by == process->accepted_by ? process->acceptances + 1 : 1;
      }
    }
  }
  return type;
}

namespace muster::simulation {
namespace {

constexpr std::array<std::string_view, 31> kNames = {
    "?",          "Hello",         "Accepted", "Later",          "Roster",
    "Failure",    "FailureKnown",  "AllKnow",  "KeyedAllGather", "KeyedAllGathered",
    "Leave",      "Released",      "Retired",  "Heartbeat",      "Adopt",
    "Adopted",    "Survey",        "Surveyed", "Late",           "GroupStatus",
    "OwnerAsked", "OwnerAnswered", "Ended",    "JobEnd",         "Versions",
    "ToRoot",     "ToRank",        "Tolerate", "RanksLost",      "OrphanReport",
    "FailureDue"};

std::string_view NameOf(Process::Phase phase) {
  switch (phase) {
    case Process::Phase::kForming:
      return "forming";
    case Process::Phase::kGroup:
      return "group";
    case Process::Phase::kFailed:
      return "failed";
    case Process::Phase::kLeft:
      return "left";
  }
  return "";
}

}  // namespace

std::string MessagesReceived(const World& world) {
  std::set<std::pair<Process::Phase, uint8_t>> received;
  for (const auto& process : world.processes())
    received.insert(process->received.begin(), process->received.end());
  std::string all;
  for (const auto& [phase, type] : received) all += fmt::format("{}:{},", NameOf(phase), kNames.at(type));
  return all;
}

std::vector<std::string> MessagesOfAGroup() {
  std::vector<std::string> names;
  for (size_t type = 1; type < kNames.size(); ++type) names.emplace_back(kNames[type]);
  return names;
}

}  // namespace muster::simulation
