// The words of PyTorch's TCPStore protocol, dialects 2.2 and later (README.md has the wire).
//
// Source: torch/csrc/distributed/c10d/TCPStoreBackend.hpp and TCPStoreLibUvBackend.cpp of PyTorch 2.2
// to 2.13.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::tcp_store {

enum class Operation : uint8_t {
  kValidate = 0,
  kSet = 1,
  kCompareSet = 2,
  kGet = 3,
  kAdd = 4,
  kCheck = 5,
  kWait = 6,
  kNumKeys = 7,
  kDelete = 8,
  kAppend = 9,
  kMultiGet = 10,
  kMultiSet = 11,
  kCancelWait = 12,
  kPing = 13,       // since 2.5
  kQueuePush = 14,  // since 2.8
  kQueuePop = 15,
  kQueueLen = 16,
  kListKeys = 17,  // 2026
  kBarrier = 18,
};
inline constexpr size_t kOperations = 19;

// The first message of a client. Before dialect 2.2 the same bytes would begin a SET with a key of 1 GB or
// more.
inline constexpr uint32_t kValidationNumber = 0x3C85F7CE;

inline constexpr uint8_t kReady = 0;  // the answers to kCheck
inline constexpr uint8_t kNotReady = 1;
inline constexpr uint8_t kStopWaiting = 0;  // the answers to kWait and kBarrier, and to kCancelWait
inline constexpr uint8_t kWaitCanceled = 1;

// In bytes unless noted. Checked before anything is allocated. Those of a key, a value and the number of keys
// are PyTorch's own; it has no other limits.
struct Limits {
  uint64_t key = 8 * 1024;
  uint64_t value = 8 * 1024 * 1024;
  uint64_t keys = 128 * 1024;            // in one request
  uint64_t message = 256 * 1024 * 1024;  // one request or answer as a whole
};

}  // namespace muster::tcp_store
