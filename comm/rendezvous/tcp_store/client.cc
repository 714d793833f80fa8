#include "comm/rendezvous/tcp_store/client.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "comm/base/parse.h"

namespace muster::tcp_store {
namespace {

// How long a server may take to confirm that it has given up a wait: it is known to be there.
constexpr Duration kCancelTime = std::chrono::seconds(10);
constexpr size_t kReadAtOnce = 64 * 1024;
constexpr size_t kSentAtOnce = 1024 * 1024;

std::string OnWire(std::string_view key) { return "/" + std::string(key); }

// Keeps the keys that a request's views are of.
struct KeyedRequest {
  std::vector<std::string> keys;
  Request request;
};

KeyedRequest ForKeys(Operation operation, Client::Keys keys) {
  KeyedRequest keyed;
  keyed.request.operation = operation;
  for (const std::string& key : keys) keyed.keys.push_back(OnWire(key));
  for (const std::string& key : keyed.keys) keyed.request.texts.emplace_back(key);
  return keyed;
}

std::string Named(std::string_view verb, Client::Keys keys) {
  constexpr size_t kShown = 3;
  std::string text(verb);
  for (size_t i = 0; i < std::min(keys.size(), kShown); ++i) {
    text += fmt::format("{} \"{}\"", i == 0 ? "" : ",", keys[i]);
  }
  if (keys.size() > kShown) text += fmt::format(" and {} more", keys.size() - kShown);
  return text;
}

std::string Named(std::string_view verb, std::string_view key) { return fmt::format("{} \"{}\"", verb, key); }

std::vector<std::string> Copies(const std::vector<std::string_view>& texts) {
  return {texts.begin(), texts.end()};
}

}  // namespace

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
      client->peer_, silent ? "does not answer as a store" : "hangs up instead of answering as a store",
      silent ? "is stopped" : "turns this process away");
}

// VALIDATE, and four times a question that every dialect from 2.2 on answers (not PING: a server before 2.5
// would hang up). An older store takes these nine bytes for SET and the length of a key. Were they fewer it
// would wait for the rest, and serve nobody meanwhile; a key of that length it cannot hold: it hangs up at
// once.
Status Client::Greet(Deadline deadline) {
  constexpr int kQuestions = 4;
  constexpr std::string_view kWhat = "greet it";
  output_.clear();
  Encode({Operation::kValidate, {}, kValidationNumber}, output_);
  for (int i = 0; i < kQuestions; ++i) Encode({Operation::kNumKeys, {}}, output_);
  MUSTER_CHECK(SendOutput(kWhat, deadline));
  for (int i = 0; i < kQuestions; ++i) {
    AnswerDecoder decoder(limits_, Operation::kNumKeys);
    MUSTER_CHECK(Receive(decoder, kWhat, deadline));
  }
  return {};
}

Status Client::Set(std::string_view key, std::string_view value, Deadline deadline) {
  const std::string on_wire = OnWire(key);
  return Send({Operation::kSet, {on_wire, value}}, Named("set", key), deadline);
}

Status Client::MultiSet(Keys keys, std::span<const std::string> values, Deadline deadline) {
  if (keys.size() != values.size()) {
    return Fail(Code::kInternal, "{} keys are to be set to {} values", keys.size(), values.size());
  }
  const KeyedRequest keyed = ForKeys(Operation::kMultiSet, keys);
  Request request{Operation::kMultiSet, {}, 0};
  for (size_t i = 0; i < keys.size(); ++i) {
    request.texts.emplace_back(keyed.keys[i]);
    request.texts.emplace_back(values[i]);
  }
  return Send(request, Named("set", keys), deadline);
}

Status Client::Append(std::string_view key, std::string_view value, Deadline deadline) {
  const std::string on_wire = OnWire(key);
  return Send({Operation::kAppend, {on_wire, value}}, Named("append to", key), deadline);
}

Result<std::string> Client::Get(std::string_view key, Deadline deadline) {
  const std::string on_wire = OnWire(key);
  const std::string what = Named("get", key);
  MUSTER_CHECK(WaitFor({Operation::kWait, {on_wire}}, what, deadline));
  MUSTER_TRY(const Answer answer, Call({Operation::kGet, {on_wire}}, what, deadline));
  return std::string(answer.texts[0]);
}

Result<std::vector<std::string>> Client::MultiGet(Keys keys, Deadline deadline) {
  KeyedRequest keyed = ForKeys(Operation::kWait, keys);
  const std::string what = Named("get", keys);
  MUSTER_CHECK(WaitFor(keyed.request, what, deadline));
  keyed.request.operation = Operation::kMultiGet;
  MUSTER_TRY(const Answer answer, Call(keyed.request, what, deadline));
  return Copies(answer.texts);
}

Result<int64_t> Client::Add(std::string_view key, int64_t delta, Deadline deadline) {
  MUSTER_TRY(const Answer answer, CallNumber(Operation::kAdd, key, delta, Named("add to", key), deadline));
  return answer.number;
}

Result<std::string> Client::CompareSet(std::string_view key, std::string_view expected,
                                       std::string_view desired, Deadline deadline) {
  const std::string on_wire = OnWire(key);
  MUSTER_TRY(const Answer answer, Call({Operation::kCompareSet, {on_wire, expected, desired}},
                                       Named("compare and set", key), deadline));
  return std::string(answer.texts[0]);
}

