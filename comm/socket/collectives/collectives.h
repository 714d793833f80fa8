// The collective operations on host memory, each by the algorithm that choice.h gives.
//
// All BLOCK as ProgressEngine::Run does. Arguments have been checked (arguments.h). Buffers are the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/auth/bytes_mac.h"
#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/communicator.h"
#include "comm/socket/algorithms/choice.h"
#include "comm/socket/algorithms/topology.h"
#include "comm/socket/algorithms/tree_collectives.h"
#include "comm/socket/engine/progress_engine.h"
#include "comm/socket/shm/hierarchical.h"
#include "comm/socket/shm/node_memory.h"

namespace muster::socket {

// The context of a collective.
struct Collective {
  ProgressEngine& engine;
  const Topology& topology;
  Chooser& chooser;
  NodeMemory* memory = nullptr;         // shared memory of this node's ranks; set if the choice requires it
  const auth::BytesMac* mac = nullptr;  // for byte strings; null: the connections are sealed

  int rank() const { return topology.rank(); }
  Hierarchy hierarchy() const { return {engine, topology, memory}; }
  int size() const { return topology.size(); }
  // As Chooser::Choose; the choice for the call itself, not for a part of it, is announced.
  Algorithm Choose(Operation operation, size_t bytes) const;
};

inline ByteView BytesOf(const ConstBuffer& buffer) {
  return {static_cast<const uint8_t*>(buffer.data), buffer.bytes()};
}
inline std::span<uint8_t> BytesOf(const Buffer& buffer) {
  return {static_cast<uint8_t*>(buffer.data), buffer.bytes()};
}

// reductions.cc: types and averages, around raw_reductions.cc
Status RunBarrier(const Collective& collective);
Status RunReduce(const Collective& collective, ConstBuffer send, Buffer receive, ReduceOp operation,
                 int root);
Status RunAllReduce(const Collective& collective, ConstBuffer send, Buffer receive, ReduceOp operation);
Status RunReduceScatter(const Collective& collective, ConstBuffer send, Buffer receive, ReduceOp operation);

// raw_reductions.cc: work types, sums instead of averages
Status RawReduce(const Collective& collective, Reduction reduction, ByteView send, std::span<uint8_t> receive,
                 int root);
Status RawAllReduce(const Collective& collective, Algorithm algorithm, Reduction reduction, ByteView send,
                    std::span<uint8_t> receive);
Status RawReduceScatter(const Collective& collective, Reduction reduction, ByteView send,
                        std::span<uint8_t> receive);

// data_movement.cc: blocks of equal length; buffers that only the root uses are empty elsewhere
Status RunBroadcast(const Collective& collective, std::span<uint8_t> data, int root);
Status RunGather(const Collective& collective, ByteView mine, std::span<uint8_t> all, int root);
Status RunAllGather(const Collective& collective, ByteView mine, std::span<uint8_t> all);
Status RunScatter(const Collective& collective, ByteView all, std::span<uint8_t> mine, int root);

// all_to_all.cc
Status RunAllToAll(const Collective& collective, ByteView send, std::span<uint8_t> receive);

// bytes_collectives.cc: lengths differ by rank. Received bytes are verified: on connections that are not
// sealed each byte string carries a MAC (if it is wrong: kAuthentication, the group's failure).
Result<std::vector<Bytes>> RunGatherBytes(const Collective& collective, ByteView mine, int root);
Result<std::vector<Bytes>> RunAllGatherBytes(const Collective& collective, ByteView mine);
Result<Bytes> RunBroadcastBytes(const Collective& collective, ByteView mine, int root);

}  // namespace muster::socket
