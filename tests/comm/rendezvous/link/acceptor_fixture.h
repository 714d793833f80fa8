// An AuthenticatingAcceptor on loopback, with members that connect and peers that are none.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/auth/handshake/handshake_messages.h"
#include "comm/rendezvous/link/authenticating_acceptor.h"
#include "comm/rendezvous/link/root_dialer.h"
#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {

inline const auth::MeetingId kMeeting = auth::MeetingIdOf("root_door_test");

class AuthenticatingAcceptorTest : public testing::Test {
 protected:
  AuthenticatingAcceptorTest() : loopback(*net::SocketAddress::FromNumeric("127.0.0.1", 0)) {}

  void Open(Duration handshake_timeout = std::chrono::seconds(10), size_t most_half_open = 256) {
    listener = std::make_unique<AuthenticatingAcceptor>(
        *loop,
        AuthenticatingAcceptor::Params{kMeeting, handshake_timeout, most_half_open, "this rank", source},
        *prover, [this](std::unique_ptr<net::FrameStream> link, const net::SocketAddress& from) {
          EXPECT_EQ(from.Host(), "127.0.0.1");
          links.push_back(std::move(link));
          links.back()->Start([this](ByteView frame) { heard.emplace_back(AsText(frame)); },
                              [](const Error&) {});
        });
    const auto opened = listener->Open(loopback, {net::FreePort(), net::FreePort(), net::FreePort()});
    ASSERT_TRUE(opened) << opened.error().message;
    port = *opened;
  }
  net::SocketAddress Address() const {
    net::SocketAddress address = loopback;
    address.set_port(port);
    return address;
  }
  RootDialer& Dial(auth::Prover& client_prover, auth::MeetingId meeting = kMeeting) {
    dialers.push_back(std::make_unique<RootDialer>(
        *loop, RootDialer::Params{meeting, std::chrono::seconds(10), std::chrono::seconds(10)}, client_prover,
        [this](std::unique_ptr<net::FrameStream> link) {
          dialed.push_back(std::move(link));
          dialed.back()->Start([this](ByteView frame) { heard.emplace_back(AsText(frame)); },
                               [](const Error&) {});
        },
        [](const Error& error) { ADD_FAILURE() << error.message; }));
    dialers.back()->AddCandidates({Address()});
    return *dialers.back();
  }
  UniqueFd ConnectAs(std::string_view text) {
    auto fd = net::StartConnect(Address());
    EXPECT_TRUE(fd);
    EXPECT_TRUE(loop.Until([&] { return send(fd->get(), text.data(), text.size(), MSG_NOSIGNAL) >= 0; }));
    return *std::move(fd);
  }
  // From another address of loopback.
  UniqueFd ConnectFrom(const std::string& host) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto local = *net::SocketAddress::FromNumeric(host, 0);
    EXPECT_EQ(bind(fd.get(), local.get(), local.length()), 0);
    EXPECT_EQ(connect(fd.get(), Address().get(), Address().length()), 0);
    return fd;
  }
  // In another process; the connections end with it.
  bool ConnectAndStay(int times) {
    static std::vector<UniqueFd> held;
    for (int i = 0; i < times; ++i) held.push_back(ConnectFrom("127.0.0.1"));
    return true;
  }
  // The hello that every process with the meeting's key can send.
  Bytes PlainHello() const {
    return Encode(auth::HelloMessage{
        auth::kProtocolVersion, prover->method(), kMeeting, {}, auth::MakeKeyPair().public_key});
  }
  void SendHello(const UniqueFd& fd) {
    const Bytes message = PlainHello();
    Bytes frame = {static_cast<uint8_t>(message.size()), 0, 0, 0};
    frame.insert(frame.end(), message.begin(), message.end());
    EXPECT_EQ(send(fd.get(), frame.data(), frame.size(), MSG_NOSIGNAL), static_cast<ssize_t>(frame.size()));
  }
  // To a new connection with that hello.
  std::optional<auth::AnswerMessage> AnswerOfTheListener() {
    std::optional<auth::AnswerMessage> answer;
    net::FrameStream stream(*loop, ConnectAs(""), auth::kMaxHandshakeMessage);
    stream.Start([&](ByteView frame) { answer = auth::ParseAnswer(frame); }, [](const Error&) {});
    stream.Send(PlainHello());
    EXPECT_TRUE(loop.Until([&] { return answer.has_value(); }));
    return answer;
  }
  // A connection that the other side has closed reads as its end, or as a reset.
  bool IsClosed(const UniqueFd& fd) {
    char byte = 0;
    const ssize_t count = recv(fd.get(), &byte, 1, MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN);
  }

  net::TestLoop loop;
  net::SocketAddress loopback;
  std::unique_ptr<auth::Prover> prover = auth::MakeNoneProver();
  uint16_t port = 0;
  // Each address of loopback is a node.
  std::function<std::string(const net::SocketAddress&)> source = &net::SocketAddress::Host;
  std::vector<std::unique_ptr<net::FrameStream>> links;
  std::vector<std::unique_ptr<net::FrameStream>> dialed;
  std::vector<std::string> heard;
  std::unique_ptr<AuthenticatingAcceptor> listener;
  std::vector<std::unique_ptr<RootDialer>> dialers;
};

}  // namespace muster::rendezvous
