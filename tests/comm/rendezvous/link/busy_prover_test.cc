// The order in which the root's own prover serves its peers, and whose place is free while it is busy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/rendezvous/link/acceptor_fixture.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// Answers on command, as a munge worker that has much to do.
class QueueProver final : public auth::Prover {
 public:
  struct Question {
    std::string source;
    std::weak_ptr<void> wanted;
    std::function<void()> answer;
  };
  AuthMethod method() const override { return AuthMethod::kMunge; }
  ByteView psk() const override { return {}; }
  Pending Make(const std::string& source, auth::Role, ByteView,
               std::function<void(Result<Bytes>)> done) override {
    return Ask(source, [done = std::move(done)] { done(Bytes()); });
  }
  Pending Check(const std::string& source, auth::Role, ByteView, ByteView,
                std::function<void(Status)> done) override {
    return Ask(source, [done = std::move(done)] { done({}); });
  }
  std::vector<Question> questions;

 private:
  Pending Ask(const std::string& source, std::function<void()> answer) {
    Pending pending = std::make_shared<int>(0);
    questions.push_back({source, pending, std::move(answer)});
    return pending;
  }
};

class BusyProverTest : public AuthenticatingAcceptorTest {
 protected:
  BusyProverTest() { prover = std::make_unique<QueueProver>(); }
  std::vector<QueueProver::Question>& questions() { return dynamic_cast<QueueProver&>(*prover).questions; }
};

TEST_F(BusyProverTest, AQuestionIsWithdrawnWithItsConnection) {
  Open();
  UniqueFd stranger = ConnectFrom("127.0.0.7");
  SendHello(stranger);
  ASSERT_TRUE(loop.Until([&] { return questions().size() == 1; }));
  EXPECT_EQ(questions()[0].source, "127.0.0.7");
  EXPECT_FALSE(questions()[0].wanted.expired());
  stranger.Reset();
  ASSERT_TRUE(loop.Until([&] { return questions()[0].wanted.expired(); }));
  questions()[0].answer();
}

// An answer costs curve operations: a flood of first messages from one address must not delay another's.
TEST_F(BusyProverTest, FirstMessagesAreAnsweredInTurnOfTheirAddresses) {
  Open();
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 40; ++i) {
    strangers.push_back(ConnectFrom("127.0.0.7"));
    SendHello(strangers.back());
  }
  const UniqueFd leader = ConnectFrom("127.0.0.8");
  SendHello(leader);
  const auto of_leader = [this] {
    return std::ranges::find(questions(), "127.0.0.8", &QueueProver::Question::source);
  };
  ASSERT_TRUE(loop.Until([&] { return of_leader() != questions().end(); }));
  EXPECT_LE(of_leader() - questions().begin(), 4);
  // Peers that have closed their connections get no answer.
  strangers.clear();
  loop.Settle();
  EXPECT_LE(questions().size(), 8U);
  EXPECT_FALSE(IsClosed(leader));
}

// They hold all places while this side owes them the answer.
TEST_F(BusyProverTest, FirstMessagesOfOneAddressKeepNoOtherOut) {
  Open(seconds(60), 12);
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 40; ++i) {
    strangers.push_back(ConnectFrom("127.0.0.7"));
    SendHello(strangers.back());
  }
  ASSERT_TRUE(loop.Until([&] { return questions().size() >= 12; }));
  const UniqueFd leader = ConnectFrom("127.0.0.8");
  SendHello(leader);
  ASSERT_TRUE(loop.Until([&] { return questions().back().source == "127.0.0.8"; }));
  EXPECT_FALSE(IsClosed(leader));
  EXPECT_FALSE(questions().back().wanted.expired());
}

// Another user of the root's node can take each address of loopback.
TEST_F(BusyProverTest, LoopbackHasOneTurn) {
  source = net::SourceOf;
  Open();
  std::vector<UniqueFd> strangers;
  for (int i = 2; i < 6; ++i) {
    strangers.push_back(ConnectFrom("127.0.0." + std::to_string(i)));
    SendHello(strangers.back());
  }
  ASSERT_TRUE(loop.Until([&] { return questions().size() == 4; }));
  for (const auto& question : questions()) EXPECT_EQ(question.source, "loopback");
}

TEST_F(BusyProverTest, ASecondMessageBeforeTheAnswerEndsTheConnection) {
  const LogCapture log;
  Open();
  const UniqueFd stranger = ConnectFrom("127.0.0.7");
  SendHello(stranger);
  SendHello(stranger);
  ASSERT_TRUE(loop.Until([&] { return IsClosed(stranger); }));
  EXPECT_THAT(log.Text(), HasSubstr("it sent a second message before it had an answer"));
  EXPECT_TRUE(questions().empty());
}

// The deadline is the peer's: while the prover answers others, a process that waits for it loses nothing.
TEST_F(BusyProverTest, WaitingForTheOwnProverIsNotThePeersTime) {
  Open(seconds(2));
  const UniqueFd leader = ConnectAs("");
  SendHello(leader);
  ASSERT_TRUE(loop.Until([&] { return questions().size() == 1; }));
  for (size_t i = 1; i <= 8; ++i) {
    const UniqueFd other = ConnectAs("");
    SendHello(other);
    ASSERT_TRUE(loop.Until([&] { return questions().size() == i + 1; }));
    loop.For(milliseconds(300));
    questions().back().answer();
  }
  EXPECT_FALSE(IsClosed(leader));
  EXPECT_EQ(listener->last_refusal(), "");
  EXPECT_FALSE(questions().front().wanted.expired());
}

}  // namespace
}  // namespace muster::rendezvous
