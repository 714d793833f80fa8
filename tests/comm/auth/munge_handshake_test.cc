// The whole handshake by munge, with real munged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "comm/auth/handshake/handshake.h"
#include "comm/auth/munge_prover.h"
#include "tests/comm/auth/handshake/handshake_pair.h"
#include "tests/comm/auth/inline_worker.h"
#include "tests/comm/auth/munged.h"

namespace muster::auth {
namespace {

class MungeHandshakeTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Munged>> started = Munged::Start();
    ASSERT_TRUE(started) << ToString(started.error());
    munged = *std::move(started);
    prover = ProverAt(munged->socket());
  }

  std::unique_ptr<Prover> ProverWith(const Result<JobSecret>& secret) {
    MungeProverOptions options;
    options.socket = munged->socket();
    options.uid = geteuid();
    options.psk = secret->Psk();
    return MakeMungeProver(std::move(options), worker);
  }

  std::unique_ptr<Prover> ProverAt(const std::string& socket, uid_t uid = geteuid()) {
    MungeProverOptions options;
    options.socket = socket;
    options.uid = uid;
    return MakeMungeProver(std::move(options), worker);
  }

  InlineWorker worker;
  std::unique_ptr<Munged> munged;
  std::unique_ptr<Prover> prover;
};

TEST_F(MungeHandshakeTest, GivesFittingChannels) {
  HandshakePair pair(*prover, *prover);
  pair.Run();
  ASSERT_EQ(pair.client.outcome(), Outcome::kDone) << pair.client.error();
  ASSERT_EQ(pair.server.outcome(), Outcome::kDone) << pair.server.error();
  const Result<Bytes> opened =
      pair.server.result->channel->opener.Open(pair.client.result->channel->sealer.Seal(AsBytes("up")));
  ASSERT_TRUE(opened);
  EXPECT_EQ(AsText(*opened), "up");
}

TEST_F(MungeHandshakeTest, ASecretIsProvedByTheHello) {
  const auto secret = JobSecret::Generate();
  const auto with_secret = ProverWith(secret);
  HandshakePair pair(*with_secret, *with_secret);
  pair.Run();
  EXPECT_EQ(pair.client.outcome(), Outcome::kDone) << pair.client.error();
  EXPECT_EQ(pair.server.outcome(), Outcome::kDone) << pair.server.error();
}

// The server's answer would have its credential: it makes none.
TEST_F(MungeHandshakeTest, AnotherSecretOrNoneGetsNoCredential) {
  const char* other =
      "root:61001 has another job secret than this rank, or the handshake was changed on the way";
  const auto server = ProverWith(JobSecret::Generate());
  const auto client = ProverWith(JobSecret::Generate());
  HandshakePair pair(*client, *server);
  pair.Run();
  EXPECT_EQ(pair.seen.size(), 2U);  // the hello and a reject
  EXPECT_EQ(pair.client.error(), other);

  HandshakePair without(*prover, *server);
  without.Run();
  EXPECT_EQ(without.seen.size(), 2U);
  EXPECT_EQ(without.client.error(), "root:61001 does not accept this rank's proof of identity");
  EXPECT_EQ(without.server.error(),
            "gpu02:40000 has another job secret than this rank, or the handshake was changed on the way");
}

TEST_F(MungeHandshakeTest, NoCredentialGoesOverTheWireInClear) {
  HandshakePair pair(*prover, *prover);
  pair.Run();
  for (const Bytes& message : pair.seen) EXPECT_EQ(AsText(message).find("MUNGE:"), std::string_view::npos);
}

TEST_F(MungeHandshakeTest, AnotherMungeKeyIsNamed) {
  Result<std::unique_ptr<Munged>> other = Munged::Start();
  ASSERT_TRUE(other) << ToString(other.error());
  const auto elsewhere = ProverAt((*other)->socket());
  HandshakePair pair(*prover, *elsewhere);
  pair.Run();
  EXPECT_EQ(pair.client.outcome(), Outcome::kRejected);
  EXPECT_EQ(
      pair.client.error(),
      "root:61001 did not prove its identity: its munge credential is forged or from a node with another "
      "munge key");
  EXPECT_EQ(pair.server.outcome(), Outcome::kRejected);
  EXPECT_EQ(pair.server.error(), "gpu02:40000 does not accept this rank's proof of identity");
}

TEST_F(MungeHandshakeTest, AnotherUserCannotReadTheServersCredential) {
  // A server of another uid makes its credentials readable for that uid only.
  const auto other_user = ProverAt(munged->socket(), geteuid() + 1);
  HandshakePair pair(*prover, *other_user);
  pair.Run();
  EXPECT_EQ(pair.client.error(),
            "root:61001 did not prove its identity: its munge credential is for another user to read");
  EXPECT_EQ(pair.server.outcome(), Outcome::kRejected);
}

TEST_F(MungeHandshakeTest, ADeadMungedIsTheFaultOfItsOwnNode) {
  munged->Stop();
  HandshakePair pair(*prover, *prover);
  pair.Run();
  EXPECT_THAT(pair.server.error(),
              testing::StartsWith(fmt::format(
                  "this rank cannot prove its identity to gpu02:40000: munged does not answer at {0}: ",
                  munged->socket())));
  EXPECT_EQ(pair.client.error(), "root:61001 cannot prove its identity by auth munge");
}

TEST_F(MungeHandshakeTest, EveryFlippedByteIsNoticed) {
  HandshakePair honest(*prover, *prover);
  honest.Run();
  for (size_t index = 0; index < honest.seen.size(); ++index) {
    for (size_t at = 0; at < honest.seen[index].size(); ++at) {
      HandshakePair pair(*prover, *prover);
      pair.Run([&](int now, Bytes& message) {
        if (now == static_cast<int>(index) && at < message.size())
          message[at] = static_cast<uint8_t>(message[at] ^ 0x10);
      });
      EXPECT_NE(pair.client.outcome(), Outcome::kDone) << "message " << index << ", byte " << at;
    }
  }
}

}  // namespace
}  // namespace muster::auth
