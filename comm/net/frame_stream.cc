#include "comm/net/frame_stream.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "comm/system/fork_guard.h"

namespace muster::net {
namespace {

constexpr size_t kLengthBytes = 4;
constexpr size_t kReadBytes = 64 * 1024;
constexpr size_t kMostAtOnce = size_t{1} << 20;
// A peer that writes as fast as this process reads must not keep the loop's other work waiting.
constexpr size_t kReadsPerWake = 16;
// More than the kernel keeps for a connection that has ended.
constexpr size_t kMostReadAtTheEnd = size_t{64} << 20;

uint32_t ReadLength(const uint8_t* bytes) {
  return static_cast<uint32_t>(bytes[0]) | static_cast<uint32_t>(bytes[1]) << 8 |
         static_cast<uint32_t>(bytes[2]) << 16 | static_cast<uint32_t>(bytes[3]) << 24;
}

std::array<uint8_t, kLengthBytes> EncodeLength(size_t length) {
  std::array<uint8_t, kLengthBytes> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(length >> (8 * i));
  return bytes;
}

Error Ended() { return {Code::kSystem, ""}; }

// A process that ends with bytes unread resets its connections.
Error Broken(int error) {
  if (error == ECONNRESET || error == EPIPE) return Ended();
  return {Code::kSystem, fmt::format("the connection broke: {}", ErrnoText(error))};
}

bool MayComeLater(int error) { return error == EAGAIN || error == EINTR; }

// Number of bytes of both that the kernel took; -1 with errno: the connection is broken.
ssize_t SendBoth(int fd, ByteView first, ByteView second) {
  std::array<iovec, 2> parts{iovec{const_cast<uint8_t*>(first.data()), first.size()},
                             iovec{const_cast<uint8_t*>(second.data()), second.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t count = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  return count < 0 && MayComeLater(errno) ? 0 : count;
}

}  // namespace

FrameStream::FrameStream(EventLoop& loop, UniqueFd fd, size_t longest_frame)
    : loop_(loop), fd_(std::move(fd)), longest_frame_(longest_frame) {
  if (fd_) CloseInForkedChildren(fd_.get());
}

FrameStream::~FrameStream() {
  *alive_ = false;
  if (!fd_) return;
  loop_.Forget(fd_.get());
  ForgetForForks(fd_.get());
}

void FrameStream::Start(FrameHandler on_frame, CloseHandler on_close) {
  on_frame_ = std::move(on_frame);
  on_close_ = std::move(on_close);
  if (!fd_) return;
  const Status watched = loop_.Watch(fd_.get(), EPOLLIN, [this](uint32_t events) { OnEvents(events); });
  // Later: the caller of Start is not prepared for the loss of the stream.
  if (!watched) {
    return loop_.Post([this, alive = alive_, error = watched.error()] {
      if (*alive) Close(error);
    });
  }
  UpdateInterest();
  // The kernel does not announce again the bytes that came with the previous owner's last frame.
  if (input_.size() - input_start_ >= kLengthBytes) {
    loop_.Post([this, alive = alive_] {
      if (*alive) DeliverFrames();
    });
  }
}

void FrameStream::Seal(auth::Sealer sealer, auth::Opener opener) {
  sealer_.emplace(std::move(sealer));
  opener_.emplace(std::move(opener));
}

void FrameStream::Send(ByteView frame) {
  if (!fd_ || closing_ || broken_) return;
  if (queued_ > kMostQueued) {
    return Break(
        {Code::kPeerLost, fmt::format("it has not read {} MiB that were sent to it", kMostQueued >> 20)});
  }
  const Bytes sealed = sealer_ ? sealer_->Seal(frame) : Bytes{};
  const ByteView body = sealer_ ? ByteView(sealed) : frame;
  const auto length = EncodeLength(body.size());
  const ssize_t taken = output_.empty() ? SendBoth(fd_.get(), length, body) : 0;
  if (taken < 0) return Break(Broken(errno));
  const auto sent = static_cast<size_t>(taken);
  if (sent == length.size() + body.size()) return;
  Bytes& rest = output_.emplace_back();
  rest.reserve(length.size() + body.size() - sent);
  const auto of_length = static_cast<ptrdiff_t>(std::min(sent, length.size()));
  rest.insert(rest.end(), length.begin() + of_length, length.end());
  rest.insert(rest.end(), body.begin() + static_cast<ptrdiff_t>(sent) - of_length, body.end());
  queued_ += rest.size();
  // Another message, or the end of this process, may follow only when the kernel has as much of this one as it takes.
  if (taken > 0) return WriteSome();
  UpdateInterest();
}

void FrameStream::CloseAfterFlush() {
  closing_ = true;
  on_frame_ = nullptr;
  on_close_ = nullptr;
  if (output_.empty()) OnLastFlushed();
}

void FrameStream::CloseAfterPeer(std::function<void()> on_closed) {
  awaits_peer_ = true;
  CloseAfterFlush();
  if (!on_closed) return;
  if (!fd_) return on_closed();
  on_close_ = [on_closed = std::move(on_closed)](const Error&) { on_closed(); };
}

// If the connection is broken the loop reports that.
void FrameStream::OnLastFlushed() {
  if (!awaits_peer_) return Close({});
  if (fd_) shutdown(fd_.get(), SHUT_WR);
  UpdateInterest();
}

// The peer's last frames are delivered before the end; not from within Send, whose callers are not prepared
// for the loss of the stream.
void FrameStream::Break(Error reason) {
  broken_ = true;
  output_.clear();
  output_sent_ = 0;
  queued_ = 0;
  loop_.Post([this, alive = alive_, reason = std::move(reason)] {
    if (!*alive || !fd_) return;
    for (size_t left = kMostReadAtTheEnd / kReadBytes; left > 0 && ReadSome() != Read::kNothing; --left) {
      if (!DeliverFrames()) break;
    }
    if (*alive) Close(reason);
  });
}

void FrameStream::OnEvents(uint32_t events) {
  const std::shared_ptr<bool> alive = alive_;
  if ((events & EPOLLOUT) != 0) WriteSome();
  if (!*alive || !fd_) return;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
    for (size_t left = kReadsPerWake; left > 0; --left) {
      const Read read = ReadSome();
      if (read == Read::kNothing || !DeliverFrames() || read == Read::kAll) return;
    }
  }
}

FrameStream::Read FrameStream::ReadSome() {
  if (!fd_) return Read::kNothing;
  // On the stack, so that a thousand idle streams hold no buffers.
  std::array<uint8_t, kReadBytes> chunk;
  const ssize_t count = recv(fd_.get(), chunk.data(), chunk.size(), 0);
  if (count > 0) {
    MakeRoom(static_cast<size_t>(count));
    input_.insert(input_.end(), chunk.begin(), chunk.begin() + count);
    last_received_ = Clock::now();
    // The loop announces later bytes again, and the end as well.
    return static_cast<size_t>(count) < chunk.size() ? Read::kAll : Read::kSome;
  }
  if (count < 0 && MayComeLater(errno)) return Read::kNothing;
  Close(count < 0 ? Broken(errno) : Ended());
  return Read::kNothing;
}

// For `more` bytes, or immediately for all of the frame that has begun; not for a length that is only
// announced.
void FrameStream::MakeRoom(size_t more) {
  if (input_.size() - input_start_ < kLengthBytes) return;
  const size_t length = ReadLength(input_.data() + input_start_);
  if (length > std::min(longest_frame_, kMostAtOnce)) return;
  input_.reserve(std::max(input_.size() + more, input_start_ + kLengthBytes + length));
}

// False when the stream is gone or closed.
bool FrameStream::DeliverFrames() {
  const std::shared_ptr<bool> alive = alive_;
  while (input_.size() - input_start_ >= kLengthBytes) {
    const size_t length = ReadLength(input_.data() + input_start_);
    if (length > longest_frame_) {
      Close(
          {Code::kAuthentication, fmt::format("a message of {} bytes is longer than allowed here", length)});
      return false;
    }
    if (input_.size() - input_start_ < kLengthBytes + length) break;
    const Taken taken = TakeFrame(length);
    Result<Bytes> opened = opener_ ? opener_->Open(taken.frame) : Bytes{};
    if (!opened) {
      Close(opened.error());
      return false;
    }
    // A copy: the handler may pass the stream to another owner.
    const FrameHandler handler = on_frame_;
    if (handler) handler(opener_ ? ByteView(*opened) : taken.frame);
    if (!*alive) return false;
    if (!fd_) return false;
  }
  input_.erase(input_.begin(), input_.begin() + static_cast<ptrdiff_t>(input_start_));
  input_start_ = 0;
  return true;
}

// The next frame, off the input. With nothing behind it, as a long one mostly is, it takes the buffer along.
FrameStream::Taken FrameStream::TakeFrame(size_t length) {
  const size_t start = input_start_ + kLengthBytes;
  Taken taken;
  if (start + length == input_.size()) {
    taken.owner = std::exchange(input_, {});
    taken.frame = ByteView(taken.owner).subspan(start);
    input_start_ = 0;
    return taken;
  }
  const auto begin = input_.begin() + static_cast<ptrdiff_t>(start);
  taken.owner.assign(begin, begin + static_cast<ptrdiff_t>(length));
  taken.frame = taken.owner;
  input_start_ = start + length;
  return taken;
}

void FrameStream::WriteSome() {
  while (fd_ && !output_.empty()) {
    const Bytes& front = output_.front();
    const ssize_t count = send(fd_.get(), front.data() + output_sent_, front.size() - output_sent_,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) {
      if (!MayComeLater(errno)) Break(Broken(errno));
      break;
    }
    output_sent_ += static_cast<size_t>(count);
    if (output_sent_ == front.size()) {
      queued_ -= front.size();
      output_.pop_front();
      output_sent_ = 0;
    }
  }
  if (closing_ && output_.empty()) return OnLastFlushed();
  UpdateInterest();
}

void FrameStream::UpdateInterest() {
  if (!fd_) return;
  const uint32_t output_interest = output_.empty() ? 0U : static_cast<uint32_t>(EPOLLOUT);
  loop_.Change(fd_.get(), EPOLLIN | output_interest);
}

void FrameStream::Close(const Error& reason) {
  if (!fd_) return;
  loop_.Forget(fd_.get());
  ForgetForForks(fd_.get());
  fd_.Reset();
  const CloseHandler handler = std::move(on_close_);
  on_close_ = nullptr;
  on_frame_ = nullptr;
  if (handler) handler(reason);
}

}  // namespace muster::net
