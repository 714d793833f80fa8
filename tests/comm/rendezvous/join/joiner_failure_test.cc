// How a group does not form: every rank ends with the same sentence, which names who is the reason.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "comm/rendezvous/join/joiner.h"
#include "comm/rendezvous/link/names.h"
#include "comm/rendezvous/link/node_listener.h"
#include "comm/system/descriptor_room.h"
#include "tests/comm/net/descriptor_limit.h"
#include "tests/comm/net/ordinary_ports.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AnyOf;
using testing::StartsWith;

constexpr const char* kTimeoutHint = "raise timeouts.rendezvous to wait longer";

class JoinerFailureTest : public RequestsTest {
 protected:
  // The root's word takes priority: its clock is short, those of the other ranks are long.
  void RootGivesUpAfter(Duration limit) { requests[0].timeouts.rendezvous = limit; }
};

TEST_F(JoinerFailureTest, AMissingRankIsNamedToAll) {
  Make({"a", "a", "b", "b"});
  RootGivesUpAfter(seconds(1));
  TestGroup group(loop, Without(3));
  EXPECT_TRUE(group.AllRefusedWith(
      {Code::kDeadline, "the group did not form within 1s: 3/4 ranks; missing b: 3 (never connected)",
       kTimeoutHint}));
}

TEST_F(JoinerFailureTest, AMissingNodeIsNamedToAll) {
  Make({"a", "b", "b", "c"});
  RootGivesUpAfter(seconds(1));
  TestGroup group(loop, std::vector<JoinRequest>{requests[0], requests[3]});
  EXPECT_TRUE(group.AllRefusedWith(
      {Code::kDeadline,
       "the group did not form within 1s: 2/4 ranks; missing b: 1,2 (no contact with the node)",
       kTimeoutHint}));
}

TEST_F(JoinerFailureTest, AMissingLeaderIsNamedNotItsFollowers) {
  Make({"a", "b", "b", "b"});
  SetAll([](JoinRequest& request) { request.leader_patience = milliseconds(10); });
  RootGivesUpAfter(seconds(2));
  TestGroup group(loop, Without(1));
  EXPECT_TRUE(group.AllRefusedWith(
      {Code::kDeadline, "the group did not form within 2s: 3/4 ranks; missing b: 1 (never connected)",
       kTimeoutHint}));
}

TEST_F(JoinerFailureTest, ARankWithoutDescriptorsIsNamed) {
  Make({"a", "b"});
  SetAll([](JoinRequest& request) { request.leader_patience = milliseconds(30); });
  TestGroup group(loop, Without(0));
  // Also those that this process closes are not free again.
  const net::DescriptorLimit standard_ones(STDERR_FILENO + 1 - static_cast<int>(net::OpenDescriptors()));
  EXPECT_TRUE(group.AllRefusedWith(
      {Code::kSystem, "rank 1 on b cannot open a connection: Too many open files", DescriptorLimitHint()}));
}

TEST_F(JoinerFailureTest, AMissingRootIsNamed) {
  Make({"a", "b", "b"});
  SetAll([](JoinRequest& request) { request.timeouts.rendezvous = seconds(1); });
  TestGroup group(loop, Without(0));
  const Error error{
      Code::kDeadline,
      fmt::format("the root, rank 0 on 127.0.0.1, did not answer within 1s; 127.0.0.1:{}: Connection "
                  "refused",
                  requests[0].meeting.endpoint->port),
      "check that it runs, that this node resolves its name, and that no firewall blocks rendezvous.ports; "
      "if it starts late, raise timeouts.rendezvous; a formed group accepts no further process: this one "
      "may be a duplicate"};
  EXPECT_TRUE(group.AllRefusedWith(error));
}

