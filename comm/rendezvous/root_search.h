// From "the root is on that host" to a proven connection: looks names up (off the loop, again when that
// fails) and keeps a RootDialer busy with what comes of it.
//
// Lives on one EventLoop. Never gives up by itself: its owner has the deadline.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/net/event_loop.h"
#include "comm/net/thread_worker.h"
#include "comm/rendezvous/root_dialer.h"

namespace muster {

class RootSearch {
 public:
  struct Where {
    std::vector<std::string> hosts;
    std::vector<uint16_t> ports;
  };

  RootSearch(EventLoop& loop, Where where, RootDialer::Params params, Prover& prover,
             RootDialer::OnLink on_link, RootDialer::OnRejected on_rejected);

  // Why it has not worked so far; empty where nothing went wrong yet.
  std::string Problem() const;
  const std::optional<Error>& rejection() const { return dialer_.rejection(); }

 private:
  void LookUp(const std::string& host);

  EventLoop& loop_;
  Where where_;
  ThreadWorker names_;
  RootDialer dialer_;
  std::string name_problem_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster
