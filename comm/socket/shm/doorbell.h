// How a rank that works wakes one that sleeps in poll(): a datagram to the sleeper's socket.
//
// A datagram needs no connection and no descriptor of the other: 256 ranks of a node have one descriptor each
// where eventfds would take 256 each. The name is abstract and chosen by the kernel. A stranger who guesses
// it can wake a rank for nothing, and no more.
//
// Threads: one at a time. Nothing here blocks.
#pragma once

#include <string>
#include <string_view>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster {

class Doorbell {
 public:
  // Error: kSystem.
  static Result<Doorbell> Open();

  int fd() const { return fd_.get(); }
  const std::string& name() const { return name_; }  // abstract, without its leading NUL

  // Whether the other will wake up; not for now where the kernel has no room.
  bool Ring(std::string_view name) const;
  void Drain() const;

 private:
  Doorbell(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  UniqueFd fd_;
  std::string name_;
};

}  // namespace muster