// Also by a rank below a leader: the leader reports it before that rank's own deadline, which would blame the leader.
TEST_F(JoinerFailureTest, ARootThatFallsSilentIsNamed) {
  Make({"a", "b", "b"});
  SetAll([](JoinRequest& request) { request.timeouts.rendezvous = seconds(1); });
  // It takes the hello and sends nothing after it.
  AuthenticatingAcceptor* held = nullptr;
  std::unique_ptr<net::FrameStream> link;
  const auto prover = auth::MakeNoneProver();
  AuthenticatingAcceptor listener(
      *loop, {auth::MeetingIdOf(requests[0].meeting.key), seconds(10)}, *prover,
      [&](std::unique_ptr<net::FrameStream> from, const net::SocketAddress&) {
        link = std::move(from);
        link->Start([&](ByteView) { link->Send(Encode(Acceptance{1, {0}, "a"})); }, [](const Error&) {});
      });
  held = &listener;
  ASSERT_TRUE(
      held->Open({*net::SocketAddress::FromNumeric("127.0.0.1", 0)}, {requests[0].meeting.endpoint->port}));
  TestGroup group(loop, Without(0));
  EXPECT_TRUE(group.AllRefusedWith(
      {Code::kDeadline, "the group did not form within 1s, and rank 0 on a fell silent", kTimeoutHint}));
}

TEST_F(JoinerFailureTest, WhoEndsMeanwhileIsNamed) {
  Make({"a", "b", "b", "c"});
  TestGroup group(loop, Without(3));
  ASSERT_TRUE(loop.Until([&] { return !group[0].ended(); }));
  loop.For(milliseconds(100));
  group.Kill(2);
  EXPECT_TRUE(group.AllRefusedWith(EndedWhileForming("rank 2 on b")));
}

// It had become known to a leader that was not yet the root: the group formed with the rank that had ended.
TEST_F(JoinerFailureTest, ARankThatEndsBeforeItsLeaderIsTheRootIsNamed) {
  Make({"a", "a", "a"});
  ForgetLocalRanks();
  TestGroup leader(loop, {requests[1]});
  loop.Settle();
  TestGroup group(loop, {requests[2]});
  loop.For(milliseconds(100));
  group.Kill(0);
  loop.For(milliseconds(50));
  TestRank rank_zero(*loop, requests[0]);
  rank_zero.Start();
  const Error error = EndedWhileForming("rank 2 on a");
  EXPECT_TRUE(leader.AllRefusedWith(error));
  ASSERT_TRUE(loop.Until([&] { return rank_zero.ended(); }));
  ASSERT_TRUE(rank_zero.refused());
  EXPECT_EQ(rank_zero.refused()->error, error);
}

TEST_F(JoinerFailureTest, ADuplicateRankNamesBoth) {
  Make({"a", "b", "c"});
  requests[2].self.claims[0].rank = 1;
  TestGroup group(loop, requests);
  ASSERT_TRUE(loop.Until([&] { return group[0].ended() && group[1].ended() && group[2].ended(); }));
  const Error error = group[0].refused()->error;
  EXPECT_EQ(error.code, Code::kDisagreement);
  EXPECT_THAT(error.message, AnyOf("rank 1 is claimed twice: by pid 1001 on b and by pid 1002 on c",
                                   "rank 1 is claimed twice: by pid 1002 on c and by pid 1001 on b"));
  EXPECT_TRUE(group.AllRefusedWith(error));
}

TEST_F(JoinerFailureTest, AnotherConfigurationNamesBoth) {
  Make({"a", "b", "b"});
  requests[2].self.agreement.configuration = "timeouts.barrier=5s\n";
  TestGroup group(loop, requests);
  EXPECT_TRUE(group.AllRefusedWith(
      {Code::kDisagreement,
       "the configurations differ in timeouts.barrier: rank 2 on b has 5s, rank 0 on a has the default",
       "give every rank the same file, flags and MUSTER_ variables; \"muster config --explain\" shows where "
       "a value "
       "comes from"}));
}

TEST_F(JoinerFailureTest, WrongLocalRanksAreTheGroupsFailure) {
  Make({"a", "b", "b"});
  requests[2].self.claims[0].local_rank = 2;
  TestGroup group(loop, requests);
  EXPECT_TRUE(group.AllRefusedWith(
      {Code::kDisagreement, "the local ranks of ranks 1,2 on b are 0,2 instead of 0 to 1",
       "look for two nodes with one name, two torchrun agents on one node, or an exported LOCAL_RANK"}));
}

