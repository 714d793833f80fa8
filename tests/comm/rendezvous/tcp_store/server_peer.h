// A Server on a test's loop, and clients that send it any bytes.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "comm/rendezvous/tcp_store/request.h"
#include "comm/rendezvous/tcp_store/server.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/test_loop.h"

namespace muster::tcp_store {

// Also for what the loop does not know of: the other end's sockets.
[[nodiscard]] inline bool Until(net::TestLoop& loop, const std::function<bool()>& done) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(10));
  while (!done() && !deadline.Expired()) loop->RunOnce(Deadline::After(std::chrono::milliseconds(1)));
  EXPECT_FALSE(deadline.Expired()) << "nothing happened for ten seconds";
  return !deadline.Expired();
}

// A client that sends given bytes, and keeps those that it gets.
class Peer {
 public:
  Peer(net::TestLoop& loop, const net::SocketAddress& address)
      : loop_(loop), fd_(*net::StartConnect(address)) {
    EXPECT_TRUE(Until(loop, [&] { return net::PeerAddress(fd_.get()).family() != AF_UNSPEC; }));
  }
  void Send(const Bytes& bytes) {
    size_t sent = 0;
    ASSERT_TRUE(Until(loop_, [&] {
      sent += SendSome(bytes, sent);
      return sent == bytes.size();
    }));
  }
  // How much the kernel takes now.
  size_t SendSome(const Bytes& bytes, size_t from) {
    const ssize_t count =
        send(fd_.get(), bytes.data() + from, bytes.size() - from, MSG_NOSIGNAL | MSG_DONTWAIT);
    return count > 0 ? static_cast<size_t>(count) : 0;
  }
  void Send(const Request& request) {
    Bytes bytes;
    Encode(request, bytes);
    Send(bytes);
  }
  void Validate() { Send({Operation::kValidate, {}, kValidationNumber}); }

  // Exactly these bytes come, and no more of what is there.
  void Expect(const Bytes& bytes) {
    while (received.size() < bytes.size() && !closed) {
      const size_t before = received.size();
      ASSERT_TRUE(Until(loop_, [&] {
        Receive();
        return received.size() > before || closed;
      }));
    }
    EXPECT_EQ(received, bytes);
    received.clear();
  }
  void ExpectNumber(int64_t number) {
    Bytes bytes;
    PutInteger(number, bytes);
    Expect(bytes);
  }
  void ExpectClosed() {
    ASSERT_TRUE(Until(loop_, [&] {
      Receive();
      return closed;
    }));
    EXPECT_THAT(received, testing::IsEmpty());
  }
  void Receive() {
    std::array<uint8_t, 65536> chunk;
    const ssize_t count = recv(fd_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (count > 0) received.insert(received.end(), chunk.begin(), chunk.begin() + count);
    closed |= count == 0 || (count < 0 && errno != EAGAIN);
  }
  void Hang() { fd_.Reset(); }

  Bytes received;
  bool closed = false;

 private:
  net::TestLoop& loop_;
  UniqueFd fd_;
};

struct ServerTest : testing::Test {
  void Start(ServerOptions options = {}) {
    auto listener = net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", 0));
    ASSERT_TRUE(listener);
    server = std::make_unique<Server>(*loop, *std::move(listener), std::move(options));
    ASSERT_TRUE(server->Start());
  }
  Peer Connect() { return {loop, server->address()}; }
  Peer Client() {
    Peer peer = Connect();
    peer.Validate();
    return peer;
  }

  const LogCapture log;
  net::TestLoop loop;
  std::unique_ptr<Server> server;
};

inline Bytes Text(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace muster::tcp_store
