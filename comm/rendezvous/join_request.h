// What a process brings to a rendezvous, and what it has when the group is formed. See joiner.h.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/auth/secret.h"
#include "comm/meeting.h"
#include "comm/options.h"
#include "comm/rendezvous/branches.h"
#include "comm/rendezvous/messages.h"

namespace muster {

struct JoinRequest {
  Meeting meeting;
  Party self;  // this process, with the ranks it stands for
  RendezvousOptions options;
  TimeoutOptions timeouts;
  LivenessOptions liveness;
  uid_t uid = 0;
  // Directories that all processes of this node are likely to share; for when the abstract socket name cannot
  // be used.
  std::vector<std::string> shared_directories;
  std::optional<JobSecret> secret;
  std::string munge_socket;
  bool terminal = false;  // stderr is one
  // A leader that has not shown up by then is reported by its followers themselves.
  Duration leader_patience = std::chrono::seconds(3);
  // How long the root of a group that cannot form stays to tell those who are still on their way: the starts
  // of a large step, or of containers, are seconds apart.
  Duration late_nodes = std::chrono::seconds(10);
};

struct Joined {
  FormedGroup group;
  std::unique_ptr<FrameStream> upstream;  // null at the root
  std::unique_ptr<Branches> branches;     // never null
  // What this process had asked for, where others come to it: a leader, the root. Else null.
  std::shared_ptr<const JoinRequest> request;
  std::string upstream_name;  // where it is no rank of the group: "the supervisor of rank 5 on gpu03"
};

}  // namespace muster
