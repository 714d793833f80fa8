// A process on the way between two nodes: a port of its own, from where everything is passed on to another,
// after a test has looked at it and changed it.
//
// Threads: one of its own, which calls the filter. Ends with the object.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "comm/base/bytes.h"
#include "comm/base/unique_fd.h"
#include "comm/socket/transport/handshake.h"

namespace muster::socket {

class ManInTheMiddle {
 public:
  struct Passing {
    bool up = false;      // from who connected
    uint64_t offset = 0;  // of the first of these bytes, counted for each connection and direction
    bool cut = false;     // set: the connection ends behind these bytes
  };
  using Filter = std::function<void(Passing& passing, Bytes& bytes)>;

  // Both on 127.0.0.1.
  ManInTheMiddle(uint16_t target_port, Filter filter);
  ManInTheMiddle(const ManInTheMiddle&) = delete;
  ManInTheMiddle& operator=(const ManInTheMiddle&) = delete;
  ~ManInTheMiddle();

  uint16_t port() const { return port_; }
  // All that has passed, both ways, as it was before the filter.
  Bytes Seen() const;

 private:
  struct Way {
    int from = -1;
    int to = -1;
    bool up = false;
    uint64_t offset = 0;
    bool open = true;
  };
  struct Pair {
    UniqueFd near;
    UniqueFd far;
    Way up;
    Way down;
  };

  void Run();
  void Accept();
  void Pass(Way& way);

  const uint16_t target_port_;
  const Filter filter_;
  UniqueFd listener_;
  uint16_t port_ = 0;
  UniqueFd stop_;
  std::list<Pair> pairs_;
  mutable std::mutex mutex_;
  Bytes seen_;
  std::thread thread_;
};

// The first byte behind the handshake of a data connection.
inline uint64_t DataBegins(bool up) { return up ? kHelloBytes + 32 : kReplyBytes + 1; }

// Changes one byte, so far behind the handshake, one way.
ManInTheMiddle::Filter Flip(bool up, uint64_t behind);

}  // namespace muster::socket