TEST_F(JoinerFailureTest, AnInterfaceThatIsNotThereIsTheGroupsFailure) {
  Make({"a", "b", "c"});
  requests[2].options.interface = "no-such-interface";
  TestGroup group(loop, requests);
  ASSERT_TRUE(loop.Until([&] { return group[0].ended() && group[1].ended() && group[2].ended(); }));
  EXPECT_EQ(group[0].refused()->error.message,
            "rendezvous.interface \"no-such-interface\" matches no usable address of c");
  EXPECT_TRUE(group.AllRefusedWith(group[0].refused()->error));
}

TEST_F(JoinerFailureTest, ARootOnTheWrongNodeSaysSo) {
  Make({"a", "b"});
  SetAll([](JoinRequest& request) { request.timeouts.rendezvous = milliseconds(200); });
  SetAll([](JoinRequest& request) { request.meeting.endpoint->host = "192.0.2.1"; });
  TestRank root(*loop, requests[0]);
  root.Start();
  ASSERT_TRUE(loop.Until([&] { return root.ended(); }));
  EXPECT_EQ(root.refused()->error.message,
            "rank 0 runs on a and must be reached there, but 192.0.2.1 is 192.0.2.1, which is not an address "
            "of that "
            "node");
}

TEST_F(JoinerFailureTest, ARootThatMayNotBindItsPortEndsTheGroup) {
  const net::OrdinaryPorts ordinary;
  if (!net::OrdinaryPorts::Exist()) GTEST_SKIP() << "needs a port that is for root alone";
  Make({"a", "a", "b"});
  SetAll([](JoinRequest& request) { request.meeting.endpoint->port = net::OrdinaryPorts::kPrivileged; });
  TestGroup group(loop, Without(2));
  EXPECT_TRUE(group.AllRefusedWith(
      {Code::kSystem, "no port to listen on among 80: cannot bind 127.0.0.1:80: Permission denied",
       "choose a port from 1024 on; lower ones are for root"}));
}

TEST_F(JoinerFailureTest, AnotherSecretIsAnAuthenticationError) {
  Make({"a", "b"});
  SetAll([](JoinRequest& request) {
    request.options.auth = AuthMethod::kSecret;
    request.secret = *auth::JobSecret::Parse(std::string(64, 'a'), "MUSTER_SECRET");
    request.timeouts.rendezvous = seconds(1);
  });
  requests[1].secret = *auth::JobSecret::Parse(std::string(64, 'b'), "MUSTER_SECRET");
  TestGroup group(loop, requests);
  ASSERT_TRUE(loop.Until([&] { return group[0].ended() && group[1].ended(); }));
  EXPECT_EQ(group[1].refused()->error.code, Code::kAuthentication);
  EXPECT_THAT(
      group[1].refused()->error.message,
      StartsWith(fmt::format("the root, rank 0 on 127.0.0.1, was not joined within 1s: 127.0.0.1:{} has "
                             "another job secret than this rank",
                             requests[0].meeting.endpoint->port)));
  EXPECT_EQ(group[0].refused()->error.code, Code::kDeadline);
  EXPECT_THAT(
      group[0].refused()->error.message,
      StartsWith("the group did not form within 1s: 1/2 ranks; missing b: 1 (no contact with the node); "
                 "rejected: 127.0.0.1:"));
}

TEST_F(JoinerFailureTest, WithoutProofThereIsNoGroup) {
  Make({"a", "b"});
  SetAll([](JoinRequest& request) { request.options.auth = AuthMethod::kSecret; });
  TestGroup group(loop, requests);
  EXPECT_TRUE(
      group.AllRefusedWith({Code::kAuthentication, "rendezvous.auth is secret, but no job secret is known",
                            "export MUSTER_SECRET=$(muster secret) in the batch script, before srun"}));
}

