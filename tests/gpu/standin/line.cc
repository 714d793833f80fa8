#include "tests/gpu/standin/line.h"

#include <sys/socket.h>

#include <algorithm>

#include "tests/gpu/standin/address.h"

namespace muster::standin {
namespace {

constexpr int kInternalError = 3;
constexpr int kRemoteError = 6;

}  // namespace

std::shared_ptr<Line> Line::Open(const std::string& hub) {
  UniqueFd fd = Connect(hub);
  return fd ? std::shared_ptr<Line>(new Line(std::move(fd))) : nullptr;
}

int Line::Run(uint64_t ticket, std::vector<Work> works) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return cut_ || turn_ == ticket; });
    if (cut_) return kInternalError;
  }
  int result = Converse(works);
  const std::lock_guard lock(mutex_);
  if (cut_) result = kInternalError;
  if (result != 0) error_ = result;
  ++turn_;
  changed_.notify_all();
  return result;
}

void Line::Cut() {
  const std::lock_guard lock(mutex_);
  cut_ = true;
  shutdown(fd_.get(), SHUT_RDWR);
  changed_.notify_all();
}

// Everything is said before anything is heard: a Send must not wait for the Recv beside it.
int Line::Converse(std::vector<Work>& works) {
  size_t expected = 0;
  for (Work& work : works) {
    work.request.tag = ++tags_;
    if (!Send(&work.request, sizeof work.request) || !Send(work.send, work.request.payload)) {
      return kRemoteError;
    }
    if (work.request.kind != Kind::kSend) ++expected;
  }
  int result = 0;
  for (; expected > 0; --expected) {
    Answer answer;
    if (!Receive(&answer, sizeof answer)) return kRemoteError;
    const auto work = std::ranges::find(works, answer.tag, [](const Work& one) { return one.request.tag; });
    if (work == works.end() || !Receive(work->receive, answer.payload)) return kRemoteError;
    result = std::max(result, answer.result);
  }
  return result;
}

bool Line::Send(const void* data, size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = send(fd_.get(), at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return true;
}

bool Line::Receive(void* data, size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = recv(fd_.get(), at, bytes, MSG_WAITALL);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace muster::standin
