// Where the root listens: works out its own addresses (off the loop), binds the ladder's first free port on
// them, and waits for one where none is free. Behind it stands a RootDoor: only proven links come out.
//
// Lives on one EventLoop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/net/thread_worker.h"
#include "comm/rendezvous/join_request.h"
#include "comm/rendezvous/root_door.h"

namespace muster {

class RootListener {
 public:
  // This node is not the one that the others will look on. Error: kConfiguration.
  using OnMisplaced = std::function<void(const Error& error)>;

  // The references must outlive it.
  RootListener(EventLoop& loop, const JoinRequest& request, Prover& prover, RootDoor::OnLink on_link,
               OnMisplaced on_misplaced);
  RootListener(const RootListener&) = delete;
  RootListener& operator=(const RootListener&) = delete;
  ~RootListener();

  void Start();
  void Close();

  // What stands in the way, for the waiting line: no free port, or who was turned away last. Empty: nothing.
  std::string Problem() const;

 private:
  struct Addresses {
    std::vector<SocketAddress> listen;
    std::string problem;
  };
  static Addresses FindAddresses(const std::string& host, bool must_be_local);
  void OnAddresses(const Addresses& addresses);
  void TryToBind(const std::vector<SocketAddress>& addresses);

  EventLoop& loop_;
  const JoinRequest& request_;
  RootDoor door_;
  OnMisplaced on_misplaced_;
  ThreadWorker names_;
  EventLoop::TimerId bind_timer_ = 0;
  bool closed_ = false;
  std::string bind_problem_;
};

}  // namespace muster
