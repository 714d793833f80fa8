// The connections from below: at a leader those of its node's other ranks, at the root those of the leaders
// as well, at a supervisor that of its program. Stores the ranks behind each connection, and sends to one or
// all.
//
// Runs on one EventLoop. Owns the streams. A handler may remove any child.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/net/frame_stream.h"

namespace muster::rendezvous {

// The time for peers to read their last message and close.
inline constexpr Duration kLeaveGrace = std::chrono::seconds(2);

class ChildLinks {
 public:
  using Source = uint64_t;
  // The process itself, if it counts as a sender.
  static constexpr Source kSelf = 0;

  struct Child {
    std::unique_ptr<net::FrameStream> stream;
    std::string name;          // for messages: "pid 4711 on this node", "198.18.1.3:51234"
    bool same_node = false;    // over a Unix socket
    std::vector<int> ranks{};  // that it represents
  };
  using OnFrame = std::function<void(Source source, ByteView frame)>;
  using OnClose = std::function<void(Source source, const Child& child, const Error& reason)>;

  // Replaces those of a former owner. on_close is called after the child was taken out.
  void SetHandlers(OnFrame on_frame, OnClose on_close);
  Source Add(std::unique_ptr<net::FrameStream> stream, std::string name, bool same_node);
  Child* Find(Source source);
  void Remove(Source source);

  void Send(Source source, ByteView frame);
  void SendAll(ByteView frame);

  bool empty() const { return children_.empty(); }
  std::map<Source, Child>& all() { return children_; }

 private:
  void Listen(Source source, net::FrameStream& stream);
  void OnStreamClosed(Source source, const Error& reason);

  std::map<Source, Child> children_;
  Source next_ = kSelf + 1;
  OnFrame on_frame_;
  OnClose on_close_;
};

}  // namespace muster::rendezvous
