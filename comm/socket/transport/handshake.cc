#include "comm/socket/transport/handshake.h"

#include <fmt/core.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "comm/base/fields.h"

namespace muster::socket {
namespace {

constexpr uint32_t kMagic = 0x4853554d;  // "MUSH"

uint8_t Number(std::optional<auth::Cipher> cipher) { return cipher ? static_cast<uint8_t>(*cipher) : 0; }

auth::MemberContext ContextOf(const GroupMember& self, const LinkKey& key, int connector, int acceptor,
                              auth::CipherSet offered, std::optional<auth::Cipher> chosen) {
  auth::MemberContext context;
  context.group_key = self.key;
  // An answer made for one purpose must not open a connection for another purpose, or with another seal.
  context.group_id = fmt::format("{}/{:016x}/{}/{}/{}", self.group_id, key.communicator,
                                 static_cast<int>(key.purpose), offered, Number(chosen));
  context.connector_rank = connector;
  context.acceptor_rank = acceptor;
  return context;
}

}  // namespace

Shake FixedMessages::Broken(int error_number) {
  error_number_ = error_number;
  return Shake::kClosed;
}

Shake FixedMessages::Read(int fd, std::span<uint8_t> into) {
  while (got_ < into.size()) {
    const ssize_t got = recv(fd, into.data() + got_, into.size() - got_, 0);
    if (got == 0) return Broken(0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN ? Shake::kPending : Broken(errno);
    got_ += static_cast<size_t>(got);
  }
  got_ = 0;
  return Shake::kDone;
}

Shake FixedMessages::Write(int fd, ByteView message) {
  const ssize_t sent = send(fd, message.data(), message.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(message.size())) return Shake::kDone;
  return Broken(sent < 0 ? errno : EAGAIN);
}

ConnectorHandshake::ConnectorHandshake(const GroupMember& self, const LinkKey& key, auth::CipherSet ciphers)
    : self_(self), key_(key), offered_(ciphers), mine_(auth::MakeChallenge()) {}

Shake ConnectorHandshake::Start(int fd) {
  return messages_.Write(
      fd, EncodeFields(kMagic, self_.rank, key_.peer, key_.purpose, key_.communicator, offered_, mine_));
}

Shake ConnectorHandshake::ReadReply(int fd) {
  if (const Shake shake = messages_.Read(fd, reply_); shake != Shake::kDone) return shake;
  std::copy_n(reply_.begin() + 1, theirs_.size(), theirs_.begin());
  const ByteView answer = ByteView(reply_).subspan(1 + theirs_.size());
  const bool chosen = Choose(reply_[0]);
  context_ = ContextOf(self_, key_, self_.rank, key_.peer, offered_, cipher_);
  const Status proven = auth::CheckAnswer(context_, auth::MemberSide::kAcceptor, mine_, theirs_, answer);
  if (!proven) return Reject(proven.error().message);
  if (!chosen) return Reject(fmt::format("rank {} does not seal its data as this rank does", key_.peer));
  return Shake::kDone;
}

// One of the offered ciphers; 0 only if none was offered.
bool ConnectorHandshake::Choose(uint8_t cipher) {
  if (cipher == 0) return offered_ == 0;
  cipher_ = static_cast<auth::Cipher>(cipher);
  return auth::ChooseCipher(offered_, cipher) == cipher_;
}

Shake ConnectorHandshake::Reject(std::string reason) {
  reason_ = std::move(reason);
  return Shake::kRejected;
}

std::optional<auth::DataKeys> ConnectorHandshake::Keys() const {
  if (!cipher_) return std::nullopt;
  return auth::DeriveDataKeys(context_, auth::MemberSide::kConnector, *cipher_, mine_, theirs_);
}

Shake ConnectorHandshake::Prove(int fd) {
  return messages_.Write(fd, auth::AnswerChallenge(context_, auth::MemberSide::kConnector, mine_, theirs_));
}

Shake ConnectorHandshake::ReadTaken(int fd) {
  if (const Shake shake = messages_.Read(fd, taken_); shake != Shake::kDone) return shake;
  return taken_[0] == 1 ? Shake::kDone : Reject("it does not speak muster's data protocol");
}

Shake AcceptorHandshake::Reject(std::string reason) {
  reason_ = std::move(reason);
  return Shake::kRejected;
}

Shake AcceptorHandshake::ReadHello(int fd) {
  const Shake shake = messages_.Read(fd, hello_);
  FieldReader reader(hello_);
  uint32_t magic = 0;
  reader(magic);
  // A client of another protocol may wait for an answer before it has sent a whole hello.
  const bool begun = shake == Shake::kDone || messages_.got() >= sizeof kMagic;
  if (begun && magic != kMagic) return Reject("it does not speak muster's data protocol");
  if (shake != Shake::kDone) return shake;
  int acceptor = 0;
  reader(key_.peer, acceptor, Between(key_.purpose, Purpose::kCollective, Purpose::kInquiry),
         key_.communicator, offered_, theirs_);
  if (!reader.ok()) return Reject("it does not speak muster's data protocol");
  if (acceptor != self_.rank) return Reject(fmt::format("it expects rank {}", acceptor));
  if (key_.peer < 0 || key_.peer >= self_.size || key_.peer == self_.rank)
    return Reject(fmt::format("it claims to be rank {}", key_.peer));
  cipher_ = auth::ChooseCipher(offered_, ciphers_);
  if (!cipher_ && (offered_ != 0 || ciphers_ != 0))
    return Reject("it does not seal its data as this rank does");
  greeted_ = true;
  return Shake::kDone;
}

Shake AcceptorHandshake::Reply(int fd) {
  mine_ = auth::MakeChallenge();
  context_ = ContextOf(self_, key_, key_.peer, self_.rank, offered_, cipher_);
  const auth::MemberAnswer answer =
      auth::AnswerChallenge(context_, auth::MemberSide::kAcceptor, theirs_, mine_);
  return messages_.Write(fd, EncodeFields(Number(cipher_), mine_, answer));
}

std::optional<auth::DataKeys> AcceptorHandshake::Keys() const {
  if (!cipher_) return std::nullopt;
  return auth::DeriveDataKeys(context_, auth::MemberSide::kAcceptor, *cipher_, theirs_, mine_);
}

Shake AcceptorHandshake::Advance(int fd) {
  if (!greeted_) {
    if (const Shake shake = ReadHello(fd); shake != Shake::kDone) return shake;
    if (const Shake shake = Reply(fd); shake != Shake::kDone) return shake;
  }
  if (const Shake shake = messages_.Read(fd, answer_); shake != Shake::kDone) return shake;
  const Status proven = auth::CheckAnswer(context_, auth::MemberSide::kConnector, theirs_, mine_, answer_);
  return proven ? Shake::kDone : Reject(proven.error().message);
}

Shake AcceptorHandshake::Take(int fd) {
  constexpr std::array<uint8_t, 1> kTaken = {1};
  return messages_.Write(fd, kTaken);
}

}  // namespace muster::socket
