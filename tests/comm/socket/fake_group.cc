#include "tests/comm/socket/fake_group.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <numeric>
#include <set>
#include <thread>
#include <utility>

#include "comm/rendezvous/survey/stragglers.h"

namespace muster::socket {

Roster MakeRoster(const std::vector<int>& node_of_rank) {
  Roster roster;
  roster.group_id = "00112233445566778899aabbccddeeff";
  std::vector<int> local_size;
  const bool several = std::set<int>(node_of_rank.begin(), node_of_rank.end()).size() > 1;
  for (const int node : node_of_rank) {
    if (node == static_cast<int>(roster.nodes.size())) {
      roster.nodes.push_back({fmt::format("gpu{:02}", node + 1), {}});
      if (several) roster.nodes.own().back().addresses = {"127.0.0.1"};
      local_size.push_back(0);
    }
    roster.members.push_back({node, local_size.at(static_cast<size_t>(node))++, 1000, {}});
  }
  return roster;
}

std::vector<int> BlockLayout(const std::vector<int>& ranks_per_node) {
  std::vector<int> node_of_rank;
  for (size_t node = 0; node < ranks_per_node.size(); ++node) {
    node_of_rank.insert(node_of_rank.end(), static_cast<size_t>(ranks_per_node[node]),
                        static_cast<int>(node));
  }
  return node_of_rank;
}

std::vector<int> CyclicLayout(int ranks, int nodes) {
  std::vector<int> node_of_rank;
  for (int rank = 0; rank < ranks; ++rank) node_of_rank.push_back(rank % nodes);
  return node_of_rank;
}

FakeGroupState::FakeGroupState(Roster roster)
    : roster_(std::move(roster)), failed_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

std::optional<Error> FakeGroupState::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void FakeGroupState::Fail(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  failure_ = error;
  EXPECT_EQ(eventfd_write(failed_.get(), 1), 0);
  changed_.notify_all();
}

Result<std::vector<Bytes>> FakeGroupState::KeyedAllGather(int rank, std::string_view name, ByteView mine,
                                                          Deadline deadline) {
  std::unique_lock lock(mutex_);
  std::map<int, Bytes>& parts = exchanges_[std::string(name)];
  parts[rank].assign(mine.begin(), mine.end());
  changed_.notify_all();
  const auto over = [&] { return failure_ || parts.size() == static_cast<size_t>(roster_.size()); };
  const bool in_time = deadline.IsNever() ? (changed_.wait(lock, over), true)
                                          : changed_.wait_until(lock, deadline.when(), over);
  if (failure_) return tl::unexpected<Error>(*failure_);
  if (in_time) {
    std::vector<Bytes> all;
    for (const auto& [from, part] : parts) all.push_back(part);
    return all;
  }
  std::string missing;
  for (int other = 0; other < roster_.size(); ++other) {
    if (!parts.contains(other)) missing += (missing.empty() ? "" : ", ") + DescribeRank(roster_, other);
  }
  return muster::Fail(Code::kDeadline, "{} did not come to {}", missing, name);
}

void FakeGroupState::Add(int rank, ActivityTable& kvs) {
  const std::lock_guard lock(mutex_);
  kvs_list_[rank] = &kvs;
}

std::string FakeGroupState::MissingRanks(int rank, uint64_t communicator, uint64_t sequence) {
  std::vector<rendezvous::RankReport> reports;
  const std::lock_guard lock(mutex_);
  for (const auto& [from, kvs] : kvs_list_) {
    rendezvous::RankReport& report = reports.emplace_back();
    report.rank = from;
    report.state = rendezvous::RankState::kInGroup;
    report.operations = kvs->Look();
  }
  return rendezvous::DescribeMissing(roster_, reports, rank, communicator, sequence);
}

FakeGroup::FakeGroup(FakeGroupState& state, int rank) : state_(state), rank_(rank) {
  key_.fill(0x5a);
  state_.Add(rank, activity());
}

SocketOptions TestOptions() {
  SocketOptions options;
  options.timeouts.collective = std::chrono::minutes(2);
  options.timeouts.barrier = std::chrono::minutes(2);
  options.timeouts.handshake = std::chrono::minutes(1);
  return options;
}

SocketOptions SharingOptions(bool shared) {
  SocketOptions options = TestOptions();
  options.calls_before_sharing = 0;
  options.shared_memory = shared;
  return options;
}

FakeWorld::FakeWorld(const std::vector<int>& node_of_rank, const SocketOptions& options)
    : FakeWorld(MakeRoster(node_of_rank), options, nullptr) {}

FakeWorld::FakeWorld(const Roster& roster, const SocketOptions& options, const Tamper& tamper,
                     const std::vector<std::vector<std::string>>& bases)
    : state_(roster) {
  std::vector<std::unique_ptr<SocketEndpoint>> endpoints;
  PeerAddresses addresses(static_cast<size_t>(size()));
  for (int rank = 0; rank < size(); ++rank) {
    auto endpoint = bases.empty() ? SocketEndpoint::Open()
                                  : SocketEndpoint::Open({.tcp = roster.nodes.size() > 1,
                                                          .bases = bases.at(static_cast<size_t>(rank))});
    EXPECT_TRUE(endpoint) << endpoint.error().message;
    addresses_.push_back((*endpoint)->address());
    EndpointAddress brought = addresses_.back();
    if (tamper) tamper(rank, brought);
    EXPECT_TRUE(addresses.Read(roster, rank, EncodeEndpoint(brought)));
    endpoints.push_back(*std::move(endpoint));
    groups_.push_back(std::make_unique<FakeGroup>(state_, rank));
  }
  communicators_.resize(endpoints.size());
  const auto make = [&](size_t rank) {
    auto communicator =
        MakeSocketCommunicator(*groups_[rank], std::move(endpoints[rank]), addresses, options);
    EXPECT_TRUE(communicator) << communicator.error().message;
    if (communicator) communicators_[rank] = *std::move(communicator);
  };
  // Ranks of a divided node wait for each other.
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < endpoints.size(); ++rank) {
    if (bases.empty())
      make(rank);
    else
      threads.emplace_back(make, rank);
  }
  for (std::thread& thread : threads) thread.join();
}

void World::Run(const std::function<void(Communicator&)>& body) {
  std::vector<int> ranks(static_cast<size_t>(size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  RunRanks(ranks, body);
}

std::vector<std::string> World::Messages(const std::function<Status(Communicator&)>& body) {
  std::vector<std::string> messages(static_cast<size_t>(size()));
  Run([&](Communicator& c) { messages[static_cast<size_t>(c.rank())] = MessageOf(body(c)); });
  return messages;
}

void World::RunRanks(const std::vector<int>& ranks, const std::function<void(Communicator&)>& body) {
  std::vector<std::thread> threads;
  for (const int rank : ranks) threads.emplace_back([&, rank] { body(at(rank)); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace muster::socket
