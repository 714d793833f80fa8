#include "bootstrap/store/store_users.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "comm/net/socket.h"
#include "tests/bootstrap/process/finish_child.h"

namespace muster::store {
namespace {

// bash can open TCP connections by itself.
process::ChildOptions Bash(const std::string& script) {
  process::ChildOptions options = process::Shell(script);
  options.command = {"/bin/bash", "-c", script};
  return options;
}

class StoreUsersTest : public testing::Test {
 protected:
  StoreUsersTest() : listener(*net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", 0))) {}

  // In a script: connects, and keeps the connection for as long as the process lives.
  std::string Connect() const {
    return "exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(net::LocalAddress(listener.get()).port());
  }
  void Run(int rank, const std::string& script) {
    children.push_back(Started(Bash(script)));
    programs.push_back({rank, children.back()->pid()});
  }
  rendezvous::OwnerQuestion Next() {
    EXPECT_TRUE(process::WaitReadable(listener.get())) << "nobody connects";
    net::SocketAddress peer;
    connections.push_back(*net::Accept(listener.get(), &peer));
    const net::SocketAddress own = net::LocalAddress(listener.get());
    return {1, peer.Host(), peer.port(), own.Host(), own.port()};
  }
  rendezvous::OwnerAnswer LookAtNext() { return users.Look(Next()); }
  rendezvous::OwnerAnswer Of(int rank, uint32_t generation) const {
    return {1, rendezvous::OwnerKind::kProgram, geteuid(), rank, generation};
  }
  // Lets the process at the other end of the latest connection go on.
  void GoOn() { ASSERT_EQ(write(connections.back().get(), "\n", 1), 1); }

  UniqueFd listener;
  std::vector<UniqueFd> connections;
  std::vector<std::unique_ptr<process::Child>> children;
  std::vector<RunningProgram> programs;
  StoreUsers users{geteuid(), [this] { return programs; }};
};

TEST_F(StoreUsersTest, AProgramIsKnownByItsRank) {
  Run(3, Connect() + "; read <&3");
  EXPECT_EQ(LookAtNext(), Of(3, 0));
  Run(5, Connect() + "; read <&3");
  EXPECT_EQ(LookAtNext(), Of(5, 0));
}

TEST_F(StoreUsersTest, OneProgramAfterTheOtherIsTheNextGeneration) {
  const std::string program = "bash -c '" + Connect() + "; read <&3'";
  Run(0, program + "; " + program + "; " + program);
  for (uint32_t generation = 0; generation < 3; ++generation) {
    EXPECT_EQ(LookAtNext(), Of(0, generation));
    GoOn();
  }
}

// As long as one of a generation lives, who comes belongs to it: workers, also one after the other.
TEST_F(StoreUsersTest, WorkersOfOneProgramAreOneGeneration) {
  const std::string worker = "bash -c '" + Connect() + "; read <&3'";
  Run(0, Connect() + "; read <&3; exec 4<>/dev/tcp/127.0.0.1/" +
             std::to_string(net::LocalAddress(listener.get()).port()) + "; read <&4; " + worker + "; " +
             worker + "; true");
  EXPECT_EQ(LookAtNext(), Of(0, 0));
  GoOn();
  EXPECT_EQ(LookAtNext(), Of(0, 0)) << "a second connection of the same process";
  GoOn();
  EXPECT_EQ(LookAtNext(), Of(0, 0)) << "a child of it";
  GoOn();
  EXPECT_EQ(LookAtNext(), Of(0, 0)) << "another child of it";
}

TEST_F(StoreUsersTest, WhatRunsAtTheSameTimeIsOneGeneration) {
  const std::string program = "bash -c '" + Connect() + "; read <&3' & ";
  Run(0, program + program + "wait");
  EXPECT_EQ(LookAtNext(), Of(0, 0));
  EXPECT_EQ(LookAtNext(), Of(0, 0));
}

TEST_F(StoreUsersTest, AProgramThatTakesAnothersPlaceIsTheNextGeneration) {
  // exec closes the first program's descriptors only if they are marked: 3 is closed by hand.
  Run(0, Connect() + "; read <&3; exec 3<&- bash -c '" + Connect() + "; read <&3'");
  EXPECT_EQ(LookAtNext(), Of(0, 0));
  GoOn();
  EXPECT_EQ(LookAtNext(), Of(0, 1));
}

TEST_F(StoreUsersTest, RanksAreCountedForThemselves) {
  const std::string program = "bash -c '" + Connect() + "; read <&3'";
  Run(0, program + "; " + program);
  EXPECT_EQ(LookAtNext(), Of(0, 0));
  GoOn();
  EXPECT_EQ(LookAtNext(), Of(0, 1));
  Run(1, program);
  EXPECT_EQ(LookAtNext(), Of(1, 0));
}

TEST_F(StoreUsersTest, TheUserBesideTheProgramsIsNoProgram) {
  Run(0, "exec sleep 1000");
  const UniqueFd client = *net::StartConnect(net::LocalAddress(listener.get()));
  EXPECT_EQ(LookAtNext(), (rendezvous::OwnerAnswer{1, rendezvous::OwnerKind::kUser, geteuid(), -1, 0}));
}

TEST_F(StoreUsersTest, AnotherUserIsAStranger) {
  StoreUsers others{geteuid() + 1, [this] { return programs; }};
  Run(0, Connect() + "; read <&3");
  EXPECT_EQ(others.Look(Next()),
            (rendezvous::OwnerAnswer{1, rendezvous::OwnerKind::kStranger, geteuid(), -1, 0}));
}

TEST_F(StoreUsersTest, WhatIsNotHereIsNobodys) {
  EXPECT_EQ(users.Look({1, "127.0.0.1", 1, "127.0.0.1", 2}), (rendezvous::OwnerAnswer{1}));
  EXPECT_EQ(users.Look({1, "no address", 1, "127.0.0.1", 2}), (rendezvous::OwnerAnswer{1}));
}

}  // namespace
}  // namespace muster::store
