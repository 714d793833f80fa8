// The ranks of a communicator agree to share memory inside their nodes, or not to: within the first call that
// requires it, over its connections, so that every message of it is checked against that call.
//
//     member -> first of its node   u8 1: this connection is up
//     first -> member               u8 1, the file, 64 B name of the directory of the doorbells; or u8 0
//     member -> first               the reason why it cannot, or nothing
//     first ranks among each other  the least of their verdicts
//     first -> member               u8 verdict
//
// All or none: one rank that cannot (a container that shares no directory, a limit, no anonymous
// file) makes every rank do without, and its node's first rank logs the reason in one line.
//
// BLOCKS as ProgressEngine::Run.
#pragma once

#include <cstddef>
#include <memory>

#include "comm/base/error.h"
#include "comm/socket/algorithms/topology.h"
#include "comm/socket/engine/progress_engine.h"
#include "comm/socket/shm/node_memory.h"

namespace muster::socket {

struct SharedMemoryAgreement {
  bool shared = false;                 // on all nodes, the same on every rank
  std::unique_ptr<NodeMemory> memory;  // this node's, if it is shared and more than one rank is here
};

// `slot_bytes`: 0, or the value of a test. An error is the call's.
Result<SharedMemoryAgreement> AgreeOnSharedMemory(ProgressEngine& engine, const Topology& topology,
                                                  size_t slot_bytes);

}  // namespace muster::socket
