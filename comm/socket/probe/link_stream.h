// Whole messages over a non-blocking connection, each step under a deadline; what measure.h speaks.
#pragma once

#include <span>

#include "comm/base/bytes.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"

namespace muster::socket {

// Threads: one. Does not own the descriptors.
class LinkStream {
 public:
  // `stop` is a descriptor that becomes readable when there is no use in going on (-1: none).
  LinkStream(int fd, int stop) : fd_(fd), stop_(stop) {}

  void set_deadline(Deadline deadline) { deadline_ = deadline; }

  // BLOCK until everything has moved. Error: kPeerLost (closed), kDeadline, kSystem.
  Status Read(std::span<uint8_t> into);
  Status Write(ByteView bytes);

  // What can be moved without waiting; 0 where that is nothing.
  Result<size_t> ReadSome(std::span<uint8_t> into);
  Result<size_t> WriteSome(ByteView bytes);
  // BLOCKS until the connection can be read from, or written to where `write` is set.
  Status Wait(bool write);
  // The same, for one of the two only.
  Status WaitFor(short events);

 private:
  const int fd_;
  const int stop_;
  Deadline deadline_ = Deadline::After({});
};

}  // namespace muster::socket
