// Publishes the root's address in an endpoint store, retries until that succeeds, and removes it if the store
// requires it.
//
// Runs on one EventLoop; the endpoint store is written to on its own thread, which may be abandoned.
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
  // A retry is useless. Error: kConfiguration. May destroy the announcer.
  using OnHopeless = std::function<void(const Error& error)>;

  // One attempt times out after `patience`.
  RootAnnouncer(net::EventLoop& loop, std::unique_ptr<EndpointStore> endpoint_store, Duration patience,
                OnHopeless on_hopeless);
  RootAnnouncer(const RootAnnouncer&) = delete;
  RootAnnouncer& operator=(const RootAnnouncer&) = delete;
  // BLOCKS until the root's address is removed, at most kWithdrawal; not at all if the store needs no removal.
  ~RootAnnouncer();

  // Once.
  void Announce(const RootAddress& root_address);
  // Begins to remove it: no process needs it now. Does not block.
  void Withdraw();

  // The reason why no process can have read it; empty: it is published, or nothing has failed so far.
  const std::string& Problem() const { return problem_; }

 private:
  void Publish();
  void OnPublished(const Status& published);

  net::EventLoop& loop_;
  std::shared_ptr<EndpointStore> endpoint_store_;  // shared with an abandoned call
  Duration patience_;
  OnHopeless on_hopeless_;
  net::ThreadWorker worker_;
  net::Timer timer_;
  std::string text_;
  std::string problem_;
  bool withdrawing_ = false;
  std::future<void> withdrawn_;
};

}  // namespace muster::rendezvous
