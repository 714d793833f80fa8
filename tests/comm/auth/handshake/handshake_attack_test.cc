// Attacks on the wire against a handshake: none of it ends with keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/auth/handshake/handshake.h"
#include "comm/auth/handshake/handshake_messages.h"
#include "comm/auth/handshake/key_schedule.h"
#include "tests/comm/auth/handshake/handshake_fuzz.h"
#include "tests/comm/auth/handshake/handshake_pair.h"
#include "tests/comm/auth/ticket_prover.h"

namespace muster::auth {
namespace {

constexpr int kMessages = 4;

class AttackTest : public testing::TestWithParam<AuthMethod> {
 protected:
  AttackTest() {
    switch (GetParam()) {
      case AuthMethod::kSecret:
        prover_ = MakeSecretProver(*JobSecret::Generate());
        break;
      case AuthMethod::kMunge:
        prover_ = std::make_unique<TicketProver>();
        break;
      default:
        prover_ = MakeNoneProver();
    }
  }

  // Those of an honest handshake.
  void SetUp() override {
    HandshakePair honest(*prover_, keys_);
    honest.Run();
    seen_ = honest.seen;
    ASSERT_EQ(seen_.size(), static_cast<size_t>(kMessages));
  }

  // The receiver of message `index` must not end with keys, nor must the sender, unless the message was its
  // last.
  static void ExpectFailed(const HandshakePair& pair, int index, const std::string& what) {
    const HandshakeEnd& receiver = index % 2 == 0 ? pair.server : pair.client;
    EXPECT_NE(receiver.outcome(), Outcome::kDone) << what;
    EXPECT_NE(pair.client.outcome(), Outcome::kDone) << what;
    if (index < 3) {
      EXPECT_NE(pair.server.outcome(), Outcome::kDone) << what;
    }
  }

