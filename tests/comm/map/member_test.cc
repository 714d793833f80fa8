// Members, the root's service and the journal together, without a network.
#include "comm/map/member.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <future>
#include <limits>
#include <thread>
#include <vector>

#include "comm/system/proc_file.h"
#include "comm/system/process_end.h"
#include "tests/comm/map/members.h"

namespace muster::map {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

TEST(Map, FourRanksCommitEachItemOnceAndReadAllInOrder) {
  constexpr uint64_t kItems = 5000;
  GroupsInProcess groups(4);
  std::atomic<uint64_t> done = 0;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto member = JoinAs(groups, rank, Of(kItems));
      done += Work(*member);
      const auto outcome = member->Finish();
      ASSERT_TRUE(outcome) << ToString(outcome.error());
      EXPECT_EQ(outcome->committed, kItems);
      EXPECT_EQ(outcome->poisoned, 0);
      EXPECT_EQ(outcome->second_commits, 0);
      EXPECT_FALSE(outcome->time_is_up);
      EXPECT_EQ(ResultsOf(*member, kItems), ExpectedResults(kItems));
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(done, kItems);
  EXPECT_FALSE(groups.tolerates());
}

TEST(Map, WorldOfOne) {
  GroupsInProcess groups(1);
  const auto member = JoinAs(groups, 0, Of(10));
  EXPECT_TRUE(groups.tolerates());
  EXPECT_EQ(Work(*member), 10);
  EXPECT_EQ(member->Finish()->committed, 10);
}

// As when the function of a map forks, and the child returns from main. Without a control plane the map has a thread of its own.
TEST(Map, AForkedChildEndsWithItsMember) {
  Roster roster;
  roster.nodes.push_back({"gpu01", {}});
  roster.members.push_back({0, 0, getpid(), {}});
  GroupWithoutRoot group(std::move(roster));
  auto member = Member::Join(group, Of(1), {}, Deadline::After(seconds(60)));
  ASSERT_TRUE(member) << ToString(member.error());
  ASSERT_TRUE(*(*member)->Next());
  std::atomic<pid_t> slot = 0;
  std::thread waiting([&] {
    slot = gettid();
    const auto none = (*member)->Next();
    EXPECT_TRUE(none && !*none);
  });
  const auto sleeps = [&] {
    const auto stat = ReadProcFile(fmt::format("/proc/self/task/{}/stat", slot.load()));
    return stat && StatFields(*stat).at(3) == "S";
  };
  while (slot == 0 || !sleeps()) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    member->reset();
    _exit(0);
  }
  const bool ended = ProcessEnd::Of(child).Await(Deadline::After(seconds(20)));
  EXPECT_TRUE(ended);
  if (!ended) kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE((*member)->Commit(0, Key(0), Format::kJson, Square(0), milliseconds(1))) << "in the parent";
  waiting.join();
  EXPECT_EQ((*member)->Finish()->committed, 1);
}

TEST(Map, ItsStateIsKnownAtAnyTime) {
  GroupsInProcess groups(2);
  EXPECT_THAT(groups.Look(), IsEmpty());
  Options options;
  options.retries = 0;
  const auto first = JoinAs(groups, 0, Of(4), options);
  const auto second = JoinAs(groups, 1, Of(4), options);
  ASSERT_EQ((*first->Next())->index, 0);
  ASSERT_EQ((*second->Next())->index, 1);
  ASSERT_TRUE(first->Commit(0, "k0", Format::kJson, Text("7"), seconds(9)));
  ASSERT_EQ((*first->Next())->index, 2);
  first->Fail(2, "k2", "no model\nin /scratch", seconds(4));
  ASSERT_EQ((*first->Next())->index, 3);
  ASSERT_EQ(groups.Look().size(), 1);
  const MapState map = groups.Look().front();
  EXPECT_EQ(map.subject, "square");
  EXPECT_EQ(map.phase, MapPhase::kAtWork);
  EXPECT_EQ(map.progress, (Progress{4, 1, 1, 0, 2, 0}));
  EXPECT_THAT(map.slowest, ElementsAre(ItemTime{0, "k0", 0, seconds(9)}, ItemTime{2, "k2", 0, seconds(4)}));
  EXPECT_THAT(map.failed, ElementsAre(ItemTime{2, "k2", 0, seconds(4), "no model"}));
  EXPECT_THAT(map.longest, UnorderedElementsAre(Field(&ItemTime::item, 1), Field(&ItemTime::item, 3)));
  ASSERT_EQ(map.ranks.size(), 2);
  EXPECT_GE(map.ranks[0].busy, seconds(13));
  EXPECT_EQ(map.ranks[1].at_work, 1);

  groups.Kill(1);
  ASSERT_TRUE(first->Commit(3, "k3", Format::kJson, Text("7"), seconds(1)));
  EXPECT_EQ(first->Finish()->poisoned, 2);
  const MapState end = groups.Look().front();
  EXPECT_EQ(end.phase, MapPhase::kOver);
  EXPECT_THAT(end.longest, IsEmpty());
  EXPECT_TRUE(end.ranks[1].lost);
}

