#include "comm/rendezvous/discovery/root_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "comm/rendezvous/link/authenticating_acceptor.h"
#include "comm/rendezvous/link/names.h"
#include "comm/system/descriptor_room.h"
#include "tests/comm/net/name_service.h"
#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;
using testing::StartsWith;

constexpr std::string_view kPending = "the name no such host is still being resolved";

class RootSearchTest : public testing::Test {
 protected:
  void Search(std::vector<std::string> hosts, std::vector<uint16_t> ports,
              std::function<void()> on_own_host = nullptr) {
    Search({std::move(hosts), std::move(ports), std::move(on_own_host)});
  }
  void Search(RootSearch::Where where) {
    search = std::make_unique<RootSearch>(
        *loop, std::move(where), RootDialer::Params{meeting, seconds(10), seconds(10)}, *prover,
        [this](std::unique_ptr<net::FrameStream> found) {
          link = std::move(found);
          link->Start([](ByteView) {}, [](const Error&) {});
        },
        [](const Error& error) { ADD_FAILURE() << error.message; });
  }
  uint16_t RootListensAt(const std::string& host) {
    root = std::make_unique<AuthenticatingAcceptor>(
        *loop, AuthenticatingAcceptor::Params{meeting, seconds(60)}, *prover,
        [this](std::unique_ptr<net::FrameStream> from, const net::SocketAddress&) {
          accepted = std::move(from);
          accepted->Start([](ByteView) {}, [](const Error&) {});
        });
    const uint16_t port = net::FreePort();
    EXPECT_TRUE(root->Open(*net::SocketAddress::FromNumeric(host, 0), {port}));
    return port;
  }

  net::TestLoop loop;
  const auth::MeetingId meeting = auth::MeetingIdOf("root_search_test");
  std::unique_ptr<auth::Prover> prover = auth::MakeNoneProver();
  std::unique_ptr<AuthenticatingAcceptor> root;
  std::unique_ptr<net::FrameStream> accepted;
  std::unique_ptr<net::FrameStream> link;
  std::unique_ptr<RootSearch> search;
};

TEST_F(RootSearchTest, LooksOnEveryHostAndPort) {
  const uint16_t port = RootListensAt("127.0.0.2");
  Search({"no such host", "127.0.0.1", "127.0.0.2"}, {net::FreePort(), port});
  ASSERT_TRUE(loop.Until([&] { return link && accepted; }));
}

TEST_F(RootSearchTest, ANameThatCannotBeResolvedIsReported) {
  Search({"no such host"}, {net::FreePort()});
  ASSERT_TRUE(loop.Until([&] { return search->Problem() != kPending; }));
  EXPECT_THAT(search->Problem(), StartsWith("cannot resolve host \"no such host\": "));
  EXPECT_FALSE(search->rejection());
}

// The loop has not run: no answer has arrived.
TEST_F(RootSearchTest, ANameWithoutAnAnswerIsReported) {
  Search({"gpu01"}, {net::FreePort()});
  EXPECT_EQ(search->Problem(), "the name gpu01 is still being resolved");
  Search({"gpu01", "gpu02", "gpu03"}, {net::FreePort()});
  EXPECT_EQ(search->Problem(), "the names gpu[01-03] are still being resolved");
}

TEST_F(RootSearchTest, ANameThatLeadsNowhereIsSoughtElsewhere) {
  const uint16_t port = RootListensAt("127.0.0.3");
  const auto asked = std::make_shared<std::atomic<int>>(0);
  Search({{"no such host"}, {port}, nullptr, [asked](const std::string& host) {
            ++*asked;
            EXPECT_EQ(host, "no such host");
            return std::vector<net::SocketAddress>{*net::SocketAddress::FromNumeric("127.0.0.3", 0)};
          }});
  ASSERT_TRUE(loop.Until([&] { return link && accepted; }));
  EXPECT_EQ(*asked, 1);
}

// A scheduler that is busy answers nothing.
TEST_F(RootSearchTest, AnEmptyAnswerFromElsewhereIsNotTheLast) {
  const uint16_t port = RootListensAt("127.0.0.3");
  const auto asked = std::make_shared<std::atomic<int>>(0);
  RootSearch::Where where{{"no such host"}, {port}};
  where.elsewhere = [asked](const std::string&) {
    if (++*asked < 2) return std::vector<net::SocketAddress>{};
    return std::vector{*net::SocketAddress::FromNumeric("127.0.0.3", 0)};
  };
  where.elsewhere_again = std::chrono::milliseconds(50);
  Search(std::move(where));
  ASSERT_TRUE(loop.Until([&] { return link && accepted; }));
  EXPECT_EQ(*asked, 2);
}

TEST_F(RootSearchTest, ANameThatLeadsToThisMachineAloneIsSoughtElsewhereToo) {
  const auto asked = std::make_shared<std::atomic<int>>(0);
  Search({{"127.0.1.1"}, {net::FreePort()}, nullptr, [asked](const std::string&) {
            ++*asked;
            return std::vector<net::SocketAddress>{};
          }});
  ASSERT_TRUE(loop.Until([&] { return *asked > 0; }));
  Search({{"192.0.2.1"}, {net::FreePort()}, nullptr, [asked](const std::string&) {
            *asked = 100;
            return std::vector<net::SocketAddress>{};
          }});
  loop.For(std::chrono::milliseconds(1200));
  EXPECT_EQ(*asked, 1);
}

