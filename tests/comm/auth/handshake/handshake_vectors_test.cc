// muster's own code gives what handshake_vectors.py, a second implementation of comm/auth/README.md, has printed.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "comm/auth/bytes_mac.h"
#include "comm/auth/data_seal.h"
#include "comm/auth/handshake/handshake_messages.h"
#include "comm/auth/handshake/key_schedule.h"
#include "comm/auth/member_proof.h"
#include "comm/auth/secret.h"
#include "comm/base/unique_fd.h"
#include "comm/socket/transport/handshake.h"

namespace muster::auth {
namespace {

Bytes FromHex(const std::string& text) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

template <typename Array>
Array As(const Bytes& bytes) {
  Array array{};
  EXPECT_EQ(bytes.size(), array.size());
  std::copy_n(bytes.begin(), std::min(bytes.size(), array.size()), array.begin());
  return array;
}

SecretKey AsKey(const Bytes& bytes) {
  SecretKey key;
  EXPECT_EQ(bytes.size(), SecretKey::kBytes);
  std::copy_n(bytes.begin(), std::min(bytes.size(), SecretKey::kBytes), key.mutable_view().begin());
  return key;
}

Bytes Copy(ByteView view) { return {view.begin(), view.end()}; }

class HandshakeVectors : public testing::Test {
 public:
  const Bytes& operator[](const std::string& name) const { return vectors_.at(name); }

 protected:
  HandshakeVectors() {
    EXPECT_TRUE(CryptoReady());
    std::ifstream file("tests/comm/auth/handshake/handshake_vectors.txt");
    std::string name;
    std::string hex;
    while (file >> name >> hex) vectors_[name] = FromHex(hex);
    EXPECT_FALSE(vectors_.empty());
  }

  SecretKey Psk() const {
    std::string hex;
    for (const uint8_t byte : (*this)["secret"]) hex += fmt::format("{:02x}", byte);
    return JobSecret::Parse(hex, "the vector")->Psk();
  }
  Bytes ClearAnswer() const {
    return Encode(AnswerMessage{kProtocolVersion, AuthMethod::kSecret,
                                As<HandshakeNonce>((*this)["server_nonce"]),
                                As<PublicKey>((*this)["server_key"])});
  }
  KeySchedule Keys() const {
    return {AsKey((*this)["agreed"]), Psk().view(), TranscriptHash((*this)["hello"], ClearAnswer())};
  }
  MemberContext DataContext(Cipher cipher) const {
    MemberContext context;
    context.group_key = As<std::array<uint8_t, 32>>((*this)["group_key"]);
    context.group_id =
        fmt::format("{}/0000000000000007/1/3/{}", AsText((*this)["group_id"]), static_cast<int>(cipher));
    context.connector_rank = 3;
    context.acceptor_rank = 1;
    return context;
  }
  // The vectors of that name begin with `prefix`.
  void ExpectRecords(Cipher cipher, const std::string& prefix) const {
    const HandshakeVectors& v = *this;
    const DataKeys keys =
        DeriveDataKeys(DataContext(cipher), MemberSide::kConnector, cipher,
                       As<Challenge>(v["connector_nonce"]), As<Challenge>(v["acceptor_nonce"]));
    const std::vector<std::pair<std::string, const SecretKey*>> senders = {{"connector", &keys.outgoing},
                                                                           {"acceptor", &keys.incoming}};
    for (const auto& [sender, key] : senders) {
      RecordSealer sealer(keys.cipher, *key);
      const uint64_t last = key == &keys.outgoing ? kRecordsPerKey : 1;
      Bytes record(AsBytes("a record").size() + kSealOverhead);
      for (uint64_t number = 0; number <= last; ++number) {
        sealer.Seal(AsBytes("a record"), record.data());
        if (number == 0) {
          EXPECT_EQ(record, v[prefix + sender + "_record"]);
        }
        if (number == 1) {
          EXPECT_EQ(record, v[prefix + sender + "_second_record"]);
        }
      }
      if (last == kRecordsPerKey) {
        EXPECT_EQ(record, v[prefix + sender + "_next_key_record"]);
      }
    }
  }

