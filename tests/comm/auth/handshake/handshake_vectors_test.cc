// muster's own code gives what handshake_vectors.py, a second implementation of comm/auth/README.md, has printed.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/auth/bytes_mac.h"
#include "comm/auth/data_seal.h"
#include "comm/auth/handshake/handshake_messages.h"
#include "comm/auth/handshake/key_schedule.h"
#include "comm/auth/member_proof.h"
#include "comm/auth/munge_prover.h"
#include "comm/auth/proof.h"
#include "comm/auth/secret.h"
#include "comm/base/unique_fd.h"
#include "comm/socket/transport/handshake.h"
#include "tests/comm/auth/fake_munge.h"
#include "tests/comm/auth/handshake/handshake_pair.h"
#include "tests/comm/auth/inline_worker.h"

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

  JobSecret Secret() const {
    std::string hex;
    for (const uint8_t byte : (*this)["secret"]) hex += fmt::format("{:02x}", byte);
    return *JobSecret::Parse(hex, "the vector");
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
  EXPECT_EQ(Copy(Secret().Psk().view()), v["psk"]);
  EXPECT_EQ(Copy(AgreeOnKey(AsKey(v["client_secret"]), As<PublicKey>(v["server_key"]))->view()), v["agreed"]);
  EXPECT_EQ(Copy(AgreeOnKey(AsKey(v["server_secret"]), As<PublicKey>(v["client_key"]))->view()), v["agreed"]);
}

TEST_F(HandshakeVectors, Rejects) {
  const std::map<std::string, RejectReason> reasons = {
      {"wrong_meeting", RejectReason::kWrongMeeting}, {"other_version", RejectReason::kOtherVersion},
      {"other_method", RejectReason::kOtherMethod},   {"bad_proof", RejectReason::kBadProof},
      {"no_proof", RejectReason::kNoProof},           {"malformed", RejectReason::kMalformed},
      {"other_clock", RejectReason::kOtherClock}};
  for (const auto& [name, reason] : reasons) {
    EXPECT_EQ(Encode(RejectMessage{kProtocolVersion, AuthMethod::kSecret, reason}),
              (*this)["reject_" + name]);
  }
}

TEST_F(HandshakeVectors, AServerRejectsAnotherMac) {
  const HandshakeVectors& v = *this;
  const auto prover = MakeSecretProver(Secret());
  HandshakeEnd server;
  server.Open(Role::kServer, *prover, AsText(v["meeting_key"]), "client");
  server.handshake->Start();
  Bytes hello = v["hello"];
  hello.back() ^= 1;
  server.handshake->OnMessage(hello);
  ASSERT_EQ(server.sent.size(), 1U);
  EXPECT_EQ(server.TakeSent(), v["reject_bad_proof"]);
}

// One method's messages. The vectors of `secret` have no prefix.
class MethodVectors : public HandshakeVectors, public testing::WithParamInterface<AuthMethod> {
 protected:
  MethodVectors() {
    TheFakeMunge() = FakeMunge();
    switch (GetParam()) {
      case AuthMethod::kMunge:
        prover_ = MakeMungeProver({"", 1000, [] { return Result<MungeApi>(FakeMungeApi()); }, Secret().Psk()},
                                  worker_);
        break;
      case AuthMethod::kSecret:
        prover_ = MakeSecretProver(Secret());
        break;
      default:
        prover_ = MakeNoneProver();
    }
  }

