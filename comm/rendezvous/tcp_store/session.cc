#include "comm/rendezvous/tcp_store/session.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace muster::tcp_store {
namespace {

// A turn ends after this number of requests, or when this number of bytes of answers waits.
constexpr int kRequestsInTurn = 512;
constexpr size_t kAnswersInTurn = 256 * 1024;
constexpr size_t kSentAtOnce = 1024 * 1024;
// Every client has buffers of this size, which are not counted.
constexpr size_t kFreeBuffer = 64 * 1024;
// VALIDATE: the operation and a number.
constexpr size_t kGreeting = 1 + sizeof(uint32_t);

void Append(Bytes& to, ByteView bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

// As auth::kHandshakeMagic, behind a frame's length.
constexpr std::string_view kHandshakeMagic = "MUSTER";
constexpr size_t kMagicAt = sizeof(uint32_t);

// Frees capacity that an unusually large message needed.
void Empty(Bytes& bytes) {
  if (bytes.capacity() > kFreeBuffer) Bytes().swap(bytes);
  bytes.clear();
}

}  // namespace

Session::Session(SessionHost& host, ClientId id, UniqueFd fd, net::SocketAddress peer)
    : host_(host), id_(id), fd_(std::move(fd)), peer_(peer), decoder_(host.limits) {}

Session::~Session() {
  if (fd_) host_.loop.Forget(fd_.get());
  host_.buffers.GiveBack(counted_);
}

Status Session::AwaitGreeting() {
  interest_ = EPOLLIN;
  MUSTER_CHECK(host_.loop.Watch(fd_.get(), interest_,
                                [self = shared_from_this()](uint32_t events) { self->OnEvents(events); }));
  ReadGreeting();
  return {};
}

void Session::ReadGreeting() {
  std::array<uint8_t, kGreeting> bytes{};
  const ssize_t count = recv(fd_.get(), bytes.data(), kGreeting - input_.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return Close({Code::kSystem, ""});
  Append(input_, {bytes.data(), static_cast<size_t>(count)});
  // Not even read to its end: it may claim to be long.
  if (input_[0] != static_cast<uint8_t>(Operation::kValidate)) return Close(DescribeStranger());
  if (input_.size() < kGreeting) return;
  const Result<bool> whole = decoder_.Scan(input_);
  if (!whole || !*whole || decoder_.request().number != kValidationNumber) return Close(DescribeStranger());
  decoder_.Restart();
  Bytes().swap(input_);
  validated_ = true;
  interest_ = EPOLLRDHUP;
  host_.loop.Change(fd_.get(), interest_);
  host_.greeted(id_);
}

// The leaders of another launch may try this port. They send their first message in one piece.
Error Session::DescribeStranger() {
  std::array<uint8_t, kMagicAt + kHandshakeMagic.size()> bytes{};
  std::ranges::copy(input_, bytes.begin());
  if (recv(fd_.get(), bytes.data() + input_.size(), bytes.size() - input_.size(), 0) > 0 &&
      AsText(bytes).substr(kMagicAt) == kHandshakeMagic)
    return {Code::kAuthentication, "it is a process of muster that searches the root of its launch"};
  return {Code::kDisagreement, "it does not begin as a client of PyTorch 2.2 or later does"};
}

void Session::Start(ProgramKeys& keys, int rank) {
  view_.emplace(keys, id_, rank);
  interest_ = EPOLLIN;
  host_.loop.Change(fd_.get(), interest_);
}

void Session::Close(const Error& reason) {
  if (!fd_) return;
  const std::shared_ptr<Session> alive = shared_from_this();
  host_.loop.Forget(fd_.get());
  fd_.Reset();
  view_.reset();
  host_.closed(id_, reason);
}

void Session::OnEvents(uint32_t events) {
  if (!view_) return OnEventsBeforeStart();
  if ((events & EPOLLOUT) != 0) {
    Flush();
    if (yielded_ && output_.size() - output_sent_ < kAnswersInTurn) Resume();
  }
  if (fd_ && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) Read();
  if (fd_) UpdateInterest();
}

// After its greeting nothing is watched but its end.
void Session::OnEventsBeforeStart() {
  if (!validated_) return ReadGreeting();
  Close({Code::kSystem, ""});
}

void Session::Read() {
  const ssize_t count = recv(fd_.get(), host_.received.data(), host_.received.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count < 0 || (count == 0 && send_error_ != 0)) {
    const int error = count < 0 ? errno : send_error_;
    return Close({Code::kSystem, fmt::format("the connection broke: {}", ErrnoText(error))});
  }
  if (count == 0) {
    return Close({Code::kSystem, input_.empty() ? "" : "the connection ended in the middle of a request"});
  }
  const ByteView received(host_.received.data(), static_cast<size_t>(count));
  if (input_.empty()) return TakeTurn(received, false);
  Append(input_, received);
  if (!yielded_) TakeTurn(input_, true);
}

// The remainder of the last turn.
void Session::Resume() {
  yielded_ = false;
  TakeTurn(input_, true);
}

// `is_kept`: `input` is input_.
void Session::TakeTurn(ByteView input, bool is_kept) {
  const Result<size_t> used = ApplyAll(input);
  SendAnswers();
  if (!used) return Close(used.error());
  if (is_kept) {
    input_.erase(input_.begin(), input_.begin() + static_cast<ptrdiff_t>(*used));
  } else {
    Append(input_, input.subspan(*used));
  }
  if (input_.empty()) Empty(input_);
  if (const Status counted = CountBuffers(); !counted) Close(counted.error());
}

// The number of bytes of `input` that were processed.
Result<size_t> Session::ApplyAll(ByteView input) {
  size_t used = 0;
  for (int requests = 0; used < input.size(); ++requests) {
    if (requests == kRequestsInTurn ||
        host_.answers.size() + output_.size() - output_sent_ >= kAnswersInTurn) {
      yielded_ = true;
      break;
    }
    MUSTER_TRY(const bool whole, decoder_.Scan(input.subspan(used)));
    if (!whole) break;
    MUSTER_CHECK(ApplyOne());
    used += decoder_.size();
    decoder_.Restart();
  }
  return used;
}

Status Session::ApplyOne() {
  const Request& request = decoder_.request();
  host_.woken.clear();
  MUSTER_CHECK(view_->Apply(request, host_.answers, host_.woken));
  for (const ClientId client : host_.woken) {
    if (client != id_) {
      host_.wake(client);
    } else {
      host_.answers.push_back(kStopWaiting);
    }
  }
  return {};
}

void Session::Wake() {
  if (!fd_) return;
  const bool was_empty = output_.empty();
  output_.push_back(kStopWaiting);
  if (was_empty) Flush();
  UpdateInterest();
}

void Session::SendAnswers() {
  if (host_.answers.empty()) return;
  const size_t sent = output_.empty() ? SendSome(host_.answers) : 0;
  // A client that never reads everything must not make the part already sent grow without limit.
  if (output_sent_ > output_.size() / 2) {
    output_.erase(output_.begin(), output_.begin() + static_cast<ptrdiff_t>(output_sent_));
    output_sent_ = 0;
  }
  Append(output_, ByteView(host_.answers).subspan(sent));
  Empty(host_.answers);
}

void Session::Flush() {
  output_sent_ += SendSome(ByteView(output_).subspan(output_sent_));
  if (output_sent_ < output_.size()) return;
  Empty(output_);
  output_sent_ = 0;
}

// The number of bytes sent. One call: a fast reader of a long answer must not delay other clients.
size_t Session::SendSome(ByteView bytes) {
  if (bytes.empty()) return 0;
  if (send_error_ != 0) return bytes.size();
  const ssize_t count =
      send(fd_.get(), bytes.data(), std::min(bytes.size(), kSentAtOnce), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count >= 0) return static_cast<size_t>(count);
  if (errno == EAGAIN || errno == EINTR) return 0;
  // The client would take what follows for the bytes that are lost. The end is noticed when the connection is read, after
  // the client's last message.
  send_error_ = errno;
  shutdown(fd_.get(), SHUT_RDWR);
  return bytes.size();
}

Status Session::CountBuffers() {
  const uint64_t held = input_.capacity() + output_.capacity();
  const uint64_t beyond = held > 2 * kFreeBuffer ? held - 2 * kFreeBuffer : 0;
  if (beyond > counted_) MUSTER_CHECK(host_.buffers.Take(beyond - counted_));
  if (beyond < counted_) host_.buffers.GiveBack(counted_ - beyond);
  counted_ = beyond;
  return {};
}

void Session::UpdateInterest() {
  const size_t waiting = output_.size() - output_sent_;
  uint32_t interest = 0;
  if (yielded_ || waiting > 0) interest |= EPOLLOUT;
  if (!yielded_ && waiting < kAnswersInTurn) interest |= EPOLLIN;
  if (interest == interest_) return;
  interest_ = interest;
  host_.loop.Change(fd_.get(), interest);
}

}  // namespace muster::tcp_store
