// The processes below while a group forms: the other ranks of this node, and the leaders of nodes below this one. Compares
// versions, counts and answers their hellos, and interprets the end of a connection.
//
// Runs on one EventLoop.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "comm/net/frame_stream.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/join/upstream_link.h"
#include "comm/rendezvous/messages/child_links.h"
#include "comm/rendezvous/roster/arrivals.h"
#include "comm/rendezvous/roster/hello_members.h"

namespace muster::rendezvous {

class DownstreamLinks {
 public:
  using Source = ChildLinks::Source;
  struct Events {
    // It fits, and has been counted and answered.
    std::function<void(Source, const Hello&)> on_hello;
    // At the root: after its hello.
    std::function<void(Source)> on_ended;
    // A process below has failed. May be called more than once.
    std::function<void(Failure)> on_failed;
  };

  // The references must outlive it. `ranks_below`: on the nodes below this one; -1: unknown.
  DownstreamLinks(const JoinRequest& request, const UpstreamLink& upstream, int ranks_below, Events events);
  DownstreamLinks(const DownstreamLinks&) = delete;
  DownstreamLinks& operator=(const DownstreamLinks&) = delete;

  // Of this process.
  void SetLeader() { arrived_.leader = true; }
  void SetRoot(bool root) { arrived_.root = root; }
  // The lost leader of this node, which other processes no longer report.
  void CountLost(const ProcessInfo& leader) { arrived_.Count({{}, {leader}}, true); }

  // With the process's own.
  const ArrivedRanks& arrived() const { return arrived_; }
  // The processes of hellos to the one above. At the root those of this node: they go up if the root turns out to be elsewhere.
  HelloMembers& members() { return members_; }
  const HelloMembers& members() const { return members_; }
  ChildLinks& links() { return *links_; }
  // The answer to a hello.
  Acceptance acceptance() const;

  // The process above has accepted this one.
  void Accept();
  // Their hello has gone up; those of this node receive that.
  void AcceptAgain(const std::set<Source>& sources);
  // Not to second processes of a rank.
  void SendRoster(const Roster& roster, ByteView frame);
  // The next owner takes them.
  std::unique_ptr<ChildLinks> Take() { return std::move(links_); }

 private:
  void OnFrame(Source source, ByteView frame);
  void OnHello(Source source, const Hello& hello);
  void OnClosed(Source source, const ChildLinks::Child& child);
  void CompareVersions(Source source, ByteView frame);
  bool MayBeBelow(const Hello& hello) const;
  void Forget(Source source, bool same_node) { arrived_.Discount(members_.Forget(source), same_node); }

  const JoinRequest& request_;
  const UpstreamLink& upstream_;
  const Events events_;
  std::unique_ptr<ChildLinks> links_ = std::make_unique<ChildLinks>();
  ArrivedRanks arrived_;
  HelloMembers members_;
};

}  // namespace muster::rendezvous
