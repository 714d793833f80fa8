// Whole messages over a non-blocking connection, each step under a deadline; the transport of measure.h.
#pragma once

#include <span>

#include "comm/base/bytes.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"

namespace muster::socket {

// Threads: one. Does not own the descriptors.
class LinkStream {
 public:
  // `stop`: a descriptor that becomes readable when it is useless to go on (-1: none).
  LinkStream(int fd, int stop) : fd_(fd), stop_(stop) {}

  void set_deadline(Deadline deadline) { deadline_ = last_ = deadline; }
  // From now on the deadline is `patience` after the last byte that moved, and `last` at the latest.
  void set_patience(Duration patience, Deadline last);
  Deadline deadline() const { return deadline_; }

  // BLOCK until everything has moved. Error: kPeerLost (closed), kDeadline, kSystem.
  Status Read(std::span<uint8_t> into);
  Status Write(ByteView bytes);

  // Moves the bytes that need no waiting; 0 if there are none.
  Result<size_t> ReadSome(std::span<uint8_t> into);
  Result<size_t> WriteSome(ByteView bytes);
  // BLOCKS until the connection can be read from, or written to if `write` is set.
  Status Wait(bool write);
  // The same, for one of the two only.
  Status WaitFor(short events);

 private:
  void Renew() { deadline_ = Deadline::After(patience_).EarlierOf(last_); }

  const int fd_;
  const int stop_;
  Duration patience_ = Duration::max();
  Deadline last_ = Deadline::After({});
  Deadline deadline_ = last_;
};

}  // namespace muster::socket
