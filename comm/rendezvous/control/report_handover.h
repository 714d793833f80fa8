// Hands the exit reports of a leader's subtree to a node above the leader's lost parent (../tree.md): connects to those nodes in
// turn, until one confirms.
//
// Runs on one EventLoop; nothing blocks.
#pragma once

#include <functional>
#include <memory>

#include "comm/net/thread_worker.h"
#include "comm/rendezvous/discovery/root_search.h"
#include "comm/rendezvous/join/join_request.h"

namespace muster::rendezvous {

class ReportHandover {
 public:
  // `report`: an encoded OrphanReport. `on_done`: once, within 4 s for each of the hosts.
  ReportHandover(net::EventLoop& loop, std::shared_ptr<const JoinRequest> request, Detour detour,
                 Bytes report, std::function<void()> on_done);
  ReportHandover(const ReportHandover&) = delete;
  ReportHandover& operator=(const ReportHandover&) = delete;

 private:
  void TryNext();
  void TryNextSoon();
  void OnLink(std::unique_ptr<net::FrameStream> link);

  net::EventLoop& loop_;
  const std::shared_ptr<const JoinRequest> request_;
  const Detour detour_;
  const Bytes report_;
  const std::function<void()> on_done_;
  net::ThreadWorker munge_worker_;
  std::unique_ptr<auth::Prover> prover_;
  std::unique_ptr<RootSearch> search_;
  std::unique_ptr<net::FrameStream> link_;
  size_t tried_ = 0;  // of the hosts
  net::Timer timer_;
};

}  // namespace muster::rendezvous
