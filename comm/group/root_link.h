// Messages between a rank and a service at the root of its group, which the first message starts. The control plane
// carries them unread and in order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "comm/base/bytes.h"
#include "comm/base/error.h"

namespace muster {

class RootLink {
 public:
  // Both run on the group's own thread and must not block.
  struct Listener {
    std::function<void(ByteView message)> on_message;
    std::function<void(const Error& error)> on_failure;  // once: the group's
  };

  RootLink() = default;
  RootLink(const RootLink&) = delete;
  RootLink& operator=(const RootLink&) = delete;
  virtual ~RootLink() = default;

  // From any thread; does not wait.
  virtual void SendToRoot(Bytes message) = 0;
  // BLOCKS until what was sent is with the system, so that it arrives even if this process is killed: some
  // microseconds. Not for the group's own thread.
  virtual void AwaitSent() = 0;
  // One for each map, by its number; empty: none. From any thread; a call of the one before may still be running when
  // this returns.
  virtual void SetListener(uint32_t map, Listener listener) = 0;
};

// The listeners of a link: the end of one map's leaves that of the next in place. For the group's own thread.
class RootListeners {
 public:
  void Set(uint32_t map, RootLink::Listener listener) {
    listeners_.erase(map);
    if (listener.on_message) listeners_.emplace(map, std::move(listener));
  }
  void Receive(ByteView message) const {
    for (const auto& [map, listener] : listeners_) listener.on_message(message);
  }
  void Fail(const Error& error) const {
    for (const auto& [map, listener] : listeners_) listener.on_failure(error);
  }

 private:
  std::map<uint32_t, RootLink::Listener> listeners_;
};

}  // namespace muster
