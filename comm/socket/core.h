// Shared by the communicators of one process: that of the whole group, and all that Split makes from it.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>

#include "comm/auth/bytes_mac.h"
#include "comm/group/group.h"
#include "comm/socket/engine/progress_engine.h"
#include "comm/socket/socket_communicator.h"
#include "comm/socket/transport/mesh.h"
#include "comm/system/fork_guard.h"

namespace muster::socket {

struct SocketCore {
  Group& group;
  std::shared_ptr<Mesh> mesh;
  SocketOptions options;
  bool spin = false;
  std::optional<auth::BytesMac> mac = {};  // absent if connections are sealed
  int fork_depth = ForkDepth();
  pid_t owner = getpid();

  // There the connections, the listeners and the epoll descriptor are the parent's.
  bool InForkedChild() const { return ForkDepth() != fork_depth; }
  ProgressEngineOptions engine_options(const std::atomic<bool>* closed) const {
    return {options.patience,        options.cause_grace,       spin,
            options.timeouts.latest, /*peer_has_left=*/nullptr, closed};
  }
};

// One communicator's ranks.
struct Members {
  uint64_t communicator = 0;             // the same on all of them, different from every other communicator's
  int rank = 0;                          // in its own numbering
  std::shared_ptr<const Roster> roster;  // in its own numbering
  std::vector<int> world_ranks;          // the group's number of each
};

}  // namespace muster::socket
