#include "comm/auth/handshake/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sodium.h>

#include "comm/auth/handshake/handshake_messages.h"
#include "comm/auth/secret.h"
#include "tests/comm/auth/handshake/handshake_pair.h"

namespace {
int x25519_operations = 0;
}

// In place of those of libsodium.
int crypto_scalarmult(unsigned char* q, const unsigned char* n, const unsigned char* p) {
  ++x25519_operations;
  return crypto_scalarmult_curve25519(q, n, p);
}
int crypto_scalarmult_base(unsigned char* q, const unsigned char* n) {
  ++x25519_operations;
  return crypto_scalarmult_curve25519_base(q, n);
}

namespace muster::auth {
namespace {

std::unique_ptr<Prover> SecretProver() { return MakeSecretProver(*JobSecret::Generate()); }

// Answers on command, with a given answer.
class SlowProver final : public Prover {
 public:
  AuthMethod method() const override { return AuthMethod::kMunge; }
  ByteView psk() const override { return {}; }
  Pending Make(const std::string&, Role, ByteView, std::function<void(Result<Bytes>)> done) override {
    made = std::move(done);
    return nullptr;
  }
  Pending Check(const std::string&, Role, ByteView, ByteView proof,
                std::function<void(Status)> done) override {
    seen.assign(proof.begin(), proof.end());
    checked = std::move(done);
    return nullptr;
  }

  std::function<void(Result<Bytes>)> made;
  std::function<void(Status)> checked;
  Bytes seen;
};

// Until the server's proof is awaited.
class SlowHandshake : public testing::Test {
 protected:
  SlowHandshake() { pair.Run(); }

