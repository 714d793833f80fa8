#include "comm/rendezvous/tcp_store/client.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "comm/base/parse.h"
#include "comm/rendezvous/tcp_store/fields.h"

namespace muster::tcp_store {
namespace {

// Time limit for a server to confirm a cancelled wait: the server is known to run.
constexpr Duration kCancelTime = std::chrono::seconds(10);
constexpr size_t kReadAtOnce = 64 * 1024;
constexpr size_t kSentAtOnce = 1024 * 1024;

std::string OnWire(std::string_view key) { return "/" + std::string(key); }

std::string Named(std::string_view verb, std::string_view key) { return fmt::format("{} \"{}\"", verb, key); }

}  // namespace

Result<std::optional<Answer>> DecodeAnswer(ByteView input, Operation operation, const Limits& limits) {
  FieldScanner scanner;
  Answer answer;
  bool whole = false;
  if (operation == Operation::kGet) {
    FieldScanner::Place place;
    MUSTER_TRY(whole, scanner.Text(input, limits.message, "value", place));
    if (whole) answer.text = place.In(input);
  } else if (operation == Operation::kNumKeys) {
    whole = scanner.Integer(input, answer.number);
  } else {
    uint8_t status = 0;
    whole = scanner.Integer(input, status);
    answer.number = status;
  }
  if (!whole) return std::nullopt;
  answer.size = scanner.position();
  return answer;
}

Result<std::unique_ptr<Client>> Client::Connect(const net::SocketAddress& address, Deadline deadline) {
  MUSTER_TRY(UniqueFd fd, net::StartConnect(address));
  std::unique_ptr<Client> client(new Client(std::move(fd), address.ToString()));
  MUSTER_CHECK(client->Await(POLLOUT, "connect", deadline));
  if (const int error = net::ConnectError(client->fd_.get()); error != 0) {
    return Fail(Code::kSystem, "cannot connect to the store at {}: {}", client->peer_, ErrnoText(error));
  }
  const Status greeted = client->Greet(deadline);
  if (greeted) return client;
  const bool silent = greeted.error().code == Code::kDeadline;
  return Fail(
      Code::kDisagreement,
      "what listens at {} takes connections and {}: it is none, or that of PyTorch before 2.2, or it {}",
      client->peer_, silent ? "does not answer as a store" : "closes them instead of answering as a store",
      silent ? "is stopped" : "rejects this process");
}

// VALIDATE, and four times a request that every dialect from 2.2 on answers (not PING: a server before 2.5
// would close the connection). An older store takes these nine bytes for SET and the length of a key. With
// fewer bytes it would wait for the missing ones and serve no other client. It cannot hold a key of that
// length, so it closes the connection immediately.
Status Client::Greet(Deadline deadline) {
  constexpr int kQuestions = 4;
  constexpr std::string_view kWhat = "greet it";
  output_.clear();
  Encode({Operation::kValidate, {}, kValidationNumber}, output_);
  for (int i = 0; i < kQuestions; ++i) Encode({Operation::kNumKeys, {}}, output_);
  MUSTER_CHECK(SendOutput(kWhat, deadline));
  for (int i = 0; i < kQuestions; ++i) {
    MUSTER_CHECK(Receive(Operation::kNumKeys, kWhat, deadline));
  }
  return {};
}

Status Client::Set(std::string_view key, std::string_view value, Deadline deadline) {
  const std::string on_wire = OnWire(key);
  return Send({Operation::kSet, {on_wire, value}}, Named("set", key), deadline);
}

Result<std::string> Client::Get(std::string_view key, Deadline deadline) {
  const std::string on_wire = OnWire(key);
  const std::string what = Named("get", key);
  MUSTER_CHECK(WaitFor({Operation::kWait, {on_wire}}, what, deadline));
  MUSTER_TRY(const Answer answer, Call({Operation::kGet, {on_wire}}, what, deadline));
  return std::string(answer.text);
}

Result<bool> Client::Check(std::string_view key, Deadline deadline) {
  const std::string on_wire = OnWire(key);
  const std::string what = Named("check", key);
  MUSTER_TRY(const Answer answer, Call({Operation::kCheck, {on_wire}}, what, deadline));
  if (answer.number > kNotReady) return Broken(what, "its answer is malformed");
  return answer.number == kReady;
}

Result<Answer> Client::Call(const Request& request, std::string_view what, Deadline deadline) {
  MUSTER_CHECK(Send(request, what, deadline));
  Result<Answer> answer = Receive(request.operation, what, deadline);
  // Half an answer remains: the next answer would not be distinguishable from it.
  if (!answer) fd_.Reset();
  return answer;
}

Status Client::WaitFor(const Request& request, std::string_view what, Deadline deadline) {
  MUSTER_CHECK(Send(request, what, deadline));
  const Result<Answer> answer = Receive(request.operation, what, deadline);
  if (answer && answer->number == kStopWaiting) return {};
  if (answer) return Broken(what, "its answer is malformed");
  if (answer.error().code == Code::kDeadline) MUSTER_CHECK(CancelWait(what));
  return tl::unexpected<Error>(answer.error());
}

// The wait may have ended just before: then that answer comes first.
Status Client::CancelWait(std::string_view what) {
  const Deadline deadline = Deadline::After(kCancelTime);
  MUSTER_CHECK(Send({Operation::kCancelWait, {}}, what, deadline));
  for (int answers = 0; answers < 2; ++answers) {
    const Result<Answer> answer = Receive(Operation::kCancelWait, what, deadline);
    if (!answer) {
      fd_.Reset();
      return tl::unexpected<Error>(answer.error());
    }
    if (answer->number == kWaitCanceled) return {};
  }
  return Broken(what, "its answer is malformed");
}

Status Client::Send(const Request& request, std::string_view what, Deadline deadline) {
  if (!fd_)
    return Fail(Code::kSystem, "cannot {}: the connection to the store at {} was closed", what, peer_);
  output_.clear();
  Encode(request, output_);
  return SendOutput(what, deadline);
}

Status Client::SendOutput(std::string_view what, Deadline deadline) {
  for (size_t sent = 0; sent < output_.size();) {
    const ssize_t count = send(fd_.get(), output_.data() + sent, std::min(output_.size() - sent, kSentAtOnce),
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      sent += static_cast<size_t>(count);
    } else if (errno != EAGAIN && errno != EINTR) {
      return Broken(what, ErrnoText(errno));
    } else if (Status ready = Await(POLLOUT, what, deadline); !ready) {
      fd_.Reset();
      return ready;
    }
  }
  return {};
}

Result<Answer> Client::Receive(Operation operation, std::string_view what, Deadline deadline) {
  input_.erase(input_.begin(), input_.begin() + static_cast<ptrdiff_t>(input_used_));
  input_used_ = 0;
  while (true) {
    const Result<std::optional<Answer>> answer = DecodeAnswer(input_, operation, limits_);
    if (!answer) return Broken(what, answer.error().message);
    if (*answer) {
      input_used_ = (*answer)->size;
      return **answer;
    }
    std::array<uint8_t, kReadAtOnce> chunk;
    const ssize_t count = recv(fd_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (count > 0) {
      input_.insert(input_.end(), chunk.begin(), chunk.begin() + count);
    } else if (count == 0) {
      return Broken(what, "it closed the connection");
    } else if (errno != EAGAIN && errno != EINTR) {
      return Broken(what, ErrnoText(errno));
    } else {
      MUSTER_CHECK(Await(POLLIN, what, deadline));
    }
  }
}

Status Client::Await(short events, std::string_view what, Deadline deadline) {
  const auto start = Clock::now();
  while (true) {
    pollfd one{fd_.get(), events, 0};
    if (poll(&one, 1, deadline.PollMilliseconds()) > 0) return {};
    if (!deadline.Expired()) continue;
    return Fail(Code::kDeadline, "cannot {}: the store at {} gave no answer within {}", what, peer_,
                FormatSeconds(Clock::now() - start));
  }
}

tl::unexpected<Error> Client::Broken(std::string_view what, std::string_view reason) {
  fd_.Reset();
  return Fail(Code::kSystem, "cannot {}: the store at {}: {}", what, peer_, reason);
}

}  // namespace muster::tcp_store
