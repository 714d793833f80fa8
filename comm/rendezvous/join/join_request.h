// The input of a process to a rendezvous, and its state when the group is formed. joiner.h uses both.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/auth/secret.h"
#include "comm/meeting.h"
#include "comm/net/private_directory.h"
#include "comm/options.h"
#include "comm/rendezvous/discovery/endpoint_store.h"
#include "comm/rendezvous/join/scheduler.h"
#include "comm/rendezvous/join/tree.h"
#include "comm/rendezvous/link/node_listener.h"
#include "comm/rendezvous/messages/child_links.h"
#include "comm/rendezvous/messages/messages.h"
#include "comm/rendezvous/messages/versions.h"
#include "comm/rendezvous/pmi/launcher_kvs.h"
#include "comm/rendezvous/survey/status_server.h"

namespace muster::rendezvous {

struct JoinRequest {
  Meeting meeting;
  std::string job;  // name of this launch for users: "slurm:4.0:0"
  // This process, with the ranks that it represents. A refused one only reports the refusal, and waits no
  // longer than timeouts.rendezvous even if requested.
  ProcessInfo self;
  RendezvousOptions options;
  TimeoutOptions timeouts;
  LivenessOptions liveness;
  uid_t uid = 0;
  // No other process has the key of this launch: none meets this one inside the node.
  bool sole = false;
  // self.node is the machine's own host name: no other node of the launch has its addresses.
  bool named_by_host = false;
  // The bases of the private directories in which the processes of this node meet (net/private_directory.h).
  std::vector<std::string> shared_directories = net::PrivateBases();
  // The one with this process's own data socket, if it has one: its leader's is most likely there too.
  std::optional<net::PrivateDirectory> own_directory;
  std::optional<auth::JobSecret> secret;
  // FindRoot::kEndpointStore without `secret`: drawn by the root; other processes read it from its address.
  std::optional<auth::JobSecret> root_address_secret;
  // FindRoot::kEndpointStore on the launcher's server: this process's OpenLauncherKvs.
  // Its owner ends it when the group is over.
  std::shared_ptr<LauncherKvs> kvs;
  std::string munge_socket;
  // Null: only the environment is known.
  std::shared_ptr<const Scheduler> scheduler;
  // The time that the root waits before it queries the scheduler.
  Duration scheduler_patience = std::chrono::seconds(2);
  bool terminal = false;  // stderr is one
  uint64_t log_file = 0;  // LogFileNumber
  // A leader that has not shown up by then is reported by its followers themselves.
  Duration leader_patience = std::chrono::seconds(3);
  // The time that the root of a failed group, and leaders of incomplete nodes, stay to notify late processes:
  // the starts of a large step, or of containers, are seconds apart.
  Duration late_nodes = std::chrono::seconds(10);
  // Of the tree of leaders (tree.h). 0: all leaders connect to the root.
  size_t fan_out = kFanOut;
  Versions versions{};
};

// The launcher's, if the ranks meet on it; else null. At most one of a process at a time. Does not block.
std::shared_ptr<LauncherKvs> OpenLauncherKvs(const Meeting& meeting);

// The one that request.meeting names (FindRoot::kEndpointStore): a store, a file, or request.kvs. Does no I/O before its
// first call.
std::unique_ptr<EndpointStore> OpenEndpointStore(const JoinRequest& request);

struct Joined {
  std::shared_ptr<const FormedGroup> group;    // never null; one for all that read it
  std::unique_ptr<net::FrameStream> upstream;  // null at the root
  std::unique_ptr<ChildLinks> children;        // never null
  // The request of this process if processes below connect to it (leader, root). Else null.
  std::shared_ptr<const JoinRequest> request;
  std::string upstream_name;  // if it is no rank of the group: "the supervisor of rank 5 on gpu03"
  std::unique_ptr<StatusServer> status_server{};  // a leader's, if it could be opened
  std::unique_ptr<NodeListener> node_listener{};  // a leader's, open: a node's ranks find it without a gap
  int upstream_rank = -1;                         // of the process above, on another node; -1: the root's
};

}  // namespace muster::rendezvous
