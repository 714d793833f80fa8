// The way for the ranks of one launch to find each other, according to the environment and the configuration.
// A value, made by bootstrap/join, the same on every rank of a launch (except node_mark and pmi), used by
// comm/rendezvous.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/address.h"
#include "comm/base/shared_list.h"
#include "comm/pmi_access.h"

namespace muster {

// The nodes of ranks, as far as known before any connection.
struct Placement {
  struct Node {
    std::string name;
    int tasks = 0;  // 0: unknown

    friend bool operator==(const Node&, const Node&) = default;
  };
  SharedList<Node> nodes;        // in the launcher's order; empty: unknown
  SharedList<int> node_of_rank;  // index into nodes; empty: the layout cannot be derived

  friend bool operator==(const Placement&, const Placement&) = default;
};

// The method by which leaders find the root.
enum class FindRoot {
  kSameNode,       // all ranks are on one node: its leader is the root and no port is opened
  kFirstNode,      // the root is the leader on placement.nodes[0]; port ladder there
  kHost,           // the root is rank 0's leader, on the node called `host`; port ladder there
  kSearch,         // the root is rank 0's leader, on one of placement.nodes: port ladder on each
  kEndpoint,       // the root is rank 0's leader and listens exactly at `endpoint`; port 0: port ladder there
  kEndpointStore,  // the root is rank 0's leader, and publishes its address: see below
};

struct Meeting {
  // Properties that all processes of this launch surely share (uid, cluster, job, step, het leader; a run id
  // and endpoint). Names sockets and seeds ports; not secret.
  std::string key;
  // key plus what must agree: restart count, job start time, launcher, world size. Compared in the hello.
  std::string job_key;
  // True if all processes of the launch count its restarts in the same way, so that job_key has the count.
  bool restart_is_shared = true;
  // Distinguishes this launch from others of the same key on this node; differs from node to node. May be
  // empty.
  std::string node_mark;
  FindRoot find_root = FindRoot::kSameNode;
  std::string host;
  std::optional<Endpoint> endpoint;
  // The store in which a kEndpointStore root publishes its address; one of them.
  std::optional<Endpoint> torch_store;   // a TCPStore that is there already
  std::optional<std::string> directory;  // that all nodes share
  std::optional<PmiAccess> pmi;          // the launcher's PMI server, as this process reaches it
  bool pmix = false;                     // the launcher's PMIx server
  Placement placement;
  // Other software of the launch will bind them: neither the root nor the store listens there.
  std::vector<uint16_t> ports_of_others;

  // Names the sockets inside a node.
  std::string LocalKey() const { return node_mark.empty() ? key : key + " " + node_mark; }

  friend bool operator==(const Meeting&, const Meeting&) = default;
};

}  // namespace muster
