// The types behind the opaque names of muster.h.
#pragma once

#include <unistd.h>

#include <memory>
#include <vector>

#include "bootstrap/c/muster.h"
#include "comm/communicator.h"

// Null communicator: the group is gone. The world's belongs to muster::Init, that of a part to `owned`.
struct muster_comm {
  muster::Communicator* communicator = nullptr;
  std::unique_ptr<muster::Communicator> owned;
  pid_t pid = 0;
};

struct muster_parts {
  std::vector<muster::Bytes> parts;
};

namespace muster::c {

// The communicator behind it. Error: kUsage (null, after Shutdown, in a forked child).
Result<Communicator*> Alive(const muster_comm* comm);

// A map ends before its group.
void EndMaps();

inline CallOptions Within(int64_t timeout_ns) {
  if (timeout_ns < 0) return {};
  return {Duration(timeout_ns), nullptr};
}

}  // namespace muster::c