  const Bytes& Of(const std::string& name) const {
    const bool prefixed = GetParam() != AuthMethod::kSecret;
    return (*this)[(prefixed ? std::string(AuthMethodName(GetParam())) + "_" : "") + name];
  }
  // With munge: the one credential of the fake.
  Bytes OwnProof() const {
    return Copy(AsBytes(GetParam() == AuthMethod::kMunge ? std::string_view("MUNGE:fake:") : ""));
  }
  std::string MungePayload(const std::string& sender, const Digest& transcript) const {
    Bytes payload = (*this)["munge_" + sender + "_payload"];
    std::ranges::copy(transcript, payload.end() - 32);
    return std::string(AsText(payload));
  }
  Bytes ClearAnswer() const {
    return Encode(AnswerMessage{kProtocolVersion, GetParam(), As<HandshakeNonce>((*this)["server_nonce"]),
                                As<PublicKey>((*this)["server_key"])});
  }
  // As muster's side derives them, with the vectors' secret of the other side.
  KeySchedule Keys(const std::string& secret, ByteView public_key, const Digest& transcript) const {
    const auto agreed = AgreeOnKey(AsKey((*this)[secret]), As<PublicKey>(Copy(public_key)));
    return {*agreed, prover_->psk(), transcript};
  }
  KeySchedule Keys() const {
    return Keys("client_secret", (*this)["server_key"], TranscriptHash(Of("hello"), ClearAnswer()));
  }
  void Open(Role role, HandshakeEnd& end) {
    end.Open(role, *prover_, AsText((*this)["meeting_key"]), "peer");
    end.handshake->Start();
  }
  // Both directions of the channel that muster's side has at the end.
  static void ExpectTraffic(HandshakeEnd& end, SealedChannel peer) {
    ASSERT_EQ(end.outcome(), Outcome::kDone) << end.error();
    SealedChannel& own = *end.result->channel;
    EXPECT_EQ(peer.opener.Open(own.sealer.Seal(AsBytes("a frame"))).value_or(Bytes()),
              Copy(AsBytes("a frame")));
    EXPECT_EQ(own.opener.Open(peer.sealer.Seal(AsBytes("a frame"))).value_or(Bytes()),
              Copy(AsBytes("a frame")));
  }

  InlineWorker worker_;
  std::unique_ptr<Prover> prover_;
};

INSTANTIATE_TEST_SUITE_P(All, MethodVectors,
                         testing::Values(AuthMethod::kMunge, AuthMethod::kSecret, AuthMethod::kNone),
                         [](const auto& method) { return std::string(AuthMethodName(method.param)); });

TEST_P(MethodVectors, Hello) {
  const HandshakeVectors& v = *this;
  HelloMessage hello{kProtocolVersion, GetParam(), As<MeetingId>(v["meeting"]),
                     As<HandshakeNonce>(v["client_nonce"]), As<PublicKey>(v["client_key"])};
  if (GetParam() != AuthMethod::kNone) hello.mac = HelloMac(prover_->psk(), Encode(hello));
  EXPECT_EQ(Encode(hello), Of("hello"));
}

TEST_P(MethodVectors, AnswerProofAndVerdict) {
  EXPECT_EQ(Copy(TranscriptHash(Of("hello"), ClearAnswer())), Of("transcript"));
  SealedChannel server = Keys().HandshakeChannel(Role::kServer, "client");
  Bytes answer = ClearAnswer();
  std::ranges::copy(server.sealer.Seal(OwnProof()), std::back_inserter(answer));
  EXPECT_EQ(answer, Of("answer"));
  SealedChannel client = Keys().HandshakeChannel(Role::kClient, "server");
  EXPECT_EQ(EncodeSealed(MessageType::kProof, client.sealer.Seal(OwnProof())), Of("proof"));
  EXPECT_EQ(EncodeSealed(MessageType::kVerdict, server.sealer.Seal(EncodeVerdict({true, {}, {}}))),
            Of("verdict"));
}

TEST_P(MethodVectors, Refusal) {
  SealedChannel server = Keys().HandshakeChannel(Role::kServer, "client");
  server.sealer.Seal({});
  EXPECT_EQ(EncodeSealed(MessageType::kVerdict,
                         server.sealer.Seal(EncodeVerdict({false, "it runs as uid 7", "use one user"}))),
            Of("refusal"));
}

TEST_P(MethodVectors, FramesAfterIt) {
  SealedChannel client = Keys().TrafficChannel(Role::kClient, "server");
  SealedChannel server = Keys().TrafficChannel(Role::kServer, "client");
  EXPECT_EQ(client.sealer.Seal(AsBytes("a frame")), Of("client_frame"));
  EXPECT_EQ(server.sealer.Seal(AsBytes("a frame")), Of("server_frame"));
  EXPECT_EQ(*client.opener.Open(Of("server_frame")), Copy(AsBytes("a frame")));
}