TEST(Map, ItsLastStateIsKept) {
  GroupsInProcess groups(1);
  for (uint64_t items = 0; items < 12; ++items) {
    const auto member = JoinAs(groups, 0, Of(items));
    EXPECT_EQ(Work(*member), items);
    EXPECT_TRUE(member->Finish());
  }
  // The last one goes in a moment.
  while (!groups.Look().empty()) std::this_thread::yield();
  const std::vector<MapState> maps = groups.LookAtAll();
  ASSERT_EQ(maps.size(), 10);
  EXPECT_EQ(maps.back().phase, MapPhase::kOver);
  EXPECT_EQ(maps.back().progress.committed, 11);
  EXPECT_EQ(maps.back().ranks.front().done, 11);
  EXPECT_FALSE(maps.back().ranks.front().lost);
  EXPECT_EQ(maps.front().number, 2);
}

TEST(Map, TheEndOfAnEarlierMemberLeavesTheNextOneItsMessages) {
  GroupsInProcess groups(1);
  auto member = JoinAs(groups, 0, Of(2));
  EXPECT_EQ(Work(*member), 2);
  EXPECT_TRUE(member->Finish());
  // The first one ends when the second one has begun.
  member = JoinAs(groups, 0, Of(3));
  EXPECT_EQ(Work(*member), 3);
  EXPECT_EQ(member->Finish()->committed, 3);
}

TEST(Map, NoItems) {
  GroupsInProcess groups(1);
  const auto member = JoinAs(groups, 0, Of(0));
  EXPECT_EQ(Work(*member), 0);
  EXPECT_EQ(member->Finish()->items, 0);
}

TEST(Map, MapsFollowEachOther) {
  GroupsInProcess groups(2);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      for (uint64_t items = 1; items <= 20; ++items) {
        const auto member = JoinAs(groups, rank, Of(items));
        Work(*member);
        ASSERT_EQ(member->Finish()->committed, items);
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST(Map, FailedItemIsTriedAgainAndGivenUp) {
  GroupsInProcess groups(1);
  Options options;
  options.retries = 2;
  const auto member = JoinAs(groups, 0, Of(2), options);
  std::vector<uint32_t> attempts;
  while (const auto item = *member->Next()) {
    if (item->index == 1) {
      member->Commit(1, "k1", Format::kBytes, Text("ok"), {});
      continue;
    }
    attempts.push_back(item->attempt);
    member->Fail(0, "k0", "no such model\nmore", milliseconds(3));
  }
  EXPECT_THAT(attempts, ElementsAre(1, 2, 3));
  const auto outcome = member->Finish();
  EXPECT_EQ(outcome->committed, 1);
  EXPECT_EQ(outcome->poisoned, 1);
  const auto records = *member->Read(0, 2);
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records[0].key, "k0");
  EXPECT_EQ(records[0].attempts, 3);
  EXPECT_EQ(AsText(records[0].payload), "no such model\nmore");
}

TEST(Map, OnlyItemsInHandCanEnd) {
  GroupsInProcess groups(1);
  const auto member = JoinAs(groups, 0, Of(3));
  const uint64_t item = (*member->Next())->index;
  const Status other = member->Commit(item + 1, "", Format::kBytes, {}, {});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kUsage);
  EXPECT_EQ(other.error().message, "item 1 is not one that this rank has in hand");
  EXPECT_TRUE(member->Commit(item, "", Format::kBytes, {}, {}));
  EXPECT_FALSE(member->Commit(item, "", Format::kBytes, {}, {}));
}

