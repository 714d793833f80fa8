// The operations of a communicator. Their numbers travel in messages.
#pragma once

#include <cstdint>

namespace muster {

enum class Operation : uint8_t {
  kBarrier,
  kBroadcast,
  kReduce,
  kAllReduce,
  kGather,
  kAllGather,
  kScatter,
  kReduceScatter,
  kAllToAll,
  kSend,
  kRecv,
  kGatherBytes,
  kAllGatherBytes,
  kBroadcastBytes,
  kSplit,
};
inline constexpr uint8_t kOperationCount = 15;

}  // namespace muster