  std::unique_ptr<Prover> prover_;
  EndKeys keys_;  // of all handshakes: that of a recording as well
  std::vector<Bytes> seen_;
};

TEST_P(AttackTest, NoFlippedBitGoesUnnoticed) {
  for (int index = 0; index < kMessages; ++index) {
    const size_t bits = 8 * seen_[static_cast<size_t>(index)].size();
    for (size_t bit = 0; bit < bits; ++bit) {
      HandshakePair pair(*prover_, keys_);
      pair.Run([&](int at, Bytes& message) {
        if (at == index) message[bit / 8] = static_cast<uint8_t>(message[bit / 8] ^ (1U << (bit % 8)));
      });
      ExpectFailed(pair, index, fmt::format("message {}, bit {}", index, bit));
    }
  }
}

TEST_P(AttackTest, NoTruncationOrExtensionGoesUnnoticed) {
  for (int index = 0; index < kMessages; ++index) {
    const size_t size = seen_[static_cast<size_t>(index)].size();
    for (size_t length = 0; length <= size + 17; ++length) {
      if (length == size) continue;
      HandshakePair pair(*prover_, keys_);
      pair.Run([&](int at, Bytes& message) {
        if (at == index) message.resize(length);
      });
      ExpectFailed(pair, index, fmt::format("message {} of {} bytes, cut to {}", index, size, length));
    }
  }
}

TEST_P(AttackTest, NoMessageOfAnotherHandshakeIsTaken) {
  for (int index = 0; index < kMessages; ++index) {
    HandshakePair pair(*prover_, keys_);
    pair.Run([&](int at, Bytes& message) {
      if (at == index) message = seen_[static_cast<size_t>(at)];
    });
    ExpectFailed(pair, index, fmt::format("message {}", index));
  }
}

TEST_P(AttackTest, AWholeRecordedClientIsNotTaken) {
  HandshakePair pair(*prover_, keys_);
  pair.server.handshake->Start();
  pair.server.handshake->OnMessage(seen_[0]);
  pair.server.handshake->OnMessage(seen_[2]);
  EXPECT_EQ(pair.server.outcome(), Outcome::kRejected);
}

TEST_P(AttackTest, AWholeRecordedServerIsNotTaken) {
  HandshakePair pair(*prover_, keys_);
  pair.client.handshake->Start();
  pair.client.handshake->OnMessage(seen_[1]);
  EXPECT_EQ(pair.client.outcome(), Outcome::kRejected);
  pair.client.handshake->OnMessage(seen_[3]);
  EXPECT_EQ(pair.client.outcome(), Outcome::kRejected);
}

TEST_P(AttackTest, AMessageGivenTwiceIsNotTakenTwice) {
  for (int index = 0; index < 3; ++index) {
    HandshakePair pair(*prover_, keys_);
    pair.Run([&](int at, Bytes& message) {
      if (at == index) (index % 2 == 0 ? pair.server : pair.client).handshake->OnMessage(message);
    });
    // The proof's second copy comes after the end of the handshake and is ignored.
    const Outcome expected = index == 2 ? Outcome::kDone : Outcome::kRejected;
    EXPECT_EQ((index == 1 ? pair.client : pair.server).outcome(), expected) << index;
    EXPECT_LE(pair.server.done_calls, 1);
    EXPECT_LE(pair.client.done_calls, 1);
  }
}

TEST_P(AttackTest, OwnMessagesComingBackAreNotTaken) {
  HandshakePair pair(*prover_, keys_);
  pair.Run([&](int at, Bytes& message) {
    if (at != 3) return;
    ASSERT_EQ(pair.seen.size(), 3U);
    // The client's own sealed proof, dressed up as the server's verdict.
    message = pair.seen[2];
    message[6] = static_cast<uint8_t>(MessageType::kVerdict);
  });
  EXPECT_EQ(pair.client.outcome(), Outcome::kRejected);

  HandshakePair mirror(*prover_, keys_);
  mirror.client.handshake->Start();
  const std::optional<HelloMessage> hello = ParseHello(mirror.client.TakeSent());
  ASSERT_TRUE(hello);
  Bytes answer = Encode(AnswerMessage{kProtocolVersion, hello->method, hello->nonce, hello->public_key});
  answer.resize(answer.size() + kSealOverhead);
  mirror.client.handshake->OnMessage(answer);
  EXPECT_EQ(mirror.client.outcome(), Outcome::kRejected);
}

TEST_P(AttackTest, KeysThatMakeTheResultKnownAreRefused) {
  PublicKey one{};
  one[0] = 1;
  for (const PublicKey& weak : {PublicKey{}, one}) {
    HandshakePair pair(*prover_, keys_);
    pair.Run([&](int at, Bytes& message) {
      if (at == 0) std::copy(weak.begin(), weak.end(), message.begin() + kHelloBytesBeforeMac - 32);
    });
    // With a secret the hello's MAC does not fit then.
    EXPECT_EQ(
        pair.server.error(),
        GetParam() == AuthMethod::kSecret
            ? "gpu02:40000 has another job secret than this rank, or the handshake was changed on the way"
            : "gpu02:40000 sent an invalid public key");
    EXPECT_NE(pair.client.outcome(), Outcome::kDone);
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttackTest,
                         testing::Values(AuthMethod::kNone, AuthMethod::kSecret, AuthMethod::kMunge),
                         [](const auto& method) { return std::string(AuthMethodName(method.param)); });

// A process between the two without a secret and a credential, but with keys of its own towards each side.
class ManInTheMiddle {
 public:
  explicit ManInTheMiddle(ByteView psk = {}) : psk_(psk.begin(), psk.end()) {}

  Bytes HelloForServer(ByteView hello) {
    client_hello_.assign(hello.begin(), hello.end());
    HelloMessage own = *ParseHello(hello);
    client_key_ = own.public_key;
    own.public_key = pair_.public_key;
    server_hello_ = Encode(own);
    return server_hello_;
  }
  // The server's proof is read and sealed again for the client.
  std::optional<Bytes> AnswerForClient(ByteView answer) {
    const AnswerMessage theirs = *ParseAnswer(answer);
    SealedChannel with_server =
        Channel(theirs.public_key, TranscriptHash(server_hello_, answer.first(kAnswerBytes)), Role::kClient);
    const Result<Bytes> proof = with_server.opener.Open(answer.subspan(kAnswerBytes));
    if (!proof) return std::nullopt;
    AnswerMessage own = theirs;
    own.public_key = pair_.public_key;
    Bytes message = Encode(own);
    SealedChannel with_client = Channel(client_key_, TranscriptHash(client_hello_, message), Role::kServer);
    const Bytes sealed = with_client.sealer.Seal(*proof);
    message.insert(message.end(), sealed.begin(), sealed.end());
    return message;
  }

 private:
  SealedChannel Channel(const PublicKey& peer, const Digest& transcript, Role own) const {
    return KeySchedule(*AgreeOnKey(pair_.secret, peer), psk_, transcript).HandshakeChannel(own, "victim");
  }

  KeyPair pair_ = MakeKeyPair();
  Bytes psk_;
  Bytes client_hello_;
  Bytes server_hello_;
  PublicKey client_key_{};
};

TEST(ManInTheMiddle, CannotPassOnACredential) {
  TicketProver prover;
  HandshakePair pair(prover, prover);
  ManInTheMiddle man;
  pair.Run([&](int at, Bytes& message) {
    if (at == 0) message = man.HelloForServer(message);
    if (at == 1) {
      const std::optional<Bytes> answer = man.AnswerForClient(message);
      ASSERT_TRUE(answer);
      message = *answer;
    }
  });
  EXPECT_EQ(pair.client.error(), "root:61001 did not prove its identity: a ticket for another handshake");
  EXPECT_EQ(pair.server.outcome(), Outcome::kRejected);
}

TEST(ManInTheMiddle, IsNotEvenAnsweredWithoutTheSecret) {
  const auto prover = MakeSecretProver(*JobSecret::Generate());
  HandshakePair pair(*prover, *prover);
  ManInTheMiddle man;
  pair.Run([&](int at, Bytes& message) {
    if (at == 0) message = man.HelloForServer(message);
    if (at == 1) {
      EXPECT_EQ(TypeOf(message), MessageType::kReject);
    }
  });
  EXPECT_EQ(pair.client.outcome(), Outcome::kRejected);
  EXPECT_EQ(pair.server.outcome(), Outcome::kRejected);
}

TEST(ManInTheMiddle, IsNotKeptOutByNone) {
  // README.md describes `none` so; if this ever fails, that page is wrong.
  const auto prover = MakeNoneProver();
  HandshakePair pair(*prover, *prover);
  ManInTheMiddle man;
  pair.Run([&](int at, Bytes& message) {
    if (at == 0) message = man.HelloForServer(message);
    if (at == 1) message = *man.AnswerForClient(message);
    if (at == 2) {
      EXPECT_EQ(TypeOf(message), MessageType::kProof);
    }
  });
  EXPECT_EQ(pair.seen.size(), 4U);
}

TEST(HandshakeFuzz, SurvivesMutatedHandshakes) {
  const auto prover = MakeNoneProver();
  HandshakePair honest(*prover, *prover);
  honest.Run();
  uint32_t state = 1;
  const auto random = [&state](size_t below) {
    state = state * 1664525U + 1013904223U;
    return static_cast<size_t>(state >> 8) % below;
  };
  for (int round = 0; round < 2000; ++round) {
    Bytes input = FuzzInput(static_cast<uint8_t>(round % 6), honest.seen);
    for (size_t i = random(8); i > 0; --i) input[random(input.size())] = static_cast<uint8_t>(random(256));
    input.resize(input.size() - random(input.size()));
    EXPECT_FALSE(HandshakeFuzzOne(input)) << "round " << round;
  }
}

}  // namespace
}  // namespace muster::auth
