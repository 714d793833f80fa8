// The connections of a process in the tree of its formed group: the one above, and those below.
//
// Runs on one EventLoop.
#pragma once

#include <memory>
#include <utility>

#include "comm/net/event_loop.h"
#include "comm/net/frame_stream.h"
#include "comm/rendezvous/messages/child_links.h"

namespace muster::rendezvous {

class TreeLinks {
 public:
  // `upstream`: null at the root.
  TreeLinks(net::EventLoop& loop, std::unique_ptr<net::FrameStream> upstream,
            std::unique_ptr<ChildLinks> children)
      : loop_(loop),
        upstream_(std::move(upstream)),
        is_root_(upstream_ == nullptr),
        children_(std::move(children)) {}
  TreeLinks(const TreeLinks&) = delete;
  TreeLinks& operator=(const TreeLinks&) = delete;

  net::EventLoop& loop() { return loop_; }
  bool is_root() const { return is_root_; }
  ChildLinks& children() { return *children_; }
  // Null at the root, and after DropUpstream.
  net::FrameStream* upstream() { return upstream_.get(); }

  // False without a process above.
  bool SendUp(ByteView frame) {
    if (upstream_) upstream_->Send(frame);
    return upstream_ != nullptr;
  }
  // The stream itself may be on the stack of this call.
  void DropUpstream() {
    loop_.Post([stream = std::shared_ptr<net::FrameStream>(std::move(upstream_))] {});
  }

 private:
  net::EventLoop& loop_;
  std::unique_ptr<net::FrameStream> upstream_;
  const bool is_root_;
  std::unique_ptr<ChildLinks> children_;
};

}  // namespace muster::rendezvous