// Muster's server, with its own nonce and key, and a client of the page.
TEST_P(MethodVectors, AServerTakesTheHelloAndAnswersInItsTranscript) {
  HandshakeEnd server;
  Open(Role::kServer, server);
  server.handshake->OnMessage(Of("hello"));
  ASSERT_EQ(server.sent.size(), 1U) << server.error();
  const Bytes answer = server.TakeSent();
  ASSERT_EQ(answer.size(), Of("answer").size());
  const ByteView clear = ByteView(answer).first(74);
  EXPECT_EQ(Copy(clear.first(10)), Copy(ByteView(Of("answer")).first(10)));
  const Digest transcript = TranscriptHash(Of("hello"), clear);
  const KeySchedule keys = Keys("client_secret", clear.subspan(42), transcript);
  SealedChannel client = keys.HandshakeChannel(Role::kClient, "server");
  const Result<Bytes> proof = client.opener.Open(ByteView(answer).subspan(74));
  ASSERT_TRUE(proof) << proof.error().message;
  EXPECT_EQ(*proof, OwnProof());
  if (GetParam() == AuthMethod::kMunge) {
    EXPECT_EQ(TheFakeMunge().payload, MungePayload("server", transcript));
    TheFakeMunge().payload = MungePayload("client", transcript);
  }
  server.handshake->OnMessage(EncodeSealed(MessageType::kProof, client.sealer.Seal(OwnProof())));
  ASSERT_EQ(server.sent.size(), 1U) << server.error();
  const Bytes verdict = server.TakeSent();
  EXPECT_EQ(Copy(ByteView(verdict).first(7)), Copy(ByteView(Of("verdict")).first(7)));
  EXPECT_EQ(client.opener.Open(ByteView(verdict).subspan(7)).value_or(Bytes()),
            EncodeVerdict({true, {}, {}}));
  ExpectTraffic(server, keys.TrafficChannel(Role::kClient, "server"));
}

// Muster's client, with its own nonce and key, and a server of the page.
TEST_P(MethodVectors, AClientSendsTheHelloAndProvesItselfInItsTranscript) {
  HandshakeEnd client;
  Open(Role::kClient, client);
  ASSERT_EQ(client.sent.size(), 1U) << client.error();
  const Bytes hello = client.TakeSent();
  ASSERT_EQ(hello.size(), Of("hello").size());
  EXPECT_EQ(Copy(ByteView(hello).first(26)), Copy(ByteView(Of("hello")).first(26)));
  const ByteView without_mac = ByteView(hello).first(90);
  if (GetParam() != AuthMethod::kNone) {
    EXPECT_EQ(Copy(ByteView(hello).subspan(90)), Copy(HelloMac((*this)["psk"], without_mac)));
  }
  const Digest transcript = TranscriptHash(hello, ClearAnswer());
  const KeySchedule keys = Keys("server_secret", without_mac.subspan(58), transcript);
  SealedChannel server = keys.HandshakeChannel(Role::kServer, "client");
  Bytes answer = ClearAnswer();
  std::ranges::copy(server.sealer.Seal(OwnProof()), std::back_inserter(answer));
  TheFakeMunge() = {.payload = MungePayload("server", transcript), .uid = 1000, .only_for = 1000};
  client.handshake->OnMessage(answer);
  ASSERT_EQ(client.sent.size(), 1U) << client.error();
  const Bytes proof = client.TakeSent();
  EXPECT_EQ(Copy(ByteView(proof).first(7)), Copy(ByteView(Of("proof")).first(7)));
  const Result<Bytes> opened = server.opener.Open(ByteView(proof).subspan(7));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(*opened, OwnProof());
  if (GetParam() == AuthMethod::kMunge) {
    EXPECT_EQ(TheFakeMunge().payload, MungePayload("client", transcript));
  }
  client.handshake->OnMessage(
      EncodeSealed(MessageType::kVerdict, server.sealer.Seal(EncodeVerdict({true, {}, {}}))));
  ExpectTraffic(client, keys.TrafficChannel(Role::kServer, "client"));
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
