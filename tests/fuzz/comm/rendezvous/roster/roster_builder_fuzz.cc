// The root while a group forms, under hellos, deaths and re-tries of peers that may send anything: every
// claimed seat is inside the world, a roster is whole, an error is an error of the group. And the membership
// tracker of a formed group.
#include <algorithm>
#include <set>

#include "comm/rendezvous/liveness/exchange_tracker.h"
#include "comm/rendezvous/liveness/leave_protocol.h"
#include "comm/rendezvous/roster/roster_builder.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/value_source.h"

namespace muster::fuzz {
namespace {

const std::array<std::string, 3> kNodes = {"gpu01", "gpu02", "gpu03"};

rendezvous::Agreement TheAgreement(int world_size) {
  return {world_size, "slurm", 0, "slurm:4.0:0", "socket", "a=1\n"};
}

// Mostly what fits, so that an input gets far.
rendezvous::ProcessInfo MakeProcessInfo(ValueSource& source, int world_size) {
  rendezvous::ProcessInfo member{
      kNodes[source.Below(kNodes.size())], source.Number(), TheAgreement(world_size), {}};
  switch (source.Byte()) {
    case 250:
      member.agreement.world_size = source.Number();
      break;
    case 251:
      member.agreement.restart = source.Number();
      break;
    case 252:
      member.agreement.configuration = source.Text();
      break;
    case 253:
      member.agreement.job_key = source.Text();
      break;
    case 254:
      member.agreement.launcher = source.Text();
      break;
    case 255:
      member.node = source.Text();
      break;
    default:
      break;
  }
  member.claims.resize(source.Below(4));
  for (rendezvous::RankClaim& claim : member.claims) {
    claim.rank = source.Number();
    claim.local_rank = source.Number();
    claim.local_size = source.Number();
  }
  return member;
}

Placement MakePlacement(ValueSource& source, int world_size) {
  Placement placement;
  for (size_t nodes = source.Below(4); nodes > 0; --nodes) {
    placement.nodes.push_back({kNodes[nodes % kNodes.size()], static_cast<int>(source.Below(5))});
  }
  if (placement.nodes.empty() || source.Flag()) return placement;
  for (int rank = 0; rank < world_size; ++rank) {
    placement.node_of_rank.push_back(static_cast<int>(source.Below(placement.nodes.size())));
  }
  return placement;
}

void CheckRoster(const Result<Roster>& roster, int world_size) {
  if (!roster) {
    Require(roster.error().code == Code::kDisagreement, "{}", roster.error().message);
    return;
  }
  Require(roster->size() == world_size, "{} members", roster->size());
  for (int node = 0; node < static_cast<int>(roster->nodes.size()); ++node) {
    const std::vector<int> ranks = roster->RanksOn(node);
    Require(!ranks.empty() && roster->LocalSize(node) == static_cast<int>(ranks.size()), "nobody's node");
    for (size_t i = 0; i < ranks.size(); ++i) {
      const int local_rank = roster->members[static_cast<size_t>(ranks[i])].local_rank;
      Require(local_rank == static_cast<int>(i), "local ranks are 0..k-1");
    }
  }
}

void CheckFailure(const std::optional<rendezvous::Failure>& failure) {
  Require(!failure || !failure->error.message.empty(), "a failure says something");
}

void FuzzAssembly(ValueSource& source) {
  const int world_size = 1 + static_cast<int>(source.Below(8));
  const rendezvous::ProcessInfo self{kNodes[0], 7, TheAgreement(world_size), {}};
  rendezvous::RosterBuilder roster_builder(self, MakePlacement(source, world_size));
  bool failed = false;
  while (!source.empty() && !failed && !roster_builder.complete()) {
    const rendezvous::RosterBuilder::Source peer = source.Below(4);
    if (source.Byte() < 24) {
      const auto failure = roster_builder.Remove(peer);
      CheckFailure(failure);
      failed = failure.has_value();
      continue;
    }
    rendezvous::Hello hello{{"10.1.2.3"}, {}};
    for (size_t members = 1 + source.Below(3); members > 0; --members) {
      hello.members.push_back(MakeProcessInfo(source, world_size));
    }
    const auto failure = roster_builder.Add(peer, hello);
    CheckFailure(failure);
    failed = failure.has_value();
    Require(!roster_builder.Describe().empty(), "the root can say who is missing");
  }
  if (roster_builder.complete()) CheckRoster(roster_builder.MakeRoster(), world_size);
}

void FuzzCensus(ValueSource& source) {
  Roster roster{"id", {{kNodes[0], {}}, {kNodes[1], {}}}, {}};
  for (size_t rank = 1 + source.Below(6); rank > 0; --rank)
    roster.members.push_back({static_cast<int>(rank % 2), 0, 0, {}});
  if (roster.members.size() == 1) roster.members.own()[0].node = 0;
  rendezvous::ExchangeTracker exchanges(roster);
  rendezvous::LeaveProtocol leaves(roster, true, {0}, {});
  std::set<int> left;
  while (!source.empty()) {
    const std::string name(1, static_cast<char>('a' + source.Below(3)));
    switch (source.Below(3)) {
      case 0: {
        const auto whole =
            exchanges.Contribute({name, 1000, {{source.Number(), {1}}, {source.Number(), {2}}}});
        Require(!whole || whole->entries.size() == roster.members.size(), "a whole exchange has all parts");
        break;
      }
      case 1: {
        const std::vector<int> ranks = {source.Number(), source.Number()};
        leaves.Take(ranks, false);
        for (const int rank : ranks) {
          if (0 <= rank && rank < roster.size()) left.insert(rank);
        }
        break;
      }
      default:
        CheckFailure(exchanges.GiveUp(name, std::chrono::seconds(1)));
        CheckFailure(exchanges.FindHopeless(leaves.left()));
    }
    Require((leaves.MayEnd(false) == rendezvous::LeaveProtocol::End::kNow) ==
                (left.size() == roster.members.size()),
            "the root may exit when all ranks have left, not before");
  }
}

void FuzzOne(ByteView input) {
  ValueSource source(input);
  if (source.Flag()) return FuzzCensus(source);
  FuzzAssembly(source);
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (uint8_t kind = 0; kind < 8; ++kind) {
    Bytes seed{kind};
    for (size_t i = 0; i < 200; ++i) seed.push_back(static_cast<uint8_t>((i * (kind + 3U)) % 29));
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds}; }

}  // namespace muster::fuzz