  SlowProver client;
  SlowProver server;
  HandshakePair pair{client, server};
};

void ExpectChannelsFit(HandshakePair& pair) {
  ASSERT_TRUE(pair.client.result && pair.client.result->channel);
  ASSERT_TRUE(pair.server.result && pair.server.result->channel);
  SealedChannel& client = *pair.client.result->channel;
  SealedChannel& server = *pair.server.result->channel;
  const Result<Bytes> up = server.opener.Open(client.sealer.Seal(AsBytes("up")));
  ASSERT_TRUE(up) << up.error().message;
  EXPECT_EQ(AsText(*up), "up");
  const Result<Bytes> down = client.opener.Open(server.sealer.Seal(AsBytes("down")));
  ASSERT_TRUE(down) << down.error().message;
  EXPECT_EQ(AsText(*down), "down");
}

void ExpectRejected(const HandshakeEnd& end, const std::string& message, const std::string& hint = "",
                    bool peer_proven = false) {
  ASSERT_TRUE(end.result);
  EXPECT_EQ(end.outcome(), Outcome::kRejected);
  EXPECT_EQ(end.result->outcome, Outcome::kRejected);
  EXPECT_EQ(end.result->error.code, Code::kAuthentication);
  EXPECT_EQ(end.result->error.message, message);
  EXPECT_EQ(end.result->error.hint, hint);
  EXPECT_EQ(end.result->peer_proven, peer_proven);
  EXPECT_FALSE(end.result->channel);
  EXPECT_EQ(end.done_calls, 1);
}

void ExpectStranger(const HandshakeEnd& end, std::string_view reason) {
  ASSERT_TRUE(end.result);
  EXPECT_EQ(end.result->outcome, Outcome::kStranger);
  EXPECT_EQ(end.result->reason, reason);
  EXPECT_FALSE(end.result->channel);
  EXPECT_EQ(end.done_calls, 1);
}

TEST(Handshake, NoneGivesFittingChannels) {
  const auto client = MakeNoneProver();
  const auto server = MakeNoneProver();
  HandshakePair pair(*client, *server);
  pair.Run();
  EXPECT_EQ(pair.client.outcome(), Outcome::kDone);
  EXPECT_EQ(pair.server.outcome(), Outcome::kDone);
  EXPECT_EQ(pair.seen.size(), 4U);
  ExpectChannelsFit(pair);
}

TEST(Handshake, SecretGivesFittingChannels) {
  const Result<JobSecret> secret = JobSecret::Generate();
  ASSERT_TRUE(secret);
  const auto client = MakeSecretProver(*secret);
  const auto server = MakeSecretProver(*secret);
  HandshakePair pair(*client, *server);
  pair.Run();
  ASSERT_TRUE(pair.client.result && pair.server.result);
  EXPECT_TRUE(pair.client.result->peer_proven);
  EXPECT_TRUE(pair.server.result->peer_proven);
  ExpectChannelsFit(pair);
  EXPECT_EQ(pair.client.done_calls, 1);
  EXPECT_EQ(pair.server.done_calls, 1);
}

TEST(Handshake, MessagesAreNeverTheSameTwice) {
  const auto prover = MakeNoneProver();
  HandshakePair first(*prover, *prover);
  HandshakePair second(*prover, *prover);
  first.Run();
  second.Run();
  ASSERT_EQ(first.seen.size(), second.seen.size());
  for (size_t i = 0; i < first.seen.size(); ++i) EXPECT_NE(first.seen[i], second.seen[i]) << "message " << i;
}

// A root serves all its leaders with one key pair, and a leader tries all addresses of the root with one.
TEST(Handshake, TwoOfTheSameKeyPairsHaveOtherKeys) {
  const auto prover = SecretProver();
  EndKeys keys;
  HandshakePair first(*prover, keys);
  HandshakePair second(*prover, keys);
  first.Run();
  second.Run();
  EXPECT_EQ(ParseHello(first.seen[0])->public_key, ParseHello(second.seen[0])->public_key);
  EXPECT_EQ(ParseAnswer(first.seen[1])->public_key, ParseAnswer(second.seen[1])->public_key);
  ExpectChannelsFit(first);
  ExpectChannelsFit(second);
  EXPECT_NE(first.client.result->channel->sealer.Seal(AsBytes("up")),
            second.client.result->channel->sealer.Seal(AsBytes("up")));
  EXPECT_NE(first.server.result->channel->sealer.Seal(AsBytes("down")),
            second.server.result->channel->sealer.Seal(AsBytes("down")));
}

TEST(Handshake, AnotherOfTheSameKeyPairsCostsOneMultiplicationOnEachSide) {
  const auto prover = SecretProver();
  EndKeys keys;
  x25519_operations = 0;
  HandshakePair(*prover, keys).Run();
  EXPECT_EQ(x25519_operations, 4);
  HandshakePair(*prover, keys).Run();
  EXPECT_EQ(x25519_operations, 6);
}

TEST(Handshake, OtherSecretIsNamedOnBothSides) {
  const auto client = SecretProver();
  const auto server = SecretProver();
  HandshakePair pair(*client, *server);
  pair.Run();
  const char* hint =
      "export MUSTER_SECRET once in the batch script, before srun: it must be the same on every rank";
  ExpectRejected(pair.client,
                 "root:61001 has another job secret than this rank, or the handshake was changed on the way",
                 hint);
  ExpectRejected(pair.server,
                 "gpu02:40000 has another job secret than this rank, or the handshake was changed on the way",
                 hint);
}

TEST(Handshake, OtherMethodNamesBoth) {
  const auto client = SecretProver();
  const auto server = MakeNoneProver();
  HandshakePair pair(*client, *server);
  pair.Run();
  ASSERT_EQ(pair.seen.size(), 2U);
  EXPECT_EQ(TypeOf(pair.seen[1]), MessageType::kReject)
      << "the server must not prove itself to another method";
  const char* hint =
      "set rendezvous.auth to the same method on every rank; auto takes munge only on nodes that have its "
      "socket";
  ExpectRejected(pair.client, "root:61001 uses auth none, this rank secret", hint);
  ExpectRejected(pair.server, "gpu02:40000 uses auth secret, this rank none", hint);
}

TEST(Handshake, AServerThatAnswersWithAnotherMethodIsNotFollowed) {
  const auto client = SecretProver();
  const auto server = MakeNoneProver();
  HandshakePair pair(*client, *server);
  // Downgrade on the way: the hello is made to fit the server.
  pair.Run([](int index, Bytes& message) {
    if (index != 0) return;
    message[9] = static_cast<uint8_t>(AuthMethod::kNone);
    message.resize(kHelloBytesBeforeMac);
  });
  EXPECT_EQ(pair.client.error(), "root:61001 uses auth none, this rank secret");
  EXPECT_EQ(pair.client.outcome(), Outcome::kRejected);
  EXPECT_EQ(pair.server.outcome(), Outcome::kRejected);
}

TEST(Handshake, OtherMeetingIsAStrangerForBoth) {
  const auto prover = MakeNoneProver();
  HandshakePair pair(*prover, *prover, "job 7", "job 8");
  pair.Run();
  ExpectStranger(pair.client, "root:61001 belongs to another launch");
  ExpectStranger(pair.server, "gpu02:40000 belongs to another launch");
}

TEST(Handshake, OtherMeetingComesBeforeOtherMethodAndVersion) {
  const auto client = SecretProver();
  const auto server = MakeNoneProver();
  HandshakePair pair(*client, *server, "job 7", "job 8");
  pair.Run([](int index, Bytes& message) {
    if (index == 0) message[7] = 9;
  });
  ExpectStranger(pair.client, "root:61001 belongs to another launch");
}

std::string ThisRank() { return fmt::format("this rank {}", kProtocolVersion); }

TEST(Handshake, OtherVersionNamesBoth) {
  const auto prover = MakeNoneProver();
  HandshakePair pair(*prover, *prover);
  pair.Run([](int index, Bytes& message) {
    // A newer client's hello may be longer; a newer server reports its own version.
    if (index == 0) {
      message[7] = 9;
      message.resize(200);
    } else {
      message[7] = 8;
    }
  });
  const char* hint = "install the same version of muster on every node";
  ExpectRejected(pair.server, "gpu02:40000 speaks muster protocol 9, " + ThisRank(), hint);
  ExpectRejected(pair.client, "root:61001 speaks muster protocol 8, " + ThisRank(), hint);
}

TEST(Handshake, AnAnswerOfAnotherVersionIsRefused) {
  const auto prover = MakeNoneProver();
  HandshakePair pair(*prover, *prover);
  pair.Run([](int index, Bytes& message) {
    if (index == 1) message[7] = 1;
  });
  EXPECT_EQ(pair.client.error(), "root:61001 speaks muster protocol 1, " + ThisRank());
}

TEST(Handshake, AClientOfTheVersionBeforeIsToldBoth) {
  const auto prover = SecretProver();
  HandshakePair pair(*prover, *prover);
  pair.Run([](int index, Bytes& message) {
    if (index != 0) return;
    // Version 1 had no MAC.
    message[7] = 1;
    message.resize(kHelloBytesBeforeMac);
  });
  EXPECT_EQ(pair.server.error(), "gpu02:40000 speaks muster protocol 1, " + ThisRank());
}

TEST(Handshake, AnotherSecretIsRefusedBeforeTheServerProvesItself) {
  const auto client = SecretProver();
  const auto server = SecretProver();
  HandshakePair pair(*client, *server);
  x25519_operations = 0;
  pair.Run();
  EXPECT_EQ(x25519_operations, 1) << "the client's key; an answer would have cost the server more";
  ASSERT_EQ(pair.seen.size(), 2U);
  EXPECT_EQ(TypeOf(pair.seen[1]), MessageType::kReject);
}

TEST(Handshake, AMissingMacIsAnotherSecret) {
  const auto prover = SecretProver();
  HandshakePair pair(*prover, *prover);
  pair.Run([](int index, Bytes& message) {
    if (index == 0) message.resize(kHelloBytesBeforeMac);
  });
  ASSERT_EQ(pair.seen.size(), 2U);
  EXPECT_EQ(TypeOf(pair.seen[1]), MessageType::kReject);
  EXPECT_EQ(pair.server.error(),
            "gpu02:40000 has another job secret than this rank, or the handshake was changed on the way");
}

TEST(Handshake, WhatSpeaksSomethingElseIsAStranger) {
  const auto prover = MakeNoneProver();
  for (const char* said :
       {"", "S", "SSH-2.0-OpenSSH_9.2", "GET / HTTP/1.1\r\n\r\n", "MUSTER", "muster\x01", "MUSTER\x09"}) {
    HandshakePair pair(*prover, *prover);
    pair.client.handshake->Start();
    pair.server.handshake->Start();
    pair.server.handshake->OnMessage(AsBytes(said));
    ExpectStranger(pair.server, "gpu02:40000 is not a muster peer");
    EXPECT_TRUE(pair.server.sent.empty());
    pair.client.handshake->OnMessage(AsBytes(said));
    ExpectStranger(pair.client, "root:61001 is not a muster peer");
  }
}

TEST(Handshake, TwoClientsAndTwoServersPart) {
  const auto prover = MakeNoneProver();
  HandshakePair pair(*prover, *prover);
  HandshakePair other(*prover, *prover);
  pair.client.handshake->Start();
  other.client.handshake->Start();
  pair.client.handshake->OnMessage(other.client.TakeSent());
  ExpectRejected(pair.client, "root:61001 sent a handshake hello out of turn");
  pair.server.handshake->Start();
  pair.server.handshake->OnMessage(EncodeSealed(MessageType::kVerdict, AsBytes("x")));
  ExpectRejected(pair.server, "gpu02:40000 sent a handshake verdict out of turn");
}

TEST(Handshake, AnEchoIsAStranger) {
  const auto prover = MakeNoneProver();
  HandshakePair pair(*prover, *prover);
  pair.client.handshake->Start();
  const Bytes hello = pair.client.TakeSent();
  pair.client.handshake->OnMessage(hello);
  ExpectStranger(pair.client, "root:61001 echoes what it receives");
  pair.server.handshake->Start();
  pair.server.handshake->OnMessage(hello);
  pair.server.handshake->OnMessage(pair.server.TakeSent());
  ExpectStranger(pair.server, "gpu02:40000 echoes what it receives");
}

TEST_F(SlowHandshake, OwnMissingProofIsToldToThePeer) {
  ASSERT_TRUE(server.made);
  server.made(Fail(Error{Code::kAuthentication, "munged does not answer", "start it"}));
  pair.Pump();
  ExpectRejected(pair.server, "this rank cannot prove its identity to gpu02:40000: munged does not answer",
                 "start it");
  ExpectRejected(pair.client, "root:61001 cannot prove its identity by auth munge", "its log has the reason");
}

TEST_F(SlowHandshake, ClocksThatDifferAreNamedOnBothSides) {
  EXPECT_TRUE(pair.server.handshake->WaitsForProver());
  EXPECT_FALSE(pair.client.handshake->WaitsForProver());
  server.made(Bytes{1, 2, 3});
  pair.Pump();
  EXPECT_TRUE(pair.client.handshake->WaitsForProver());
  EXPECT_FALSE(pair.server.handshake->WaitsForProver());
  client.checked(Fail(Error{Code::kAuthentication, "its munge credential has expired", kSetTheClocks}));
  pair.Pump();
  EXPECT_FALSE(pair.client.handshake->WaitsForProver());
  ExpectRejected(pair.client, "root:61001 did not prove its identity: its munge credential has expired",
                 kSetTheClocks);
  ExpectRejected(pair.server,
                 "gpu02:40000 does not accept this rank's proof of identity: their clocks are apart",
                 kSetTheClocks);
}

TEST_F(SlowHandshake, ClientThatDoesNotTakeTheServersProofSaysSo) {
  server.made(Bytes{1, 2, 3});
  pair.Pump();
  EXPECT_EQ(client.seen, (Bytes{1, 2, 3}));
  client.checked(Fail(Error{Code::kAuthentication, "its munge credential is forged", "look"}));
  pair.Pump();
  ExpectRejected(pair.client, "root:61001 did not prove its identity: its munge credential is forged",
                 "look");
  ExpectRejected(pair.server, "gpu02:40000 does not accept this rank's proof of identity",
                 "its log has the reason");
}

TEST_F(SlowHandshake, ServersRefusalReachesTheClientInWords) {
  server.made(Bytes{1});
  pair.Pump();
  client.checked({});
  client.made(Bytes{2});
  pair.Pump();
  EXPECT_EQ(server.seen, Bytes{2});
  server.checked(Fail(Error{Code::kAuthentication, "it runs as\nuid 7", "use one user"}));
  pair.Pump();
  ExpectRejected(pair.server, "gpu02:40000 did not prove its identity: it runs as\nuid 7", "use one user");
  ExpectRejected(pair.client, "root:61001 refused this rank: it runs as uid 7", "use one user",
                 /*peer_proven=*/true);
}

TEST_F(SlowHandshake, AMessageWhileAProofIsPendingIsOutOfTurn) {
  pair.server.handshake->OnMessage(pair.seen[0]);
  ExpectRejected(pair.server, "gpu02:40000 sent a handshake hello out of turn");
  // No process expects the proof that comes now.
  server.made(Bytes{1});
  EXPECT_EQ(pair.server.done_calls, 1);
  EXPECT_EQ(pair.server.sent.size(), 1U);
}

TEST_F(SlowHandshake, MayBeDestroyedWhileAProofIsPending) {
  pair.server.handshake.reset();
  server.made(Bytes{1});
  EXPECT_TRUE(pair.server.sent.empty());
  EXPECT_EQ(pair.server.done_calls, 0);
}

TEST_F(SlowHandshake, MayBeDestroyedWhileTheProofOfThePeerIsLookedAt) {
  server.made(Bytes{1});
  pair.Pump();
  ASSERT_TRUE(client.checked);
  pair.client.handshake.reset();
  client.checked({});
  EXPECT_FALSE(client.made);
  EXPECT_EQ(pair.client.done_calls, 0);
}

TEST(Handshake, MayBeDestroyedByItsCallbacks) {
  const auto prover = MakeNoneProver();
  int done_calls = 0;
  EphemeralKey key;
  std::unique_ptr<Handshake> sending;
  sending = std::make_unique<Handshake>(
      Handshake::Params{Role::kClient, {}, "root"}, *prover, key, [&](const Bytes&) { sending.reset(); },
      [&](const HandshakeResult&) { ++done_calls; });
  sending->Start();
  EXPECT_EQ(sending, nullptr);
  EXPECT_EQ(done_calls, 0);

  std::unique_ptr<Handshake> ending;
  ending = std::make_unique<Handshake>(
      Handshake::Params{Role::kServer, {}, "gpu02"}, *prover, key, [](const Bytes&) {},
      [&](const HandshakeResult&) {
        ++done_calls;
        ending.reset();
      });
  ending->Start();
  ending->OnMessage(AsBytes("SSH-2.0"));
  EXPECT_EQ(ending, nullptr);
  EXPECT_EQ(done_calls, 1);
}

TEST(Handshake, ForbidsWhatIsTooLong) {
  const auto prover = MakeNoneProver();
  HandshakePair pair(*prover, *prover);
  pair.Run([](int index, Bytes& message) {
    if (index == 1) message.resize(kMaxHandshakeMessage + 1);
  });
  ExpectRejected(pair.client, "root:61001 sent a malformed handshake answer");
  ExpectRejected(pair.server, "gpu02:40000 could not read what this rank sent");
}

TEST_F(SlowHandshake, ForbidsAProofThatIsTooLong) {
  server.made(Bytes(kMaxProofBytes + 1));
  pair.Pump();
  EXPECT_EQ(pair.client.error(),
            "root:61001 did not prove its identity: its proof has 65537 bytes, more than 65536");
  EXPECT_FALSE(client.checked);
}

TEST_F(SlowHandshake, TakesTheLongestProof) {
  server.made(Bytes(kMaxProofBytes));
  pair.Pump();
  EXPECT_EQ(client.seen.size(), kMaxProofBytes);
}

TEST(Handshake, AProofWhereNoneIsDueIsRefused) {
  class Talkative final : public Prover {
   public:
    AuthMethod method() const override { return AuthMethod::kNone; }
    ByteView psk() const override { return {}; }
    Pending Make(const std::string&, Role, ByteView, std::function<void(Result<Bytes>)> done) override {
      done(Bytes{1, 2});
      return nullptr;
    }
    Pending Check(const std::string&, Role, ByteView, ByteView, std::function<void(Status)> done) override {
      done({});
      return nullptr;
    }
  } talkative;
  const auto none = MakeNoneProver();
  HandshakePair pair(*none, talkative);
  pair.Run();
  ExpectRejected(pair.client,
                 "root:61001 did not prove its identity: a proof of 2 bytes came where auth none has none");
}

}  // namespace
}  // namespace muster::auth
