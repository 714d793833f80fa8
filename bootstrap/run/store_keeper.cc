#include "bootstrap/run/store_keeper.h"

#include <algorithm>

#include "comm/base/log.h"
#include "comm/rendezvous/tcp_store/descriptor_limit.h"

namespace muster {
namespace {

// Descriptors that are not clients: standard streams, the control plane's connections, the program's pipes.
constexpr uint64_t kOtherDescriptors = 64;

}  // namespace

Result<std::unique_ptr<StoreKeeper>> StoreKeeper::Start(Params params, StorePort port) {
  std::unique_ptr<StoreKeeper> keeper(new StoreKeeper(std::move(params)));
  MUSTER_TRY(UniqueFd listener, port.KeepOnly(keeper->params_.host));
  MUSTER_TRY(tcp_store::ServerOptions options, keeper->Options());
  MUSTER_TRY(keeper->server_, tcp_store::ServerThread::Start(std::move(listener), std::move(options)));
  LogDebug("the store is at {}", keeper->server_->address().ToString());
  return keeper;
}

StoreKeeper::StoreKeeper(Params params)
    : params_(std::move(params)), generations_(static_cast<size_t>(params_.plane.group().roster.size()), 0) {}

StoreKeeper::~StoreKeeper() = default;

Result<tcp_store::ServerOptions> StoreKeeper::Options() {
  MUSTER_TRY(const uint64_t descriptors, tcp_store::RaiseDescriptorLimit());
  tcp_store::ServerOptions options;
  const uint64_t others = kOtherDescriptors + generations_.size();
  options.most_clients = std::min<uint64_t>(
      options.most_clients, descriptors > 2 * others ? descriptors - others : descriptors / 2);
  options.ranks = static_cast<int>(generations_.size());
  // The gate is the server thread's; what it asks is answered on the loop's.
  options.gate = [this, home = params_.loop.mailbox(), alive = std::weak_ptr<bool>(alive_)](
                     const SocketAddress& peer, Verdict verdict) {
    home->Post([this, alive, peer, verdict = std::move(verdict)] {
      if (!alive.expired()) Judge(peer, verdict);
    });
  };
  return options;
}

void StoreKeeper::Judge(const SocketAddress& peer, const Verdict& verdict) {
  const SocketAddress& own = server_->address();
  const OwnerQuestion question{0, peer.Host(), peer.port(), own.Host(), own.port()};
  const auto conclude = [this, verdict](const OwnerAnswer& answer) {
    server_->mailbox()->Post([verdict, member = MemberOf(answer)] { verdict(member); });
  };
  const OwnerAnswer seen_from_here = params_.look(question);
  const bool decided =
      seen_from_here.kind == OwnerKind::kProgram || seen_from_here.kind == OwnerKind::kStranger;
  if (decided) return conclude(seen_from_here);
  params_.plane.AskOwner(question, [conclude, seen_from_here](const OwnerAnswer& answer) {
    conclude(answer.kind > seen_from_here.kind ? answer : seen_from_here);
  });
}

// What the user starts beside the programs of the group sees the keys of those that came last.
Result<tcp_store::Member> StoreKeeper::MemberOf(const OwnerAnswer& answer) {
  switch (answer.kind) {
    case OwnerKind::kProgram:
      TakeNote(answer.rank, answer.generation);
      return tcp_store::Member{answer.generation, answer.rank};
    case OwnerKind::kUser:
      return tcp_store::Member{latest_};
    case OwnerKind::kStranger:
      return Fail(Code::kAuthentication, "it belongs to another user, uid {}", answer.uid);
    case OwnerKind::kNobody:
      break;
  }
  return Fail(Code::kAuthentication, "no node of the group knows whose it is");
}

void StoreKeeper::TakeNote(int rank, uint32_t generation) {
  if (rank < 0 || static_cast<size_t>(rank) >= generations_.size()) return;
  uint32_t& seen = generations_[static_cast<size_t>(rank)];
  if (generation <= seen) return;
  seen = generation;
  latest_ = std::max(latest_, generation);
  server_->DropBelow(*std::ranges::min_element(generations_));
}

}  // namespace muster
