#include "comm/rendezvous/tcp_store/entrance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::tcp_store {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

class EntranceTest : public testing::Test {
 protected:
  Entrance::Arrival Arrive(ClientId id, const char* host) { return entrance.Arrive(id, host, now); }
  void Greet(ClientId id, const char* host) {
    const Entrance::Arrival arrival = Arrive(id, host);
    EXPECT_FALSE(arrival.refused);
    entrance.Greeted(id);
  }
  // The clients that are asked for now, one after the other.
  std::vector<ClientId> StartOptions() {
    std::vector<ClientId> asked;
    while (const auto question = entrance.NextQuestion(now)) asked.push_back(question->client);
    return asked;
  }

  Clock::time_point now = Clock::now();
  Entrance entrance{{.clients = 6, .questions = 4, .questions_of_host = 2, .clients_of_mute_host = 3}};
};

TEST_F(EntranceTest, AsksOnlyForWhoHasGreeted) {
  Arrive(1, "a");
  EXPECT_THAT(StartOptions(), ElementsAre());
  entrance.Greeted(1);
  entrance.Greeted(1);
  EXPECT_THAT(StartOptions(), ElementsAre(1u));
  EXPECT_THAT(StartOptions(), ElementsAre()) << "once";
}

TEST_F(EntranceTest, HostsTakeTurns) {
  for (const ClientId id : {1, 2, 3, 4}) Greet(id, "a");
  Greet(5, "b");
  EXPECT_THAT(StartOptions(), ElementsAre(1u, 5u, 2u));
  entrance.Answered("a", now);
  EXPECT_THAT(StartOptions(), ElementsAre(3u)) << "in the order of their greetings";
  entrance.Leave(1);
  entrance.Answered("a", now);
  entrance.Answered("b", now);
  EXPECT_THAT(StartOptions(), ElementsAre(4u));
}

TEST_F(EntranceTest, QuestionsAreBoundedInAll) {
  ClientId id = 1;
  for (const char* host : {"a", "b", "c"}) {
    Greet(id++, host);
    Greet(id++, host);
  }
  EXPECT_EQ(StartOptions().size(), 4u);
  entrance.Answered("a", now);
  EXPECT_EQ(StartOptions().size(), 1u);
}

// Else a client that greets and hangs up immediately would cause any number of questions.
TEST_F(EntranceTest, AQuestionIsOpenUntilItIsAnswered) {
  for (ClientId id = 1; id <= 10; ++id) {
    Greet(id, "a");
    EXPECT_EQ(StartOptions().size(), id <= 2 ? 1u : 0u);
    entrance.Leave(id);
  }
  EXPECT_EQ(entrance.size(), 0u) << "what hangs up makes room";
  Greet(11, "a");
  EXPECT_THAT(StartOptions(), ElementsAre());
  entrance.Answered("a", now);
  EXPECT_THAT(StartOptions(), ElementsAre(11u));
}

TEST_F(EntranceTest, TheOldestSilentOfTheHostWithMostGivesWay) {
  Arrive(1, "b");
  for (const ClientId id : {2, 3, 4, 5, 6}) Arrive(id, "a");
  entrance.Greeted(2);
  EXPECT_FALSE(entrance.full());
  EXPECT_EQ(Arrive(7, "b").evicted, 3u);
  EXPECT_EQ(Arrive(8, "b").evicted, 4u);
  EXPECT_EQ(Arrive(9, "b").evicted, 1u);
  EXPECT_EQ(entrance.size(), 6u);
}

TEST_F(EntranceTest, WhoHasGreetedGivesWayToNobody) {
  for (const ClientId id : {1, 2, 3, 4, 5}) Greet(id, "a");
  Arrive(6, "a");
  EXPECT_EQ(entrance.OldestSilent(), 6u);
  EXPECT_FALSE(entrance.full());
  entrance.Greeted(6);
  EXPECT_EQ(entrance.OldestSilent(), std::nullopt);
  EXPECT_TRUE(entrance.full());
  entrance.Leave(3);
  EXPECT_FALSE(entrance.full());
  EXPECT_EQ(StartOptions().size(), 2u);
  entrance.Answered("a", now);
  EXPECT_THAT(StartOptions(), ElementsAre(4u)) << "3 has left";
}

TEST_F(EntranceTest, AHostThatDoesNotAnswerDoesNotKeepTheOthersWaiting) {
  for (const ClientId id : {1, 2, 3}) Greet(id, "a");
  EXPECT_EQ(StartOptions().size(), 2u);
  now += seconds(2);
  Greet(4, "a");
  now += seconds(1);
  EXPECT_TRUE(Arrive(5, "a").refused);
  EXPECT_EQ(entrance.size(), 4u);
  EXPECT_FALSE(Arrive(6, "b").refused);
  entrance.Answered("a", now);
  Greet(7, "a");
}

TEST_F(EntranceTest, WithoutAnAnswerAClientWaitsForItsNextTurnAndItsHostStaysMute) {
  for (const ClientId id : {1, 2, 3}) Greet(id, "a");
  EXPECT_THAT(StartOptions(), ElementsAre(1u, 2u));
  now += seconds(3);
  entrance.Unanswered({1, "a"});
  entrance.Unanswered({2, "a"});
  EXPECT_THAT(StartOptions(), ElementsAre(3u, 1u));
  EXPECT_TRUE(Arrive(4, "a").refused);
  entrance.Leave(2);
  entrance.Answered("a", now);
  entrance.Unanswered({1, "a"});
  EXPECT_THAT(StartOptions(), ElementsAre(1u));
}

TEST_F(EntranceTest, WhoIsNotHereIsNoMatter) {
  entrance.Leave(1);
  entrance.Greeted(1);
  entrance.Answered("a", now);
  EXPECT_EQ(entrance.size(), 0u);
  EXPECT_FALSE(entrance.full());
}

}  // namespace
}  // namespace muster::tcp_store
