// The names derived from a launch's meeting key: the ports to try and the names of its sockets inside a node.
// Pure, and the same on every rank of the launch. All of it is predictable for other users, except for the
// ladder of a job secret; every connection proves itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/auth/secret.h"
#include "comm/options.h"

namespace muster::rendezvous {

// Number of ports that a leader tries first. Eight: more groups with colliding hashes on one node are
// unlikely, and a refused port costs microseconds.
inline constexpr size_t kLadderLength = 8;
inline constexpr size_t kWholeLadder = 65536;

// All of `ports` but those of `but_not` (unless `ports` has no other), in the order in which the root tries them; the
// first `most` of them.
std::vector<uint16_t> PortLadder(std::string_view seed, PortRange ports,
                                 const std::vector<uint16_t>& but_not = {}, size_t most = kLadderLength);

// The seeds of a launch's ladders, the best first: that of the job secret, which is unpredictable, then the
// meeting key. The root listens on one port of each and leaders try both. So a rank with another secret, or
// without one, still reaches the root and receives its reason.
std::vector<std::string> LadderSeeds(std::string_view meeting_key,
                                     const std::optional<auth::JobSecret>& secret);

// The socket of this launch's leader on this node, in a private directory (net/private_directory.h). `node`
// is in it because several nodes may share one directory (several slurmd on one host).
std::string LocalSocketName(std::string_view meeting_key, std::string_view node);

// The key of the root's address in a launcher's store.
std::string EndpointTopic(std::string_view meeting_key);

// The name of the file with the root's address, in a directory that all nodes share.
std::string EndpointStoreFile(std::string_view meeting_key);

}  // namespace muster::rendezvous
