#include "bootstrap/map/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <optional>
#include <thread>

#include "bootstrap/process/descendants.h"
#include "tests/bootstrap/map/commands.h"
#include "tests/bootstrap/map/fake_member.h"
#include "tests/comm/net/descriptor_limit.h"

namespace muster::map {
namespace {

class Workers : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(process::BecomeSubreaper()); }
  void TearDown() override { prctl(PR_SET_CHILD_SUBREAPER, 0); }

  static std::vector<Worker::Slot> Slots(const Commands& commands, int count) {
    std::vector<Worker::Slot> slots;
    for (int i = 0; i < count; ++i) {
      slots.push_back({commands.slot, {}});
      slots.back().attempt.number = i;
    }
    return slots;
  }
};

TEST_F(Workers, CommitEveryItem) {
  const Commands commands("echo {item}", {}, 20);
  FakeMember member(20);
  Worker worker(member, *commands.source, commands.plan, Slots(commands, 3));
  ASSERT_TRUE(worker.Run());
  const auto outcome = member.Finish();
  EXPECT_EQ(outcome->committed, 20u);
  EXPECT_EQ(member.Payload(7), R"({"exit":0,"directory":"i7"})");
  EXPECT_EQ(member.records.at(7).key, "i7");
  EXPECT_EQ(member.records.at(7).format, Format::kJson);
  EXPECT_GT(member.records.at(7).took, Duration::zero());
  EXPECT_EQ(commands.folder.Read("out/i19/stdout"), "i19\n");
}

// All of a rank's slots at the same time: each waits until all have come.
TEST_F(Workers, WorkInAllSlotsAtATime) {
  const Commands commands(
      "touch {pwd}/here{slot}; while ! test -e {pwd}/here0 -a -e {pwd}/here1 -a -e {pwd}/here2; "
      "do sleep 0.01; done",
      {}, 3);
  FakeMember member(3);
  Worker worker(member, *commands.source, commands.plan, Slots(commands, 3));
  ASSERT_TRUE(worker.Run());
  EXPECT_EQ(member.Finish()->committed, 3u);
}

TEST_F(Workers, TryAgainAsTheMemberSays) {
  const Commands commands("echo try {attempt} >&2; test {item} = i1 || test {attempt} = 2", {}, 3);
  FakeMember member(3, 1);
  Worker worker(member, *commands.source, commands.plan, Slots(commands, 2));
  ASSERT_TRUE(worker.Run());
  EXPECT_EQ(member.Finish()->committed, 3u);
  EXPECT_EQ(member.errors.size(), 2u);
  EXPECT_THAT(member.errors.front(), testing::HasSubstr("try 1"));
}

TEST_F(Workers, NameTheErrorOfAnItemThatIsGivenUp) {
  const Commands commands("echo bad >&2; test {item} != i1", {}, 2);
  FakeMember member(2, 1);
  Worker worker(member, *commands.source, commands.plan, Slots(commands, 1));
  ASSERT_TRUE(worker.Run());
  EXPECT_EQ(member.Finish()->poisoned, 1u);
  EXPECT_THAT(member.Payload(1), testing::StartsWith("exit 1 (files: "));
  EXPECT_THAT(member.Payload(1), testing::EndsWith("\nbad"));
}

TEST_F(Workers, GiveBackWhatIsInterrupted) {
  const Commands commands("touch {pwd}/{item}; sleep 1000", {}, 5);
  FakeMember member(5);
  Worker worker(member, *commands.source, commands.plan, Slots(commands, 2));
  std::thread stopper([&] {
    while (!commands.folder.Has("i0") || !commands.folder.Has("i1")) std::this_thread::yield();
    worker.Stop();
    worker.Stop();
  });
  EXPECT_TRUE(worker.Run());
  stopper.join();
  EXPECT_THAT(member.given_back, testing::UnorderedElementsAre(0u, 1u));
  EXPECT_TRUE(member.records.empty());
  EXPECT_TRUE(process::ChildProcesses()->empty());
}

TEST_F(Workers, EndWithTheErrorOfTheMap) {
  const Commands commands("true");
  FakeMember member(1);
  member.failure = Error{Code::kPeerLost, "rank 0 is lost", ""};
  Worker worker(member, *commands.source, commands.plan, Slots(commands, 2));
  const Status status = worker.Run();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "rank 0 is lost");
}

TEST_F(Workers, GiveBackWhatTheirRankCannotAttempt) {
  Commands commands("true", {}, 3);
  commands.plan.output = commands.folder.Write("file", "");
  FakeMember member(3);
  Worker worker(member, *commands.source, commands.plan, Slots(commands, 1));
  const Status status = worker.Run();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kSystem);
  EXPECT_THAT(member.given_back, testing::ElementsAre(0u));
}

const Error kLost{Code::kPeerLost, "rank 1 is lost", ""};

// A group that has failed; its failure becomes known while all slots are at work.
class FailedGroup : public Group {
 public:
  int rank() const override { return 0; }
  const Roster& roster() const override { return roster_; }
  const GroupKey& key() const override { return key_; }
  Result<std::vector<Bytes>> KeyedAllGather(std::string_view, ByteView, Deadline) override { return {}; }
  int failure_fd() const override { return failed_.fd(); }
  std::optional<Error> failure() const override { return kLost; }
  void Fail(const Error&) override { failed_.Raise(); }
  Status Leave(Deadline) override { return {}; }

 private:
  Roster roster_;
  GroupKey key_{};
  StopFlag failed_;
};

TEST_F(Workers, StopWhenTheGroupFails) {
  const Commands commands("touch {pwd}/up; sleep 1000");
  FakeMember member(1);
  FailedGroup group;
  Worker worker(member, *commands.source, commands.plan, Slots(commands, 1));
  std::thread failing([&] {
    while (!commands.folder.Has("up")) std::this_thread::yield();
    member.FailGroup(kLost);
    group.Fail(kLost);
  });
  const Status status = worker.Run(&group);
  failing.join();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "rank 1 is lost");
  EXPECT_THAT(member.given_back, testing::ElementsAre(0u));
}

// Another rank has ended, with the status of the map that is over: the result of this rank is as good.
TEST_F(Workers, HaveNoErrorIfTheGroupFailsAfterTheMapIsOver) {
  const Commands commands("true");
  FakeMember member(0);
  FailedGroup group;
  group.Fail(kLost);
  Worker worker(member, *commands.source, commands.plan, Slots(commands, 2));
  EXPECT_TRUE(worker.Run(&group));
}

// Else it would not notice that its slots have ended.
TEST_F(Workers, EndWithAnErrorWithoutADescriptor) {
  const Commands commands("true");
  FakeMember member(0);
  FailedGroup group;
  group.Fail(kLost);
  std::optional<net::DescriptorLimit> limit(4);
  std::vector<UniqueFd> taken = net::TakeAllDescriptors();
  taken.pop_back();
  Worker worker(member, *commands.source, commands.plan, Slots(commands, 1));
  taken.clear();
  limit.reset();
  const Status status = worker.Run(&group);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, testing::StartsWith("cannot create an eventfd: "));
}

}  // namespace
}  // namespace muster::map
