#include "bootstrap/store/store_users.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "comm/log/log.h"
#include "comm/net/socket.h"
#include "comm/net/socket_owner.h"

namespace muster::store {
namespace {

std::optional<net::SocketOwner> OwnerOf(const rendezvous::OwnerQuestion& question) {
  const auto client = net::SocketAddress::FromNumeric(question.client_host, question.client_port);
  const auto server = net::SocketAddress::FromNumeric(question.server_host, question.server_port);
  if (!client || !server) return std::nullopt;
  const auto owner = net::OwnerOfConnection(*client, *server);
  if (owner) return *owner;
  // The same for every connection.
  static std::once_flag logged;
  std::call_once(logged, [&] { LogWarning("{}", owner.error().message); });
  return std::nullopt;
}

}  // namespace

rendezvous::OwnerAnswer StoreUsers::Look(const rendezvous::OwnerQuestion& question) {
  rendezvous::OwnerAnswer answer;
  answer.id = question.id;
  const std::optional<net::SocketOwner> owner = OwnerOf(question);
  if (!owner) return answer;
  answer.uid = owner->uid;
  answer.kind = owner->uid == uid_ ? rendezvous::OwnerKind::kUser : rendezvous::OwnerKind::kStranger;
  if (answer.kind == rendezvous::OwnerKind::kStranger) return answer;
  for (const RunningProgram& program : programs_()) {
    const std::vector<pid_t> tree = process::ProcessTree(program.pid);
    // Parents come first: of processes that share the socket by fork, this is the one that opened it.
    const auto holder =
        std::ranges::find_if(tree, [&](pid_t pid) { return process::HoldsSocket(pid, owner->inode); });
    if (holder == tree.end()) continue;
    answer.kind = rendezvous::OwnerKind::kProgram;
    answer.rank = program.rank;
    answer.generation = GenerationOf(program.rank, *holder, tree);
    return answer;
  }
  return answer;
}

uint32_t StoreUsers::GenerationOf(int rank, pid_t pid, const std::vector<pid_t>& tree) {
  Use& use = uses_[rank];
  const bool first = use.processes.empty();
  std::erase_if(use.processes, [&](const process::ProcessIdentity& process) {
    return std::ranges::count(tree, process.pid) == 0 || process::IdentityOf(process.pid) != process;
  });
  if (!first && use.processes.empty()) ++use.generation;
  const process::ProcessIdentity identity =
      process::IdentityOf(pid).value_or(process::ProcessIdentity{pid, 0, 0});
  if (std::ranges::count(use.processes, identity) == 0) use.processes.push_back(identity);
  return use.generation;
}

}  // namespace muster::store
