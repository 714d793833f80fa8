// A PMIx server's data about one of its processes and its launch. A value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

// Absent: the server does not report it. Nothing is checked.
struct PmixPlace {
  std::optional<uint32_t> world_size;
  std::optional<uint32_t> local_rank;      // a server deletes it once a process of its node has left it
  std::optional<std::string> local_peers;  // the ranks of this launch on this node: "0,1,5"
  std::optional<uint32_t> local_world_size;
  std::optional<uint32_t> num_nodes;

  friend bool operator==(const PmixPlace&, const PmixPlace&) = default;
};

}  // namespace muster
