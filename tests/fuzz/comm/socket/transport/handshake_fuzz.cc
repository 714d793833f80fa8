// The proof of a data connection: neither end accepts a peer without the group's key, with any bytes in any
// pieces; with the key, anything but the right answers is refused.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "comm/base/unique_fd.h"
#include "comm/base/wire.h"
#include "comm/socket/transport/handshake.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/value_source.h"

namespace muster::fuzz {
namespace {

struct Pair {
  UniqueFd near;
  UniqueFd far;
};

Pair Connect() {
  int fds[2] = {-1, -1};
  Require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0, "a socket pair");
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

void Write(int fd, ByteView bytes) {
  // The other end may have closed.
  [[maybe_unused]] const ssize_t count = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

socket::GroupMember Member(int rank) {
  socket::GroupMember self{rank, 4, {}, "0123456789abcdef0123456789abcdef"};
  self.key.fill(7);
  return self;
}

void StrangerCalls(ValueSource source) {
  const socket::GroupMember self = Member(1);
  socket::AcceptorHandshake acceptor(self);
  const Pair pair = Connect();
  socket::Shake shake = socket::Shake::kPending;
  while (!source.empty() && shake == socket::Shake::kPending) {
    Write(pair.far.get(), source.Blob());
    shake = acceptor.Advance(pair.near.get());
  }
  Require(shake != socket::Shake::kDone, "a stranger proves nothing");
  Require(shake != socket::Shake::kRejected || !acceptor.reason().empty(), "a rejection has a reason");
}

void StrangerAnswers(ValueSource source) {
  socket::ConnectorHandshake connector(Member(0), {1, socket::Purpose::kCollective, 1});
  const Pair pair = Connect();
  Require(connector.Start(pair.near.get()) == socket::Shake::kDone, "a hello fits");
  socket::Shake shake = socket::Shake::kPending;
  while (!source.empty() && shake == socket::Shake::kPending) {
    Write(pair.far.get(), source.Blob());
    shake = connector.ReadReply(pair.near.get());
  }
  Require(shake != socket::Shake::kDone, "a stranger proves nothing");
}

bool Same(const auth::SecretKey& a, const auth::SecretKey& b) {
  return std::ranges::equal(a.view(), b.view());
}

// Both ends are members; on the way one message may be changed.
void MembersMeet(ValueSource source) {
  const socket::GroupMember self = Member(1);
  const auto purpose = static_cast<socket::Purpose>(1 + source.Below(3));
  const auto communicator = source.Integer<uint64_t>();
  // Both plain, both sealed with either cipher, or apart.
  const auth::CipherSet connector_has = source.Byte() % 4;
  const auth::CipherSet acceptor_has = source.Byte() % 4;
  const bool agree = (connector_has == 0 && acceptor_has == 0) || (connector_has & acceptor_has) != 0;
  socket::AcceptorHandshake acceptor(self, acceptor_has);
  socket::ConnectorHandshake connector(Member(0), {communicator, purpose, 1}, connector_has);
  const Pair from = Connect();
  const Pair to = Connect();
  const size_t changed_message = source.Below(4);
  bool changed = false;
  const auto carry = [&](const UniqueFd& in, const UniqueFd& out, size_t message) {
    std::array<uint8_t, 256> bytes{};
    const ssize_t count = read(in.get(), bytes.data(), bytes.size());
    Require(count > 0, "message {} was sent", message);
    if (message == changed_message) {
      const size_t at = source.Byte() % static_cast<size_t>(count);
      const uint8_t mask = source.Byte();
      bytes[at] = static_cast<uint8_t>(bytes[at] ^ mask);
      changed = mask != 0;
    }
    Write(out.get(), ByteView(bytes).first(static_cast<size_t>(count)));
  };
  connector.Start(from.near.get());
  carry(from.far, to.far, 0);
  if (acceptor.Advance(to.near.get()) == socket::Shake::kRejected)
    return Require(changed || !agree, "{}", acceptor.reason());
  carry(to.far, from.far, 1);
  if (connector.ReadReply(from.near.get()) != socket::Shake::kDone)
    return Require(changed, "{}", connector.reason());
  Require(!changed, "a changed hello or reply is noticed");
  connector.Prove(from.near.get());
  carry(from.far, to.far, 2);
  const socket::Shake shake = acceptor.Advance(to.near.get());
  Require((shake == socket::Shake::kDone) == !changed, "a changed proof is noticed");
  Require(changed || acceptor.key() == socket::LinkKey{acceptor.key().communicator, purpose, 0},
          "both mean the same link");
  if (changed) return;
  const auto ours = acceptor.Keys();
  const auto theirs = connector.Keys();
  Require(ours.has_value() == theirs.has_value() && ours.has_value() == (connector_has != 0),
          "sealed where that was asked for");
  if (!ours) return;
  Require(ours->cipher == theirs->cipher && Same(ours->incoming, theirs->outgoing) &&
              Same(ours->outgoing, theirs->incoming) && !Same(ours->incoming, ours->outgoing),
          "the keys fit");
}

void FuzzOne(ByteView input) {
  ValueSource source(input);
  switch (source.Below(3)) {
    case 0:
      return StrangerCalls(source);
    case 1:
      return StrangerAnswers(source);
    default:
      return MembersMeet(source);
  }
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  const Pair pair = Connect();
  socket::ConnectorHandshake connector(Member(0), {1, socket::Purpose::kInquiry, 1});
  Require(connector.Start(pair.near.get()) == socket::Shake::kDone, "a hello");
  Bytes hello(socket::kHelloBytes);
  Require(read(pair.far.get(), hello.data(), hello.size()) == static_cast<ssize_t>(socket::kHelloBytes),
          "a hello");
  Bytes call{0, static_cast<uint8_t>(socket::kHelloBytes)};
  call.insert(call.end(), hello.begin(), hello.end());
  call.push_back(32);
  call.resize(call.size() + 32, 1);
  seeds.push_back(call);
  seeds.push_back({0, 4, 'G', 'E', 'T', ' '});
  Bytes reply{1, socket::kReplyBytes};
  reply.resize(2 + socket::kReplyBytes, 3);
  seeds.push_back(reply);
  for (uint8_t message = 0; message < 4; ++message) {
    seeds.push_back({2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, message, 5, 1});
    seeds.push_back({2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 1, message, 5, 1});
    seeds.push_back({2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 3, message, 0, 3});
  }
  return seeds;
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds}; }

}  // namespace muster::fuzz