TEST(Map, AnotherMapIsRefusedByBothNames) {
  GroupsInProcess groups(2);
  const auto first = JoinAs(groups, 0, Of(10));
  const auto second = Member::Join(groups.group(1), Of(11, "cube"), {}, Deadline::After(seconds(60)));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kDisagreement);
  EXPECT_THAT(second.error().message,
              AllOf(HasSubstr("rank 1 on gpu02 maps 11 items"), HasSubstr("\"cube\""),
                    HasSubstr("rank 0 on gpu01 maps 10 items"), HasSubstr("\"square\"")));
  // No rank goes on alone with a list that may be the wrong one.
  EXPECT_EQ(first->Finish().error(), second.error());
}

TEST(Map, OtherOptionsAreRefused) {
  GroupsInProcess groups(2);
  const auto first = JoinAs(groups, 0, Of(10));
  Options options;
  options.retries = 7;
  const auto second = Member::Join(groups.group(1), Of(10), options, Deadline::After(seconds(60)));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kDisagreement);
  EXPECT_THAT(second.error().message, HasSubstr("different options for their map: retries 7 and 2"));
}

TEST(Map, OnlyTheOptionsThatDifferAreNamed) {
  GroupsInProcess groups(2);
  const auto first = JoinAs(groups, 0, Of(10));
  Options options;
  options.timeout = milliseconds(5500);
  options.retry_poisoned = true;
  const auto second = Member::Join(groups.group(1), Of(10), options, Deadline::After(seconds(60)));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            "rank 1 on gpu02 and rank 0 on gpu01 have different options for their map: timeout 5s500ms and "
            "none, retry_failed true and false");
}

TEST(Map, ReadsToTheEndHoweverManyRecordsAreAskedFor) {
  GroupsInProcess groups(1);
  const auto member = JoinAs(groups, 0, Of(4));
  Work(*member);
  ASSERT_TRUE(member->Finish());
  EXPECT_EQ(member->Read(1, std::numeric_limits<uint64_t>::max())->size(), 3);
}

TEST(Map, LeavingEarlyGivesItemsBack) {
  GroupsInProcess groups(2);
  const auto first = JoinAs(groups, 0, Of(50));
  auto second = JoinAs(groups, 1, Of(50));
  ASSERT_TRUE(*second->Next());
  second.reset();
  EXPECT_EQ(Work(*first), 50);
  EXPECT_EQ(first->Read(0, 1)->front().attempts, 1 + 1);
}

TEST(Map, StoppedRankWaitsForTheOthersInFinish) {
  GroupsInProcess groups(2);
  const auto first = JoinAs(groups, 0, Of(50));
  const auto second = JoinAs(groups, 1, Of(50));
  ASSERT_TRUE(*second->Next());
  second->Stop();
  EXPECT_EQ(*second->Next(), std::nullopt);
  std::thread finish([&] { EXPECT_EQ(second->Finish()->committed, 50); });
  EXPECT_EQ(Work(*first), 50);
  finish.join();
}

TEST(Map, EndsWithItemsLeftWhenAllRanksHaveLeftEarly) {
  GroupsInProcess groups(2);
  const auto first = JoinAs(groups, 0, Of(50));
  const auto second = JoinAs(groups, 1, Of(50));
  const auto item = *first->Next();
  ASSERT_TRUE(
      first->Commit(item->index, Key(item->index), Format::kJson, Square(item->index), milliseconds(1)));
  ASSERT_TRUE(*second->Next());
  std::thread finish([&] { EXPECT_EQ(second->Finish()->committed, 1); });
  EXPECT_EQ(first->Finish()->committed, 1);
  finish.join();
}

