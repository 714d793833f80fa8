// What a launch's meeting key turns into: the ports to try and the names of its sockets inside a node. Pure,
// and the same on every rank of the launch. None of it is secret: strangers may guess it, which is why every
// connection proves itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "comm/options.h"

namespace muster {

// How many ports a group tries. Eight: more groups than that starting on one node with hashes that collide is
// not to be expected, and a refused port costs microseconds.
inline constexpr int kLadderLength = 8;

// Up to kLadderLength different ports inside `ports`, in the order to try them (all of `ports` where it has
// fewer).
std::vector<uint16_t> PortLadder(std::string_view meeting_key, PortRange ports);

// The socket of this launch's leader on this node, in a private directory (net/private_directory.h). `node` is
// in it because several nodes may share one directory (several slurmd on one host).
std::string LocalSocketName(std::string_view meeting_key, std::string_view node);

// The key of the root's notice, where a launcher's store says where the root is.
std::string BulletinTopic(std::string_view meeting_key);

// The name of the file that says it, in a directory that all nodes share.
std::string BulletinFile(std::string_view meeting_key);

}  // namespace muster