Result<bool> Client::Check(Keys keys, Deadline deadline) {
  const std::string what = Named("check", keys);
  MUSTER_TRY(const Answer answer, Call(ForKeys(Operation::kCheck, keys).request, what, deadline));
  if (answer.number > kNotReady) return Broken(what, "its answer makes no sense");
  return answer.number == kReady;
}

Status Client::Wait(Keys keys, Deadline deadline) {
  return WaitFor(ForKeys(Operation::kWait, keys).request, Named("wait for", keys), deadline);
}

Result<bool> Client::Delete(std::string_view key, Deadline deadline) {
  MUSTER_TRY(const Answer answer, CallNumber(Operation::kDelete, key, 0, Named("delete", key), deadline));
  return answer.number == 1;
}

Result<int64_t> Client::NumKeys(Deadline deadline) {
  MUSTER_TRY(const Answer answer, Call({Operation::kNumKeys, {}}, "count the keys", deadline));
  return answer.number;
}

Result<std::vector<std::string>> Client::ListKeys(Deadline deadline) {
  MUSTER_TRY(const Answer answer, Call({Operation::kListKeys, {}}, "list the keys", deadline));
  std::vector<std::string> keys;
  // What has no slash is not a program's: PyTorch's own count of those that joined.
  for (const std::string_view key : answer.texts) {
    if (key.starts_with('/')) keys.emplace_back(key.substr(1));
  }
  return keys;
}

Status Client::Push(std::string_view key, std::string_view value, Deadline deadline) {
  const std::string on_wire = OnWire(key);
  return Send({Operation::kQueuePush, {on_wire, value}}, Named("push to", key), deadline);
}

Result<std::optional<std::string>> Client::Pop(std::string_view key, bool wait, Deadline deadline) {
  const std::string on_wire = OnWire(key);
  const std::string what = Named("pop from", key);
  if (wait) MUSTER_CHECK(WaitFor({Operation::kWait, {on_wire}}, what, deadline));
  MUSTER_TRY(const Answer answer, Call({Operation::kQueuePop, {on_wire}}, what, deadline));
  if (answer.texts.empty()) return std::nullopt;
  return std::string(answer.texts[0]);
}

Result<int64_t> Client::QueueLength(std::string_view key, Deadline deadline) {
  MUSTER_TRY(const Answer answer, CallNumber(Operation::kQueueLen, key, 0, Named("measure", key), deadline));
  return answer.number;
}

Status Client::Barrier(std::string_view key, int64_t world, Deadline deadline) {
  const std::string on_wire = OnWire(key);
  return WaitFor({Operation::kBarrier, {on_wire}, world}, Named("pass the barrier", key), deadline);
}

Result<Answer> Client::CallNumber(Operation operation, std::string_view key, int64_t number,
                                  std::string_view what, Deadline deadline) {
  const std::string on_wire = OnWire(key);
  return Call({operation, {on_wire}, number}, what, deadline);
}

Result<Answer> Client::Call(const Request& request, std::string_view what, Deadline deadline) {
  MUSTER_CHECK(Send(request, what, deadline));
  AnswerDecoder decoder(limits_, request.operation, request.texts.size());
  Result<Answer> answer = Receive(decoder, what, deadline);
  // Half an answer is left: what comes next could not be told from it.
  if (!answer) fd_.Reset();
  return answer;
}

Status Client::WaitFor(const Request& request, std::string_view what, Deadline deadline) {
  MUSTER_CHECK(Send(request, what, deadline));
  AnswerDecoder decoder(limits_, request.operation);
  const Result<Answer> answer = Receive(decoder, what, deadline);
  if (answer && answer->number == kStopWaiting) return {};
  if (answer) return Broken(what, "its answer makes no sense");
  if (answer.error().code == Code::kDeadline) MUSTER_CHECK(CancelWait(what));
  return tl::unexpected<Error>(answer.error());
}

// The wait may have ended just before: then that is said first.
Status Client::CancelWait(std::string_view what) {
  const Deadline deadline = Deadline::After(kCancelTime);
  MUSTER_CHECK(Send({Operation::kCancelWait, {}}, what, deadline));
  for (int answers = 0; answers < 2; ++answers) {
    AnswerDecoder decoder(limits_, Operation::kCancelWait);
    const Result<Answer> answer = Receive(decoder, what, deadline);
    if (!answer) {
      fd_.Reset();
      return tl::unexpected<Error>(answer.error());
    }
    if (answer->number == kWaitCanceled) return {};
  }
  return Broken(what, "its answer makes no sense");
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

Result<Answer> Client::Receive(AnswerDecoder& decoder, std::string_view what, Deadline deadline) {
  input_.erase(input_.begin(), input_.begin() + static_cast<ptrdiff_t>(input_used_));
  input_used_ = 0;
  while (true) {
    const Result<bool> whole = decoder.Scan(input_);
    if (!whole) return Broken(what, whole.error().message);
    if (*whole) {
      input_used_ = decoder.size();
      return decoder.answer();
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
