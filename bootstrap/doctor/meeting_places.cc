#include <fmt/core.h>
#include <fmt/format.h>

#include <map>

#include "bootstrap/doctor/findings.h"
#include "comm/net/private_directory.h"
#include "comm/system/directory_reader.h"

namespace muster::doctor {
namespace {

constexpr const char* kOneNode = "groups have one node only";

bool LeadsElsewhere(const net::LocalInterface& interface) {
  const std::string host = interface.address.Host();
  return !net::IsNodeLocalInterface(interface.name) && !host.starts_with("fe80:");
}

void JudgeChoice(const std::string& pattern, const std::string& chosen, Finding& finding) {
  finding.facts.emplace_back("interface", pattern);
  finding.facts.emplace_back("chosen", chosen);
  if (!chosen.empty()) {
    finding.found += fmt::format("; rendezvous.interface {} chooses {}", pattern, chosen);
    return;
  }
  finding.health = Health::kNote;
  finding.found += fmt::format("; rendezvous.interface {} matches none of them", pattern);
  finding.cost = "no group of several nodes forms with this one";
  finding.remedy = "choose one of these by name, glob or network, or remove rendezvous.interface";
}

}  // namespace

Finding ExamineSockets(const std::vector<std::string>& bases) {
  Finding finding{.subject = "sockets"};
  const Result<net::PrivateSocket> made =
      net::PrivateSocket::Open(bases, net::UniqueSocketName("doctor"), net::PrivateSocket::Kind::kListener);
  if (!made) {
    finding.health = Health::kProblem;
    finding.found = made.error().message;
    finding.cost = "the ranks of a node cannot meet";
    finding.remedy = made.error().hint;
    return finding;
  }
  const std::string base = made->name.directory().base();
  finding.found = fmt::format("in {}, in a directory that no other user can enter", base);
  finding.facts = {{"base", base}};
  if (!net::UserIdsAreReliable()) {
    finding.health = Health::kNote;
    finding.found += "; this user namespace does not map this user";
    finding.cost = "every user without a mapping has the same id here: user ids prove nothing";
    finding.remedy = "start the container with the user mapped (--userns=keep-id), and use a MUSTER_SECRET";
  }
  return finding;
}

Finding JudgeNetwork(const std::vector<net::LocalInterface>& interfaces,
                     const std::vector<std::string>& infiniband, const std::optional<std::string>& pattern) {
  Finding finding{.subject = "network"};
  std::vector<std::string> shown;
  std::map<std::string, std::string> addresses;
  std::string chosen;
  for (const net::LocalInterface& interface : interfaces) {
    if (!LeadsElsewhere(interface)) continue;
    if (pattern && net::MatchesInterface(interface, *pattern))
      chosen += (chosen.empty() ? "" : " ") + interface.address.Host();
    shown.push_back(fmt::format("{} {}", interface.name, interface.address.Host()));
    addresses[interface.name] += (addresses[interface.name].empty() ? "" : " ") + interface.address.Host();
  }
  finding.facts = {addresses.begin(), addresses.end()};
  finding.found = fmt::format("{}", fmt::join(shown, ", "));
  if (!infiniband.empty()) {
    finding.found += fmt::format("{}InfiniBand: {}, for NCCL and MPI; muster's own data go over TCP",
                                 shown.empty() ? "" : "; ", fmt::join(infiniband, ", "));
    finding.facts.emplace_back("infiniband", fmt::format("{}", fmt::join(infiniband, " ")));
  }
  if (shown.empty()) {
    finding.health = Health::kNote;
    finding.found = fmt::format("no interface that leads to other nodes{}{}", infiniband.empty() ? "" : "; ",
                                finding.found);
    finding.cost = kOneNode;
    finding.remedy = "bring up an interface with an address that other nodes reach: ip address";
  } else if (pattern) {
    JudgeChoice(*pattern, chosen, finding);
  }
  return finding;
}

Finding ExamineNetwork(const std::optional<std::string>& pattern) {
  const Result<std::vector<net::LocalInterface>> interfaces = net::LocalInterfaces();
  if (!interfaces) {
    return {"network", Health::kProblem, interfaces.error().message, kOneNode, interfaces.error().hint, {}};
  }
  return JudgeNetwork(*interfaces, NamesIn("/sys/class/infiniband"), pattern);
}

}  // namespace muster::doctor