TEST_F(JoinerFailureTest, ALeftoverIsRefusedAloneByTheRoot) {
  Make({"a", "b", "c"});
  JoinRequest leftover = requests[1];
  leftover.self.node = "old";
  SetAll([](JoinRequest& request) { request.self.agreement.restart = 1; });
  TestGroup group(loop, Without(2));
  TestRank old(*loop, leftover);
  old.Start();
  ASSERT_TRUE(loop.Until([&] { return old.ended(); }));
  EXPECT_EQ(old.refused()->error,
            (Error{Code::kDisagreement,
                   "the ranks disagree on the restart of the job: rank 1 on old has 0, rank 0 on a has 1",
                   "end the process that an earlier start of the job has left"}));
  loop.For(milliseconds(50));
  EXPECT_FALSE(group[0].ended());
  TestRank last(*loop, requests[2]);
  last.Start();
  ASSERT_TRUE(group.AllFormed());
  loop.Settle();
  EXPECT_TRUE(last.formed());
  EXPECT_TRUE(group[0].failures.empty()) << "the leftover's end is nobody's loss";
}

TEST_F(JoinerFailureTest, ALeftoverIsRefusedAloneByItsLeader) {
  Make({"a", "b", "b"});
  JoinRequest leftover = requests[2];
  SetAll([](JoinRequest& request) { request.self.agreement.restart = 1; });
  TestGroup group(loop, Without(2));
  TestRank old(*loop, leftover);
  old.Start();
  ASSERT_TRUE(loop.Until([&] { return old.ended(); }));
  EXPECT_EQ(old.refused()->error.message,
            "the ranks disagree on the restart of the job: rank 2 on b has 0, rank 1 on b has 1");
  loop.For(milliseconds(50));
  EXPECT_FALSE(group[0].ended());
  EXPECT_FALSE(group[1].ended());
  TestRank last(*loop, requests[2]);
  last.Start();
  ASSERT_TRUE(group.AllFormed());
}

TEST_F(JoinerFailureTest, WhoComesAfterTheEndIsToldToo) {
  Make({"a", "b", "c", "d"});
  requests[1].self.agreement.launcher = "torchrun";
  // Two that do not hang up, so that the root stays for its final message.
  TestRank root(*loop, requests[0]);
  root.Start();
  TestRank other(*loop, requests[2]);
  other.Start();
  loop.For(milliseconds(100));
  TestRank wrong(*loop, requests[1]);
  wrong.Start();
  TestRank late(*loop, requests[3]);
  late.Start();
  ASSERT_TRUE(loop.Until([&] { return root.ended() && other.ended() && wrong.ended() && late.ended(); }));
  const Error error{Code::kDisagreement,
                    "the ranks disagree on the launcher: rank 1 on b has torchrun, rank 0 on a has slurm",
                    "run \"muster resolve\" on both to see where it comes from; MUSTER_LAUNCHER forces one"};
  for (const TestRank* rank : {&root, &other, &wrong, &late})
    EXPECT_EQ(rank->refused()->error, error) << rank->rank();
}

// It gets no notice of the failure, and ends the wait for ranks that come no more.
TEST_F(JoinerFailureTest, AProcessOfALaterRestartWaitsForTheEndOfThisOne) {
  Make({"a", "b", "c"});
  SetAll([](JoinRequest& request) { request.late_nodes = seconds(60); });
  requests[1].self.agreement.launcher = "torchrun";
  TestGroup failed(loop, Without(2));
  ASSERT_TRUE(loop.Until([&] { return failed[1].ended(); }));
  loop.For(milliseconds(600));
  ASSERT_FALSE(failed[0].ended()) << "it stays for late ranks";
  requests[1].self.agreement.launcher = "slurm";
  SetAll([](JoinRequest& request) { request.self.agreement.restart = 1; });
  TestGroup next(loop, requests);
  ASSERT_TRUE(next.AllFormed());
  EXPECT_EQ(failed[0].refused()->error, failed[1].refused()->error);
}

