// Checks whether other nodes still answer when one has fallen silent: distinguishes a lost node from the own
// node being cut off. Any answer counts, also a refused connection.
//
// Runs on one EventLoop. The connections are closed as soon as they are answered.
#pragma once

#include <map>
#include <vector>

#include "comm/base/unique_fd.h"
#include "comm/net/event_loop.h"
#include "comm/net/socket.h"

namespace muster::net {

class ReachProbe {
 public:
  // For answers: longer than a lost packet takes to be sent again.
  static constexpr Duration kAnswerWithin = std::chrono::milliseconds(1500);

  // `nodes`: one address of each node; probes all at the same time.
  ReachProbe(EventLoop& loop, const std::vector<SocketAddress>& nodes);
  ReachProbe(const ReachProbe&) = delete;
  ReachProbe& operator=(const ReachProbe&) = delete;
  ~ReachProbe();

  int asked() const { return asked_; }
  int answered() const { return answered_; }
  // Connections that could not begin: nothing is known of the node.
  int not_asked() const { return not_asked_; }

 private:
  void OnEvent(int fd);

  EventLoop& loop_;
  const int asked_;
  int answered_ = 0;
  int not_asked_ = 0;
  std::map<int, UniqueFd> open_;
};

}  // namespace muster::net
