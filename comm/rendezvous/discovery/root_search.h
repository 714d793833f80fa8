// From the root's host name to a proven connection: resolves names (off the loop, again and again: an address may be
// out of date) and passes the addresses to a RootDialer.
//
// Runs on one EventLoop. Never stops by itself: its owner has the deadline.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/net/event_loop.h"
#include "comm/net/thread_worker.h"
#include "comm/rendezvous/discovery/root_finder.h"
#include "comm/rendezvous/link/root_dialer.h"

namespace muster::rendezvous {

class RootSearch : public RootFinder {
 public:
  struct Where {
    std::vector<std::string> hosts;
    std::vector<uint16_t> ports;
    // If set: called once if one of the hosts turns out to be this machine. Must not destroy the search.
    std::function<void()> on_own_host = nullptr;
    // For a host whose name does not resolve, or only to this machine. If set: called off the loop; may block.
    // After an empty answer it is called again, after a pause that doubles. `crowd`: the number of processes
    // that may do this now, so that they can spread their calls.
    std::function<std::vector<net::SocketAddress>(const std::string& host)> elsewhere = nullptr;
    Duration elsewhere_again = std::chrono::seconds(10);  // the first such pause
    size_t crowd = 1;
    Duration look_up_again = std::chrono::seconds(5);  // after an answer; longer for many hosts or a crowd
    // Tried as well if the root is not found soon at the ports above.
    std::vector<uint16_t> later_ports = {};
    // Further ports of the root if foreign processes hold the first ones (RootDialer::SetFurther). If set:
    // called at most once, in that case.
    std::function<std::vector<uint16_t>()> further_ports = nullptr;
  };

  RootSearch(net::EventLoop& loop, Where where, RootDialer::Params params, auth::Prover& prover,
             RootDialer::OnLink on_link, RootDialer::OnRejected on_rejected);

  std::string Problem() const override;
  std::optional<Error> rejection() const override { return dialer_.rejection(); }

 private:
  struct Elsewhere {
    bool due = true;  // false: under way, answered, or in a pause
    Duration pause{};
  };

  void LookUp(const std::string& host);
  void LookElsewhere(const std::string& host);
  void OnAddresses(std::vector<net::SocketAddress> addresses);
  void After(Duration pause, std::function<void()> step);

  net::EventLoop& loop_;
  Where where_;
  net::ThreadWorker names_;
  net::ThreadWorker elsewhere_;
  std::map<std::string, Elsewhere> sought_elsewhere_;  // by host
  std::vector<net::SocketAddress> addresses_;          // of all hosts, without a port
  std::optional<std::vector<uint16_t>> further_ports_;
  RootDialer dialer_;
  std::vector<std::string> unanswered_;  // hosts whose names have had no answer yet
  std::string name_problem_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// Until a name is looked up again after an answer. Random: leaders that start together do not ask in step.
Duration PauseAfterAnAnswer(const RootSearch::Where& where);

}  // namespace muster::rendezvous