 private:
  std::map<std::string, Bytes> vectors_;
};

TEST_F(HandshakeVectors, MeetingSecretAndAgreedKey) {
  const HandshakeVectors& v = *this;
  EXPECT_EQ(Copy(MeetingIdOf(AsText(v["meeting_key"]))), v["meeting"]);
  EXPECT_EQ(Copy(Psk().view()), v["psk"]);
  EXPECT_EQ(Copy(AgreeOnKey(AsKey(v["client_secret"]), As<PublicKey>(v["server_key"]))->view()), v["agreed"]);
  EXPECT_EQ(Copy(AgreeOnKey(AsKey(v["server_secret"]), As<PublicKey>(v["client_key"]))->view()), v["agreed"]);
}

TEST_F(HandshakeVectors, Hello) {
  const HandshakeVectors& v = *this;
  HelloMessage hello{kProtocolVersion, AuthMethod::kSecret, As<MeetingId>(v["meeting"]),
                     As<HandshakeNonce>(v["client_nonce"]), As<PublicKey>(v["client_key"])};
  hello.mac = HelloMac(Psk().view(), Encode(hello));
  EXPECT_EQ(Encode(hello), v["hello"]);
}

TEST_F(HandshakeVectors, AnswerProofAndVerdict) {
  const HandshakeVectors& v = *this;
  EXPECT_EQ(Copy(TranscriptHash(v["hello"], ClearAnswer())), v["transcript"]);
  SealedChannel server = Keys().HandshakeChannel(Role::kServer, "client");
  Bytes answer = ClearAnswer();
  std::ranges::copy(server.sealer.Seal({}), std::back_inserter(answer));
  EXPECT_EQ(answer, v["answer"]);
  SealedChannel client = Keys().HandshakeChannel(Role::kClient, "server");
  EXPECT_EQ(EncodeSealed(MessageType::kProof, client.sealer.Seal({})), v["proof"]);
  EXPECT_EQ(EncodeSealed(MessageType::kVerdict, server.sealer.Seal(EncodeVerdict({true, {}, {}}))),
            v["verdict"]);
}

TEST_F(HandshakeVectors, FramesAfterIt) {
  const HandshakeVectors& v = *this;
  SealedChannel client = Keys().TrafficChannel(Role::kClient, "server");
  SealedChannel server = Keys().TrafficChannel(Role::kServer, "client");
  EXPECT_EQ(client.sealer.Seal(AsBytes("a frame")), v["client_frame"]);
  EXPECT_EQ(server.sealer.Seal(AsBytes("a frame")), v["server_frame"]);
  EXPECT_EQ(*client.opener.Open(v["server_frame"]), Copy(AsBytes("a frame")));
}

TEST_F(HandshakeVectors, DataConnection) {
  const HandshakeVectors& v = *this;
  const auto connector = As<Challenge>(v["connector_nonce"]);
  const auto acceptor = As<Challenge>(v["acceptor_nonce"]);
  const MemberContext context = DataContext(Cipher::kChaCha20Poly1305);
  EXPECT_EQ(Copy(AnswerChallenge(context, MemberSide::kAcceptor, connector, acceptor)), v["acceptor_answer"]);
  EXPECT_EQ(Copy(AnswerChallenge(context, MemberSide::kConnector, connector, acceptor)),
            v["connector_answer"]);
}

// A rank itself sends and takes these bytes, with its own nonce.
class DataHandshakeVectors : public HandshakeVectors {
 protected:
  DataHandshakeVectors() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    mine_.Reset(ends[0]);
    ranks_.Reset(ends[1]);
  }
  socket::GroupMember Member(int rank) const {
    const HandshakeVectors& v = *this;
    return {rank, 4, As<decltype(socket::GroupMember::key)>(v["group_key"]),
            std::string(AsText(v["group_id"]))};
  }
  Bytes Received() {
    Bytes bytes(200);
    const ssize_t got = recv(mine_.get(), bytes.data(), bytes.size(), 0);
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return bytes;
  }
  void Send(ByteView bytes) {
    EXPECT_EQ(send(mine_.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }

  UniqueFd mine_, ranks_;
};

TEST_F(DataHandshakeVectors, AnAcceptorTakesTheHelloAndAnswersInItsContext) {
  const HandshakeVectors& v = *this;
  const socket::GroupMember self = Member(1);
  socket::AcceptorHandshake acceptor(self, 1);
  Send(v["data_hello"]);
  ASSERT_EQ(acceptor.Advance(ranks_.get()), socket::Shake::kPending);
  const Bytes reply = Received();
  ASSERT_EQ(reply.size(), 1U + 32 + 32);
  ASSERT_EQ(reply[0], static_cast<uint8_t>(Cipher::kChaCha20Poly1305));
  const auto connectors = As<Challenge>(v["connector_nonce"]);
  const auto acceptors = As<Challenge>(Bytes(reply.begin() + 1, reply.begin() + 33));
  const MemberContext context = DataContext(Cipher::kChaCha20Poly1305);
  EXPECT_TRUE(
      CheckAnswer(context, MemberSide::kAcceptor, connectors, acceptors, ByteView(reply).subspan(33)));
  Send(AnswerChallenge(context, MemberSide::kConnector, connectors, acceptors));
  EXPECT_EQ(acceptor.Advance(ranks_.get()), socket::Shake::kDone);
}

TEST_F(DataHandshakeVectors, AConnectorsHelloIsTheSameBeforeItsNonce) {
  const HandshakeVectors& v = *this;
  const socket::GroupMember self = Member(3);
  socket::ConnectorHandshake connector(self, {7, socket::Purpose::kCollective, 1}, 3);
  ASSERT_EQ(connector.Start(ranks_.get()), socket::Shake::kDone);
  const Bytes hello = Received();
  const Bytes& page = v["data_hello"];
  ASSERT_EQ(hello.size(), page.size());
  EXPECT_EQ(Bytes(hello.begin(), hello.end() - 32), Bytes(page.begin(), page.end() - 32));
}

TEST_F(HandshakeVectors, DataRecords) { ExpectRecords(Cipher::kChaCha20Poly1305, ""); }

TEST_F(HandshakeVectors, DataRecordsOfAes) {
  if (!HasAesInstructions()) GTEST_SKIP() << "this processor has no instructions for AES";
  ExpectRecords(Cipher::kAes256Gcm, "aes_");
}

TEST_F(HandshakeVectors, BytesOfCollectives) {
  const HandshakeVectors& v = *this;
  const BytesMac mac(v["group_key"], AsText(v["group_id"]));
  EXPECT_EQ(Copy(mac.Of({BytesOrigin::Phase::kGather, 9, 7, 42, 3}, AsBytes("a pickle"))), v["bytes_mac"]);
}

}  // namespace
}  // namespace muster::auth
