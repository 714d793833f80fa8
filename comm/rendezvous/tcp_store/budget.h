// A memory limit in bytes, and its use.
#pragma once

#include <cstdint>
#include <string>

#include "comm/base/error.h"

namespace muster::tcp_store {

class Budget {
 public:
  // `what` is full, in the error's words.
  Budget(std::string what, uint64_t limit) : what_(std::move(what)), limit_(limit) {}

  // Error: kDisagreement; nothing is taken then.
  Status Take(uint64_t bytes) {
    if (bytes > limit_ - taken_) {
      return Fail(Code::kDisagreement, "{} hold {} bytes; {} more would be beyond their limit of {}", what_,
                  taken_, bytes, limit_);
    }
    taken_ += bytes;
    return {};
  }
  void GiveBack(uint64_t bytes) { taken_ -= bytes; }
  uint64_t taken() const { return taken_; }

 private:
  std::string what_;
  uint64_t limit_;
  uint64_t taken_ = 0;
};

}  // namespace muster::tcp_store
