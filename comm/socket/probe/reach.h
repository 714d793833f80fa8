// Tests whether each of some ranks can connect to every other one. For `muster check`: a pair that cannot is
// a result here, not the group's failure. So it is separate from the communicator and uses none of its
// connections.
//
// Every rank dials every other one, both ways, exactly as data connections are made: a listener like the
// endpoint's, all advertised addresses side by side, membership proven (dial.h, handshake.h). Only the
// purpose of the connection is another.
//
// Threads: one. Ownership: the Group outlives it; kept connections are the caller's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/group/group.h"
#include "comm/socket/transport/endpoint.h"

namespace muster::socket {

struct ReachPeer {
  int rank = 0;
  EndpointAddress address;
  bool keep = false;  // the connection is needed afterwards; the same on both sides
};

struct Reached {
  std::string failure;   // why this rank cannot connect to that one; empty: it can
  bool arrived = false;  // that one has connected to this rank
  UniqueFd link;         // kept; made by the higher rank of the two
};

struct ReachOptions {
  Duration connect = std::chrono::seconds(4);  // for each connection
  size_t at_once = 256;                        // connections on the way
  // Called every quarter of a second with the ranks still waited for, in either direction.
  std::function<void(const std::vector<int>& ranks)> progress;
};

// BLOCKS until every connection has come or failed, at most options.connect for each options.at_once peers,
// and a second. `peers` in the order in which to dial; the result is in that order. Error: the group's
// failure, kSystem.
Result<std::vector<Reached>> ReachAll(Group& group, const SocketEndpoint& endpoint,
                                      const std::vector<ReachPeer>& peers, const ReachOptions& options);

}  // namespace muster::socket
