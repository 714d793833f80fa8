// Publishes the root's address in an endpoint store, retries until that succeeds, and removes it if the store
// requires it.
//
// Lives on one EventLoop; the endpoint store is written to on a thread of its own, which may be left behind.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>

#include "comm/net/event_loop.h"
#include "comm/net/thread_worker.h"
#include "comm/rendezvous/discovery/endpoint_store.h"

namespace muster::rendezvous {

// If a file system does not answer for this long, the root's address stays in it.
inline constexpr Duration kWithdrawal = std::chrono::seconds(1);

class RootAnnouncer {
 public:
  // Trying again is of no use. Error: kConfiguration. May destroy the announcer.
  using OnHopeless = std::function<void(const Error& error)>;

  // One try is given up after `patience`.
  RootAnnouncer(net::EventLoop& loop, std::unique_ptr<EndpointStore> endpoint_store, Duration patience,
                OnHopeless on_hopeless);
  RootAnnouncer(const RootAnnouncer&) = delete;
  RootAnnouncer& operator=(const RootAnnouncer&) = delete;
  // BLOCKS until the root's address is removed, at most kWithdrawal; not at all if the store needs no removal.
  ~RootAnnouncer();

  // Once.
  void Announce(const RootAddress& root_address);
  // Begins to take it down: nobody needs it any more. Does not block.
  void Withdraw();

  // Why nobody can have read it yet; empty: it is up, or nothing went wrong so far.
  const std::string& Problem() const { return problem_; }

 private:
  void Publish();
  void OnPublished(const Status& published);

  net::EventLoop& loop_;
  std::shared_ptr<EndpointStore> endpoint_store_;  // shared with a call that is left behind
  Duration patience_;
  OnHopeless on_hopeless_;
  net::ThreadWorker worker_;
  net::EventLoop::TimerId timer_ = 0;
  std::string text_;
  std::string problem_;
  bool withdrawing_ = false;
  std::future<void> withdrawn_;
};

}  // namespace muster::rendezvous