TEST(Map, ALossIsAFailureOfTheGroupOnceTheMapIsOver) {
  GroupsInProcess groups(2);
  const auto first = JoinAs(groups, 0, Of(5));
  const auto second = JoinAs(groups, 1, Of(5));
  EXPECT_TRUE(groups.tolerates());
  EXPECT_EQ(Work(*first), 5);
  EXPECT_EQ(second->Finish()->first_rank, 0);
  EXPECT_FALSE(groups.tolerates());
}

TEST(Map, TheLowestRankThatIsLeftIsKnown) {
  GroupsInProcess groups(3);
  const auto first = JoinAs(groups, 0, Of(5));
  const auto second = JoinAs(groups, 1, Of(5));
  ASSERT_TRUE(*first->Next());
  groups.Kill(0);
  EXPECT_EQ(Work(*second), 5);
  EXPECT_EQ(second->Finish()->first_rank, 1);
}

TEST(Map, EndsAlthoughTheGroupFailsAfterIt) {
  GroupsInProcess groups(1);
  const auto member = JoinAs(groups, 0, Of(5));
  EXPECT_EQ(Work(*member), 5);
  groups.FailGroup({Code::kPeerLost, "rank 1 on gpu02 failed: exit status 80", ""});
  EXPECT_EQ(*member->Next(), std::nullopt);
  EXPECT_EQ(member->Finish()->committed, 5);
}

