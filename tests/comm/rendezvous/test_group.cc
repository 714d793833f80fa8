#include "tests/comm/rendezvous/test_group.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <map>

// Some tests fork while a worker that was left behind is just ending; ThreadSanitizer need not mind.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }

namespace muster::rendezvous {
namespace {

Placement PlacementFor(const std::vector<std::string>& node_of_rank) {
  Placement placement;
  for (const std::string& node : node_of_rank) {
    const auto found = std::ranges::find(placement.nodes, node, &Placement::Node::name);
    placement.node_of_rank.push_back(static_cast<int>(found - placement.nodes.begin()));
    if (found == placement.nodes.end()) placement.nodes.push_back({node, 0});
    ++placement.nodes.own()[static_cast<size_t>(placement.node_of_rank.back())].tasks;
  }
  return placement;
}

}  // namespace

std::vector<JoinRequest> MakeRequests(const std::vector<std::string>& node_of_rank) {
  static int launch = 0;
  const int world_size = static_cast<int>(node_of_rank.size());
  const std::string key = fmt::format("test_group {} {}", getpid(), launch++);
  const Endpoint endpoint{"127.0.0.1", net::FreePort()};
  std::map<std::string, int> next_local;
  std::vector<JoinRequest> requests;
  for (int rank = 0; rank < world_size; ++rank) {
    const std::string& node = node_of_rank[static_cast<size_t>(rank)];
    JoinRequest request;
    request.meeting.key = key;
    request.meeting.find_root = FindRoot::kEndpoint;
    request.meeting.endpoint = endpoint;
    request.meeting.placement = PlacementFor(node_of_rank);
    request.self = PartyOf(rank, node, world_size, next_local[node]++,
                           static_cast<int>(std::ranges::count(node_of_rank, node)));
    request.options.auth = AuthMethod::kNone;
    request.timeouts.rendezvous = std::chrono::seconds(20);
    request.uid = getuid();
    request.late_nodes = std::chrono::milliseconds(100);
    requests.push_back(std::move(request));
  }
  return requests;
}

Error EndedWhileForming(std::string_view rank) {
  return {Code::kPeerLost, fmt::format("{} ended while the group was forming", rank), ""};
}

TestRank::TestRank(net::EventLoop& loop, JoinRequest request)
    : loop_(loop), rank_(request.self.claims.front().rank), liveness_(request.liveness) {
  for (const RankClaim& claim : request.self.claims) own_ranks_.push_back(claim.rank);
  joiner_ = std::make_unique<Joiner>(
      loop_, std::move(request), [this](tl::expected<Joined, Failure> joined) { OnDone(std::move(joined)); });
}

void TestRank::OnDone(tl::expected<Joined, Failure> joined) {
  ASSERT_FALSE(ended()) << "rank " << rank_ << " ends twice";
  loop_.Post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) joiner_.reset();
  });
  if (!joined) {
    refused_ = std::move(joined).error();
    return;
  }
  ControlPlane::Events events;
  events.on_failure = [this](const Failure& failure) { failures.push_back(failure); };
  events.on_all_know = [this] { ++everyone_knows; };
  events.on_released = [this] { ++released; };
  events.on_gathered = [this](const KeyedAllGather& whole) { exchanged.push_back(whole); };
  events.whose = [this](const OwnerQuestion& question) { return whose ? whose(question) : OwnerAnswer{}; };
  events.on_ends = [this](const std::vector<RankEnd>& some) {
    ends.insert(ends.end(), some.begin(), some.end());
  };
  events.on_ends_reported = [this] { ++ends_told; };
  events.on_map_message = [this](int to, ByteView message) {
    map_messages.emplace_back(to, Bytes(message.begin(), message.end()));
  };
  plane_ =
      std::make_unique<ControlPlane>(loop_, *std::move(joined), own_ranks_, liveness_, std::move(events));
}

TestGroup::TestGroup(net::TestLoop& loop, const std::vector<JoinRequest>& requests) : loop_(loop) {
  for (const JoinRequest& request : requests) ranks_.push_back(std::make_unique<TestRank>(*loop, request));
  for (const auto& rank : ranks_) rank->Start();
}

bool TestGroup::AllFormed() {
  const bool ended = loop_.Until(
      [&] { return std::ranges::all_of(ranks_, [](const auto& rank) { return !rank || rank->ended(); }); });
  for (const auto& rank : ranks_) {
    if (rank && rank->refused())
      ADD_FAILURE() << "rank " << rank->rank() << ": " << ToString(rank->refused()->error);
  }
  return ended && std::ranges::all_of(ranks_, [](const auto& rank) { return !rank || rank->formed(); });
}

bool TestGroup::AllRefusedWith(const Error& error) {
  const bool ended = loop_.Until(
      [&] { return std::ranges::all_of(ranks_, [](const auto& rank) { return !rank || rank->ended(); }); });
  for (const auto& rank : ranks_) {
    if (!rank) continue;
    if (!rank->refused()) {
      ADD_FAILURE() << "rank " << rank->rank() << " was not refused";
      continue;
    }
    EXPECT_EQ(rank->refused()->error, error) << "rank " << rank->rank();
  }
  return ended;
}

bool TestGroup::AllToldOf(const Error& error) {
  const bool told = loop_.Until([&] {
    return std::ranges::all_of(ranks_, [](const auto& rank) { return !rank || !rank->failures.empty(); });
  });
  for (const auto& rank : ranks_) {
    if (!rank || rank->failures.empty()) continue;
    EXPECT_EQ(rank->failures.size(), 1u) << "rank " << rank->rank();
    EXPECT_EQ(rank->failures.front().error, error) << "rank " << rank->rank();
  }
  return told;
}

}  // namespace muster::rendezvous