TEST_F(JoinerFailureTest, AFollowerThatComesWhenTheRootHasGoneIsToldByItsLeader) {
  Make({"a", "b", "b"});
  requests[1].self.agreement.launcher = "torchrun";
  requests[1].late_nodes = seconds(30);
  TestGroup group(loop, Without(2));
  ASSERT_TRUE(loop.Until([&] { return group[0].ended(); })) << "every node has been told";
  EXPECT_FALSE(group[1].ended());
  TestRank late(*loop, requests[2]);
  late.Start();
  ASSERT_TRUE(loop.Until([&] { return late.ended(); }));
  EXPECT_EQ(late.refused()->error, group[0].refused()->error);
  // It was the last one.
  EXPECT_TRUE(loop.Until([&] { return group[1].ended(); }));
}

// They had gone to the root without it. The root has all ranks then.
TEST_F(JoinerFailureTest, ALeaderThatComesAfterItsFollowersHaveEndedDoesNotStayForThem) {
  Make({"a", "b", "c", "c"});
  SetAll([](JoinRequest& request) {
    request.late_nodes = seconds(60);
    request.leader_patience = milliseconds(10);
  });
  requests[1].self.agreement.launcher = "torchrun";
  TestGroup group(loop, Without(2));
  ASSERT_TRUE(loop.Until([&] { return group[1].ended() && group[2].ended(); }));
  ASSERT_FALSE(group[0].ended()) << "it stays for rank 2";
  TestRank late(*loop, requests[2]);
  late.Start();
  ASSERT_TRUE(loop.Until([&] { return late.ended() && group[0].ended(); }));
  EXPECT_EQ(late.refused()->error, group[0].refused()->error);
}

TEST_F(JoinerFailureTest, ALeaderDoesNotWaitForItsFollowersForEver) {
  Make({"a", "b", "b"});
  requests[1].self.agreement.launcher = "torchrun";
  TestGroup group(loop, Without(2));
  ASSERT_TRUE(loop.Until([&] { return group[0].ended() && group[1].ended(); }));
  EXPECT_EQ(group[1].refused()->error, group[0].refused()->error);
}

TEST_F(JoinerFailureTest, NobodyIsWaitedForPastTheDeadline) {
  Make({"a", "b", "b"});
  requests[1].self.agreement.launcher = "torchrun";
  SetAll([](JoinRequest& request) {
    request.late_nodes = std::chrono::hours(1);
    request.timeouts.rendezvous = seconds(1);
  });
  TestGroup group(loop, Without(2));
  EXPECT_TRUE(loop.Until([&] { return group[0].ended() && group[1].ended(); }));
}

TEST_F(JoinerFailureTest, ALeaderThatSaysNothingIsNamed) {
  Make({"a", "b", "b"});
  requests[2].timeouts.rendezvous = seconds(1);
  const auto silent = net::PrivateSocket::Open(requests[2].shared_directories,
                                               LocalSocketName(requests[2].meeting.LocalKey(), "b"),
                                               net::PrivateSocket::Kind::kListener);
  ASSERT_TRUE(silent);
  TestRank follower(*loop, requests[2]);
  follower.Start();
  ASSERT_TRUE(loop.Until([&] { return follower.ended(); }));
  EXPECT_EQ(follower.refused()->error,
            (Error{Code::kDeadline,
                   fmt::format("rank 1 on b (process {}) accepted the connection and sent nothing for 1s",
                               getpid()),
                   kTimeoutHint}));
}

TEST_F(JoinerFailureTest, AfterAFailureNothingIsLeftOpen) {
  const auto before = net::OpenDescriptors();
  {
    Make({"a", "a", "b", "b"});
    RootGivesUpAfter(milliseconds(100));
    TestGroup group(loop, Without(3));
    ASSERT_TRUE(loop.Until([&] { return group[0].ended() && group[1].ended() && group[2].ended(); }));
    loop.Settle();
  }
  loop.Settle();
  EXPECT_TRUE(loop.Until([&] { return net::OpenDescriptors() <= before; }));
}

}  // namespace
}  // namespace muster::rendezvous
