// The collective operations on host memory: which algorithm for which size and layout (README.md has the
// table). Every choice depends only on what all ranks know alike: the roster, the call and the length.
//
// All BLOCK as Exchange::Run does. Arguments have been checked (arguments.h). Buffers are the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/communicator.h"
#include "comm/socket/exchange.h"
#include "comm/socket/topology.h"
#include "comm/socket/tree_collectives.h"

namespace muster {

// Where a collective runs.
struct Collective {
  Exchange& exchange;
  const Topology& topology;

  int rank() const { return topology.rank(); }
  int size() const { return topology.size(); }
};

// reductions.cc: types and averages, around raw_reductions.cc
Status RunBarrier(const Collective& collective);
Status RunReduce(const Collective& collective, ConstBuffer send, Buffer receive, ReduceOp operation,
                 int root);
Status RunAllReduce(const Collective& collective, ConstBuffer send, Buffer receive, ReduceOp operation);
Status RunReduceScatter(const Collective& collective, ConstBuffer send, Buffer receive, ReduceOp operation);

// raw_reductions.cc: work types, sums instead of averages
Status RawReduce(const Collective& collective, Reduction reduction, ByteView send, std::span<uint8_t> receive,
                 int root);
Status RawAllReduce(const Collective& collective, Reduction reduction, ByteView send,
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

// bytes_collectives.cc: lengths differ by rank
Result<std::vector<Bytes>> RunGatherBytes(const Collective& collective, ByteView mine, int root);
Result<std::vector<Bytes>> RunAllGatherBytes(const Collective& collective, ByteView mine);
Result<Bytes> RunBroadcastBytes(const Collective& collective, ByteView mine, int root);

}  // namespace muster