TEST_F(RootSearchTest, SaysOnceThatAHostIsThisMachine) {
  int own = 0;
  Search({"no such host", "127.0.0.1", "127.0.0.1"}, {net::FreePort()}, [&] { ++own; });
  ASSERT_TRUE(loop.Until([&] { return own > 0; }));
  loop.For(std::chrono::milliseconds(50));
  EXPECT_EQ(own, 1);
}

TEST_F(RootSearchTest, AnAddressThatIsOutOfDateIsReplaced) {
  const uint16_t port = RootListensAt("127.0.0.2");
  net::SetName("job-0", "127.0.0.9");
  RootSearch::Where where{{"job-0"}, {port}};
  where.look_up_again = std::chrono::milliseconds(50);
  Search(std::move(where));
  const std::string problem = fmt::format("127.0.0.9:{}: Connection refused", port);
  ASSERT_TRUE(loop.Until([&] { return search->Problem() == problem; }));
  net::SetName("job-0", "127.0.0.2");
  ASSERT_TRUE(loop.Until([&] { return link && accepted; }));
}

// A thousand leaders were one burst each 20 s.
TEST(PauseAfterAnAnswer, SpreadsTheQuestionsOfACrowd) {
  RootSearch::Where where{{"job-0"}, {1}};
  for (int i = 0; i < 100; ++i) {
    EXPECT_GE(PauseAfterAnAnswer(where), seconds(5));
    EXPECT_LE(PauseAfterAnAnswer(where), seconds(5) + std::chrono::milliseconds(20));
  }
  where.crowd = 1000;
  Duration least = PauseAfterAnAnswer(where);
  Duration most = least;
  for (int i = 0; i < 200; ++i) {
    const Duration pause = PauseAfterAnAnswer(where);
    least = std::min(least, pause);
    most = std::max(most, pause);
  }
  EXPECT_GE(least, seconds(20));
  EXPECT_LE(most, seconds(40));
  EXPECT_GE(most - least, seconds(10));
}

TEST_F(RootSearchTest, AnotherMachineIsNotThisOne) {
  int own = 0;
  Search({"192.0.2.1"}, {net::FreePort()}, [&] { ++own; });
  loop.For(std::chrono::milliseconds(200));
  EXPECT_EQ(own, 0);
}

TEST_F(RootSearchTest, WhatTheNetworkSaysIsMoreTelling) {
  const uint16_t port = net::FreePort();
  Search({"no such host", "127.0.0.1"}, {port});
  ASSERT_TRUE(
      loop.Until([&] { return search->Problem() == fmt::format("127.0.0.1:{}: Connection refused", port); }));
}

TEST_F(RootSearchTest, DestroyedWhileItLooksUpItIsForgotten) {
  Search({"127.0.0.1", "no such host"}, {net::FreePort()});
  search.reset();
  loop.Settle();
  Search({"no such host"}, {net::FreePort()});
  ASSERT_TRUE(loop.Until([&] { return search->Problem() != kPending; }));
  // With its next look-up already on the clock.
  search.reset();
  loop.For(std::chrono::milliseconds(1100));
}

// Strangers listen on the first ports of the ladder for ever: they complete connections and send nothing.
class SquattedLadder : public RootSearchTest, public testing::WithParamInterface<size_t> {};

TEST_P(SquattedLadder, TheRootIsFoundBehindIt) {
  ASSERT_TRUE(MakeRoomForDescriptors(GetParam() + 200, "the test"));
  std::vector<UniqueFd> strangers;
  std::vector<uint16_t> ladder;
  for (size_t i = 0; i < GetParam(); ++i) {
    strangers.push_back(*net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", 0)));
    ladder.push_back(net::LocalAddress(strangers.back().get()).port());
  }
  const uint16_t port = RootListensAt("127.0.0.1");
  ladder.push_back(port);
  RootSearch::Where where{{"127.0.0.1"}, {ladder.begin(), ladder.begin() + kLadderLength}};
  where.further_ports = [&] { return std::vector<uint16_t>(ladder.begin() + kLadderLength, ladder.end()); };
  Search(std::move(where));
  EXPECT_TRUE(loop->RunUntil([&] { return link && accepted; }, Deadline::After(seconds(120))));
}

INSTANTIATE_TEST_SUITE_P(OfManyPorts, SquattedLadder, testing::Values(8, 64, 512));

TEST_F(RootSearchTest, ALateRootIsNotSweptFor) {
  const auto other = net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", 0));
  RootSearch::Where where{{"127.0.0.1"}, {net::FreePort()}};
  where.further_ports = [port = net::LocalAddress(other->get()).port()] { return std::vector{port}; };
  Search(std::move(where));
  loop.For(std::chrono::milliseconds(1000));
  const auto nobody = net::Accept(other->get());
  ASSERT_TRUE(nobody);
  EXPECT_FALSE(*nobody);
}

TEST_F(RootSearchTest, LaterPortsAreTriedAfterAMoment) {
  const uint16_t port = RootListensAt("127.0.0.1");
  RootSearch::Where where{{"127.0.0.1"}, {net::FreePort()}};
  where.later_ports = {port};
  Search(std::move(where));
  ASSERT_TRUE(loop.Until([&] { return link && accepted; }));
}

}  // namespace
}  // namespace muster::rendezvous