TEST(Map, ResultThatIsTooLargeIsRefusedAlone) {
  GroupsInProcess groups(1);
  const auto member = JoinAs(groups, 0, Of(1));
  const auto item = *member->Next();
  const Status refused =
      member->Commit(item->index, Key(item->index), Format::kBytes, Bytes((4 << 20) + 1), milliseconds(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the result of item 0 has 4194305 bytes: more than 4 MiB");
  EXPECT_TRUE(member->Commit(item->index, Key(item->index), Format::kBytes, Text("ok"), milliseconds(1)));
  EXPECT_EQ(member->Finish()->committed, 1);
}

// Else a rank that is faster than the root, or than the journal's disk, would fill its memory.
TEST(Map, ResultsWaitForASlowRoot) {
  GroupsInProcess groups(1);
  Options options;
  options.slots = 3;
  const auto member = JoinAs(groups, 0, Of(3), options);
  for (uint64_t item = 0; item < 3; ++item) ASSERT_EQ((*member->Next())->index, item);
  const auto commit = [&member](uint64_t item) {
    return member->Commit(item, Key(item), Format::kBytes, Bytes(600 << 10), milliseconds(1));
  };
  groups.Stall(0);
  EXPECT_TRUE(commit(0));
  std::vector<std::future<Status>> waiting;
  for (const uint64_t item : {1, 2}) waiting.push_back(std::async(std::launch::async, commit, item));
  for (const auto& one : waiting) EXPECT_EQ(one.wait_for(milliseconds(50)), std::future_status::timeout);
  groups.Continue(0);
  for (auto& one : waiting) EXPECT_TRUE(one.get());
  EXPECT_EQ(member->Finish()->committed, 3);
}

TEST(Map, NothingIsBegunWhenTheTimeIsUp) {
  GroupsInProcess groups(1);
  Options options;
  options.time_left = milliseconds(1);
  const auto member = JoinAs(groups, 0, Of(5), options);
  EXPECT_EQ(Work(*member), 0);
  const auto outcome = member->Finish();
  EXPECT_TRUE(outcome->time_is_up);
  EXPECT_EQ(outcome->committed, 0);
}

TEST(Map, ItemsOfAClassThatTakesTooLongAreLeft) {
  GroupsInProcess groups(1);
  Options options;
  options.time_left = std::chrono::minutes(30);
  options.classes = {0, 0, 0, 0, 0, 1, 0, 1, 0, 1};
  const auto member = JoinAs(groups, 0, Of(10), options);
  while (const auto item = *member->Next()) {
    const Duration took = options.classes[item->index] == 0 ? Duration(seconds(1)) : std::chrono::hours(1);
    EXPECT_TRUE(member->Commit(item->index, Key(item->index), Format::kBytes, {}, took));
  }
  const auto outcome = member->Finish();
  EXPECT_TRUE(outcome->time_is_up);
  EXPECT_EQ(outcome->committed, 8);
}

TEST(Map, ItemsThatFitAreBegun) {
  GroupsInProcess groups(1);
  groups.SetLatest(Deadline::After(seconds(60)));
  const auto member = JoinAs(groups, 0, Of(5));
  EXPECT_EQ(Work(*member), 5);
}

TEST(Map, TheGroupsFailureEndsAllWaits) {
  GroupsInProcess groups(2);
  const auto member = JoinAs(groups, 0, Of(5));
  const auto other = JoinAs(groups, 1, Of(5));
  std::thread waits([&] {
    while (true) {
      const auto item = other->Next();
      if (item) continue;
      EXPECT_EQ(item.error().message, "rank 7 on gpu09 failed");
      return;
    }
  });
  groups.FailGroup({Code::kPeerLost, "rank 7 on gpu09 failed", ""});
  waits.join();
  EXPECT_EQ(member->Finish().error().code, Code::kPeerLost);
}

class JournalledMap : public ::testing::Test {
 protected:
  JournalledMap() {
    std::filesystem::remove_all(path_);
    options_.journal = path_;
  }
  const std::string path_ = std::string(getenv("TEST_TMPDIR")) + "/answers.journal";
  Options options_;
};

TEST_F(JournalledMap, IsResumedByAnyNumberOfRanks) {
  constexpr uint64_t kItems = 300;
  for (const int ranks : {3, 1, 7, 16}) {
    GroupsInProcess groups(ranks);
    std::vector<std::unique_ptr<Member>> members;
    for (int rank = 0; rank < ranks; ++rank) members.push_back(JoinAs(groups, rank, Of(kItems), options_));
    const bool last = ranks == 16;
    // Each run but the last ends after a quarter of the items.
    for (uint64_t done = 0; !last && done < kItems / 4; ++done) {
      Member& member = *members[done % members.size()];
      const uint64_t item = (*member.Next())->index;
      EXPECT_TRUE(member.Commit(item, Key(item), Format::kJson, Square(item), milliseconds(300)));
    }
    if (!last) groups.SetLatest(Deadline::After(Duration::zero()));
    std::vector<std::thread> threads;
    for (auto& member : members) {
      threads.emplace_back([&member] {
        Work(*member);
        EXPECT_TRUE(member->Finish());
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(members[0]->Finish()->time_is_up, !last);
    if (!last) continue;
    EXPECT_GE(members[3]->Finish()->resumed, kItems * 3 / 4);
    EXPECT_EQ(ResultsOf(*members[3], kItems), ExpectedResults(kItems));
  }
}

TEST_F(JournalledMap, OfOtherWorkIsRefused) {
  {
    GroupsInProcess groups(1);
    const auto member = JoinAs(groups, 0, Of(3), options_);
    Work(*member);
    EXPECT_TRUE(member->Finish());
  }
  GroupsInProcess groups(1);
  const auto other = Member::Join(groups.group(0), Of(3, "cube"), options_, Deadline::After(seconds(60)));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kDisagreement);
  EXPECT_THAT(other.error().message, AllOf(HasSubstr(path_), HasSubstr("square"), HasSubstr("cube")));
}

TEST_F(JournalledMap, ThatCannotBeWrittenIsRefused) {
  options_.journal = "/proc/none/answers.journal";
  GroupsInProcess groups(2);
  for (int rank = 0; rank < 2; ++rank) {
    const auto member = Member::Join(groups.group(rank), Of(3), options_, Deadline::After(seconds(60)));
    ASSERT_FALSE(member);
    EXPECT_EQ(member.error().code, Code::kSystem);
    EXPECT_THAT(member.error().message, AllOf(StartsWith("rank 0 on gpu01: "), HasSubstr("/proc/none")));
  }
}

}  // namespace
}  // namespace muster::map
