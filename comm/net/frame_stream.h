// Frames over one connected stream socket: u32 length, then the bytes. After Seal() each frame's bytes are
// encrypted and authenticated (comm/auth/sealed_channel.h).
//
// Runs on one EventLoop and its thread. Send never blocks: bytes that the kernel does not take are queued. A
// peer that leaves more than kMostQueued unread loses the connection. Handlers may destroy the stream. The
// stream owns its descriptor.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "comm/auth/sealed_channel.h"
#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/net/event_loop.h"

namespace muster::net {

class FrameStream {
 public:
  using FrameHandler = std::function<void(ByteView frame)>;
  // Bytes. The longest message of a group of 2048 ranks, its roster, has less than 2 MiB; a peer that has not
  // read dozens of them will not read the next one either. One frame may always be queued, however long.
  static constexpr size_t kMostQueued = size_t{64} << 20;
  // Called once. An Error with an empty message: the peer closed the stream or ended, also within a frame or
  // with bytes unread (a reset). The difference depends on timing and carries no information.
  using CloseHandler = std::function<void(const Error& reason)>;

  // `longest_frame` in bytes; a longer one closes the stream before anything is allocated for it.
  FrameStream(EventLoop& loop, UniqueFd fd, size_t longest_frame);
  FrameStream(const FrameStream&) = delete;
  FrameStream& operator=(const FrameStream&) = delete;
  ~FrameStream();

  // Starts to read. Call again to pass the stream to another owner. No handler is called before it returns.
  void Start(FrameHandler on_frame, CloseHandler on_close);
  void Send(ByteView frame);
  // Delivers what has arrived without waiting for the loop.
  void ReadNow() { OnEvents(EPOLLIN); }
  void Seal(auth::Sealer sealer, auth::Opener opener);
  void set_longest_frame(size_t bytes) { longest_frame_ = bytes; }

  bool open() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }
  bool flushed() const { return output_.empty(); }
  Clock::time_point last_received() const { return last_received_; }
  // Sends the queued frames, then closes; no handler is called from now on. For a last message before the
  // end.
  void CloseAfterFlush();
  // The same, but it closes when the peer has closed, however long that takes, and discards the peer's frames
  // until then. The kernel drops its last bytes if the stream is closed before the peer's are read. `on_closed`,
  // if any: once, also within this call. A second call replaces the first one's.
  void CloseAfterPeer(std::function<void()> on_closed = {});

 private:
  enum class Read { kNothing, kSome, kAll };  // kAll: all available bytes
  struct Taken {
    Bytes owner;
    ByteView frame;  // in owner
  };

  void OnEvents(uint32_t events);
  Read ReadSome();
  void MakeRoom(size_t more);
  Taken TakeFrame(size_t length);
  bool DeliverFrames();
  void WriteSome();
  void OnLastFlushed();
  void UpdateInterest();
  void Break(Error reason);
  void Close(const Error& reason);

  EventLoop& loop_;
  UniqueFd fd_;
  size_t longest_frame_;
  FrameHandler on_frame_;
  CloseHandler on_close_;
  std::optional<auth::Sealer> sealer_;
  std::optional<auth::Opener> opener_;
  Bytes input_;
  size_t input_start_ = 0;
  std::deque<Bytes> output_;
  size_t output_sent_ = 0;  // of the first
  size_t queued_ = 0;       // bytes in output_
  bool broken_ = false;     // nothing can be sent; Close follows
  bool closing_ = false;
  bool awaits_peer_ = false;  // if closing_
  Clock::time_point last_received_ = Clock::now();
  // Handlers may destroy the stream: check this after each call of one.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::net
