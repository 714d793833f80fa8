#include "bootstrap/store/store_keeper.h"

#include <algorithm>
#include <utility>

#include "bootstrap/store/local_owner.h"
#include "comm/log/log.h"
#include "comm/net/socket.h"
#include "comm/system/descriptor_room.h"

namespace muster::store {
namespace {

// Descriptors that are not clients: standard streams, the control plane's connections, the program's pipes.
constexpr uint64_t kOtherDescriptors = 64;

constexpr const char* kForOlderClients =
    "a program with PyTorch before 2.2 needs its own store: set run.store=program";

Status Screen(const StoreAddresses& addresses, uid_t uid, const net::SocketAddress& peer,
              const net::SocketAddress& own) {
  if (addresses.NodesOf(peer).empty())
    return Fail(Code::kAuthentication, "no node of the group has its address");
  if (!addresses.IsOwn(peer)) return {};
  // The gate finds any other fault of the connection.
  MUSTER_CHECK(CheckOwnerHere(peer, own, uid));
  return {};
}

}  // namespace

Result<std::unique_ptr<StoreKeeper>> StoreKeeper::Start(Params params, StorePort port) {
  std::unique_ptr<StoreKeeper> keeper(new StoreKeeper(std::move(params)));
  MUSTER_TRY(keeper->listener_, port.KeepOnly(keeper->params_.host));
  const int listener = keeper->listener_.get();
  const net::SocketAddress address = net::LocalAddress(listener);
  MUSTER_TRY(keeper->options_, keeper->Options());
  MUSTER_CHECK(
      keeper->params_.loop.Watch(listener, EPOLLIN, [self = keeper.get()](uint32_t) { self->Serve(); }));
  LogDebug("the store is at {}", address.ToString());
  return keeper;
}

void StoreKeeper::Serve() {
  params_.loop.Forget(listener_.get());
  auto server = tcp_store::ServerThread::Start(std::move(listener_), std::move(options_));
  if (!server) return params_.plane.failures().Fail(params_.plane.OwnFailure(server.error()));
  server_ = *std::move(server);
}

uint64_t MostClients(uint64_t descriptors, uint64_t nodes, uint64_t own_ranks) {
  const uint64_t others = kOtherDescriptors + nodes + own_ranks;
  return descriptors > 2 * others ? descriptors - others : descriptors / 2;
}

StoreKeeper::StoreKeeper(Params params)
    : params_(std::move(params)), generations_(static_cast<size_t>(params_.plane.group().roster.size()), 0) {}

StoreKeeper::~StoreKeeper() {
  if (listener_) params_.loop.Forget(listener_.get());
}

const StoreAddresses& StoreKeeper::Addresses() {
  std::call_once(addresses_made_, [this] {
    const Roster& roster = params_.plane.group().roster;
    addresses_.emplace(roster, roster.NodeOf(params_.plane.own_ranks().front()), AddressesHere());
  });
  return *addresses_;
}

Result<tcp_store::ServerOptions> StoreKeeper::Options() {
  MUSTER_TRY(const uint64_t descriptors, RaiseDescriptorLimit());
  tcp_store::ServerOptions options;
  const uint64_t most =
      MostClients(descriptors, params_.plane.group().roster.nodes.size(), params_.plane.own_ranks().size());
  if (most < generations_.size()) {
    LogWarning("the store takes {} clients, and the group has {} ranks: the limit on open files is {} ({})",
               most, generations_.size(), descriptors, DescriptorLimitHint());
  }
  options.most_clients = std::min<uint64_t>(options.most_clients, most);
  options.ranks = static_cast<int>(generations_.size());
  options.advice = kForOlderClients;
  options.screen = [this, uid = params_.uid](const net::SocketAddress& peer, const net::SocketAddress& own) {
    return Screen(Addresses(), uid, peer, own);
  };
  // The gate is the server thread's; the loop answers its requests.
  options.gate = [this, home = params_.loop.mailbox(), alive = std::weak_ptr<bool>(alive_)](
                     const net::SocketAddress& peer, Verdict verdict) {
    home->Post([this, alive, peer, verdict = std::move(verdict)] {
      if (!alive.expired()) Judge(peer, verdict);
    });
  };
  return options;
}

void StoreKeeper::Judge(const net::SocketAddress& peer, const Verdict& verdict) {
  const net::SocketAddress& own = server_->address();
  rendezvous::OwnerQuestion question{0, net::WithoutInterface(peer.Host()), peer.port(),
                                     net::WithoutInterface(own.Host()), own.port()};
  rendezvous::OwnerAnswer seen_from_here;
  if (Addresses().IsOwn(peer)) seen_from_here = params_.look(question);
  const std::vector<int> nodes = Addresses().NodesOf(peer);
  if (Decides(seen_from_here.kind) || nodes.empty()) return Conclude(seen_from_here, verdict);
  const auto asked = std::make_shared<Asked>(nodes.size(), seen_from_here);
  for (const int node : nodes) {
    question.node = node;
    params_.plane.inquiry().Ask(question, [this, asked, verdict](const rendezvous::OwnerAnswer& answer) {
      Merge(asked->best, answer);
      if (--asked->open == 0) Conclude(asked->best, verdict);
    });
  }
}

void StoreKeeper::Conclude(const rendezvous::OwnerAnswer& answer, const Verdict& verdict) {
  server_->mailbox()->Post([verdict, member = MemberOf(answer)] { verdict(member); });
}

// A program that the user starts beside the group's uses the latest store.
Result<std::optional<tcp_store::Member>> StoreKeeper::MemberOf(const rendezvous::OwnerAnswer& answer) {
  // A supervisor is late. It answers the next question, or it is lost.
  if (!answer.complete && !Decides(answer.kind)) return std::nullopt;
  switch (answer.kind) {
    case rendezvous::OwnerKind::kProgram:
      TakeNote(answer.rank, answer.generation);
      return tcp_store::Member{answer.generation, answer.rank};
    case rendezvous::OwnerKind::kUser:
      return tcp_store::Member{latest_};
    case rendezvous::OwnerKind::kStranger:
      return Fail(Code::kAuthentication, "it belongs to another user, uid {}", answer.uid);
    case rendezvous::OwnerKind::kNoOwner:
      break;
  }
  return Fail(Code::kAuthentication, "no node of the group has its owner");
}

void StoreKeeper::TakeNote(int rank, uint32_t generation) {
  if (rank < 0 || static_cast<size_t>(rank) >= generations_.size()) return;
  uint32_t& seen = generations_[static_cast<size_t>(rank)];
  if (generation <= seen) return;
  seen = generation;
  latest_ = std::max(latest_, generation);
  const uint32_t least = *std::ranges::min_element(generations_);
  server_->DropBelow(least);
  if (least == latest_) reported_ = false;
  if (reported_ || std::exchange(compares_, true) || params_.straggler_after == Duration::zero()) return;
  params_.loop.After(params_.straggler_after, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) CompareGenerations();
  });
}

void StoreKeeper::CompareGenerations() {
  const auto first = generations_.begin();
  const auto least = std::ranges::min_element(generations_);
  const auto most = std::ranges::max_element(generations_);
  compares_ = false;
  reported_ = *least != *most;
  if (!reported_) return;
  LogWarning(
      "rank {} is at program {} that uses the store, rank {} at program {}: they share no keys until their "
      "numbers are equal; "
      "if it is not merely slower, run equally many such programs on every rank",
      most - first, *most + 1, least - first, *least + 1);
}

}  // namespace muster::store
