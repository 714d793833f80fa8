#include "comm/rendezvous/control/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cstddef>
#include <future>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/rendezvous/shared_kvs.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

Deadline Soon() { return Deadline::After(seconds(10)); }

using Groups = std::vector<std::unique_ptr<Group>>;

// Every rank on a thread of its own, as if it were a process.
Groups JoinAll(const std::vector<JoinRequest>& requests) {
  std::vector<std::future<Result<std::unique_ptr<Group>>>> joining;
  for (const JoinRequest& request : requests) {
    joining.push_back(std::async(std::launch::async, [&request] { return JoinGroup(request); }));
  }
  Groups groups;
  for (auto& future : joining) {
    auto joined = future.get();
    EXPECT_TRUE(joined) << joined.error().message;
    groups.push_back(joined ? *std::move(joined) : nullptr);
  }
  return groups;
}

template <typename Work>
auto OnAll(const Groups& groups, Work work) {
  using Outcome = decltype(work(*groups.front()));
  std::vector<std::future<Outcome>> running;
  for (const auto& group : groups) {
    running.push_back(std::async(std::launch::async, [&group, &work] { return work(*group); }));
  }
  std::vector<Outcome> outcomes;
  for (auto& future : running) outcomes.push_back(future.get());
  return outcomes;
}

bool FailsWithin(const Group& group, Duration limit) {
  pollfd entry{group.failure_fd(), POLLIN, 0};
  return poll(&entry, 1, Deadline::After(limit).PollMilliseconds()) == 1;
}

// And no rank waits for those that have left to end as well.
void LeaveAll(const Groups& groups) {
  const auto start = Clock::now();
  for (const Status& left : OnAll(groups, [](Group& group) { return group.Leave(Soon()); }))
    EXPECT_TRUE(left);
  EXPECT_LT(Clock::now() - start, milliseconds(1500));
}

TEST(JoinGroup, FormsExchangesAndLeaves) {
  const Groups groups = JoinAll(MakeRequests({"a", "a", "b", "b", "c"}));
  ASSERT_EQ(groups.size(), 5u);
  for (size_t rank = 0; rank < 5; ++rank) {
    EXPECT_EQ(groups[rank]->rank(), static_cast<int>(rank));
    EXPECT_EQ(groups[rank]->roster(), groups[0]->roster());
    EXPECT_EQ(groups[rank]->key(), groups[0]->key());
    EXPECT_FALSE(groups[rank]->failure());
  }
  for (const char* name : {"first", "second"}) {
    const auto results = OnAll(groups, [name](Group& group) {
      return group.KeyedAllGather(name, Bytes{static_cast<uint8_t>(group.rank())}, Soon());
    });
    for (const auto& result : results) {
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_THAT(*result, ElementsAre(Bytes{0}, Bytes{1}, Bytes{2}, Bytes{3}, Bytes{4}));
    }
  }
  LeaveAll(groups);
  for (const auto& group : groups) EXPECT_FALSE(group->failure());
}

// As at the limit on processes, for the calling thread alone.
void DenyThreads() {
  std::array<sock_filter, 5> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{filter.size(), filter.data()};
  EXPECT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  EXPECT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

class JoinWithoutAThread : public testing::TestWithParam<size_t> {};

TEST_P(JoinWithoutAThread, GivesTheOthersTheReason) {
  const auto requests = MakeRequests({"a", "b"});
  const size_t denied = GetParam();
  auto joining = std::async(std::launch::async, [&] {
    DenyThreads();
    return JoinGroup(requests[denied]);
  });
  const auto other = JoinGroup(requests[1 - denied]);
  const auto refused = joining.get();
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_FALSE(refused);
  ASSERT_TRUE(FailsWithin(**other, seconds(10)));
  EXPECT_THAT((*other)->failure()->message,
              HasSubstr(fmt::format("cannot start the control plane's thread of rank {}", denied)));
}

INSTANTIATE_TEST_SUITE_P(All, JoinWithoutAThread, testing::Values(0, 1),
                         [](const auto& given) { return given.param == 0 ? "AtTheRoot" : "BelowIt"; });

// An mpirun that was spoken to waits for that word.
TEST(JoinGroup, TheLauncherHearsWhenItIsOver) {
  auto requests = MakeRequests({"a", "b"});
  const auto kvs_list = MeetOnBoards(requests);
  {
    const Groups groups = JoinAll(requests);
    LeaveAll(groups);
    for (const auto& kvs : kvs_list) EXPECT_FALSE(kvs->left);
  }
  for (const auto& kvs : kvs_list) EXPECT_TRUE(kvs->left);
}

TEST(JoinGroup, TheLauncherHearsOfAGroupThatDidNotForm) {
  auto requests = MakeRequests({"a", "b"});
  const auto kvs_list = MeetOnBoards(requests);
  requests[0].timeouts.rendezvous = milliseconds(100);
  EXPECT_FALSE(JoinGroup(requests[0]));
  EXPECT_TRUE(kvs_list[0]->left);
}

TEST(ReportRefusal, TheLauncherHearsWhenItIsOver) {
  auto requests = MakeRequests({"a", "b"});
  const auto kvs_list = MeetOnBoards(requests);
  requests[0].self.refused = Error{Code::kConfiguration, "rank 0 on a was refused", ""};
  requests[0].timeouts.rendezvous = milliseconds(100);
  EXPECT_EQ(ReportRefusal(requests[0]).error, *requests[0].self.refused);
  EXPECT_TRUE(kvs_list[0]->left);
}

TEST(ReportRefusal, EndsTheOthersAndComesBackWithWhatTheyWereTold) {
  std::vector<JoinRequest> requests = MakeRequests({"a", "b", "b"});
  const Error refused{Code::kBadEnvironment, "rank 2 on b was refused: RANK=0 is stale", "unset it"};
  requests[2].self.refused = refused;
  requests[0].log_file = 4711;
  auto told = std::async(std::launch::async, [&] { return ReportRefusal(requests[2]); });
  std::vector<std::future<Result<std::unique_ptr<Group>>>> joining;
  for (const size_t rank : {0, 1}) {
    joining.push_back(std::async(std::launch::async, [&, rank] { return JoinGroup(requests[rank]); }));
  }
  for (auto& future : joining) {
    const auto joined = future.get();
    ASSERT_FALSE(joined);
    EXPECT_EQ(joined.error(), refused);
  }
  const ReportedRefusal answer = told.get();
  EXPECT_EQ(answer.error, refused);
  EXPECT_TRUE(answer.elsewhere);
  EXPECT_EQ(answer.logged_in, 4711u);
}

TEST(ReportRefusal, DoesNotWaitForARootThatNeverComes) {
  std::vector<JoinRequest> requests = MakeRequests({"a", "b"});
  requests[1].self.refused = Error{Code::kConfiguration, "rank 1 on b was refused", ""};
  requests[1].timeouts.rendezvous = std::chrono::hours(1);
  const auto start = Clock::now();
  const ReportedRefusal answer = ReportRefusal(requests[1]);
  EXPECT_EQ(answer.error, *requests[1].self.refused);
  EXPECT_FALSE(answer.elsewhere);
  EXPECT_LT(Clock::now() - start, seconds(30));
}

TEST(JoinGroup, AnExchangeMayHaveNoDeadline) {
  const Groups groups = JoinAll(MakeRequests({"a", "b"}));
  const auto results =
      OnAll(groups, [](Group& group) { return group.KeyedAllGather("x", Bytes{}, Deadline::Never()); });
  for (const auto& result : results) EXPECT_TRUE(result) << result.error().message;
  LeaveAll(groups);
}

TEST(JoinGroup, AnExchangeNamesWhoDidNotTakePart) {
  const Groups groups = JoinAll(MakeRequests({"a", "a", "b"}));
  const auto result = groups[0]->KeyedAllGather("ids", Bytes{}, Deadline::After(milliseconds(50)));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kDeadline);
  EXPECT_THAT(
      result.error().message,
      testing::MatchesRegex("the exchange \"ids\" was not complete after [0-9]+ms: ranks 1 on a, 2 on b did "
                            "not take part"));
  // And that is the group's failure.
  for (const auto& group : groups) {
    ASSERT_TRUE(FailsWithin(*group, seconds(10)));
    EXPECT_EQ(*group->failure(), result.error());
  }
  EXPECT_EQ(groups[1]->KeyedAllGather("ids", Bytes{}, Soon()).error(), result.error());
}

TEST(JoinGroup, AFailureIsEverybodysAndStaysReadable) {
  const Groups groups = JoinAll(MakeRequests({"a", "a", "b"}));
  EXPECT_FALSE(FailsWithin(*groups[0], Duration::zero()));
  const Error error{Code::kDisagreement, "rank 1 on a is in Barrier", "look"};
  groups[1]->Fail(error);
  for (const auto& group : groups) {
    EXPECT_TRUE(FailsWithin(*group, seconds(10)));
    EXPECT_TRUE(FailsWithin(*group, Duration::zero()));
    EXPECT_EQ(*group->failure(), error);
  }
  for (const auto& group : groups) EXPECT_EQ(group->Leave(Soon()).error(), error);
}

TEST(JoinGroup, AListenerThatIsRemovedLeavesTheNextOneItsEvents) {
  std::promise<Error> failed;
  const Groups groups = JoinAll(MakeRequests({"a", "b"}));
  RootLink& link = *groups[1]->root_link();
  link.SetListener(0, {[](ByteView) {}, [](const Error&) {}});
  link.SetListener(1, {[](ByteView) {}, [&failed](const Error& error) { failed.set_value(error); }});
  link.SetListener(0, {});
  groups[0]->Fail({Code::kInternal, "the disk is full", ""});
  auto received = failed.get_future();
  ASSERT_EQ(received.wait_for(seconds(10)), std::future_status::ready);
  EXPECT_EQ(received.get().message, "the disk is full");
}

TEST(JoinGroup, WhoIsWaitingInAnExchangeIsWokenByAFailure) {
  const Groups groups = JoinAll(MakeRequests({"a", "b"}));
  auto waiting = std::async(std::launch::async,
                            [&] { return groups[1]->KeyedAllGather("x", Bytes{}, Deadline::Never()); });
  groups[0]->Fail({Code::kInternal, "over", ""});
  const auto result = waiting.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "over");
}

TEST(JoinGroup, WhoWaitsInLeaveHearsOfAFailure) {
  Groups groups = JoinAll(MakeRequests({"a", "a", "b", "b"}));
  const auto leave = [](Group& group) {
    return std::async(std::launch::async, [&group] { return group.Leave(Soon()); });
  };
  auto root = leave(*groups[0]);
  auto leader = leave(*groups[2]);
  EXPECT_TRUE(groups[1]->Leave(Soon())) << "nobody needs a follower";
  groups[3].reset();
  const Error error{Code::kPeerLost, "rank 3 on b ended without leaving its group", ""};
  for (auto* waiting : {&root, &leader}) {
    const Status left = waiting->get();
    ASSERT_FALSE(left);
    EXPECT_EQ(left.error(), error);
  }
}

TEST(JoinGroup, WhoLeavesAFailedGroupHearsOfItEveryTime) {
  for (int round = 0; round < 20; ++round) {
    Groups groups = JoinAll(MakeRequests({"a", "b"}));
    groups[0].reset();
    ASSERT_TRUE(FailsWithin(*groups[1], seconds(10)));
    EXPECT_FALSE(groups[1]->Leave(Soon())) << round;
  }
}

TEST(JoinGroup, LeavingDoesNotWaitForeverForOthers) {
  const LogCapture log;
  Groups groups = JoinAll(MakeRequests({"a", "a", "b", "b"}));
  // The root and a leader go although others are at work: those go on without them.
  EXPECT_TRUE(groups[2]->Leave(Deadline::After(milliseconds(20))));
  groups[2].reset();
  EXPECT_TRUE(groups[0]->Leave(Deadline::After(milliseconds(20))));
  groups[0].reset();
  EXPECT_THAT(log.Text(),
              HasSubstr("other ranks are still at work; the group's control plane ends with this process"));
  EXPECT_FALSE(FailsWithin(*groups[1], milliseconds(100)));
  EXPECT_FALSE(FailsWithin(*groups[3], Duration::zero()));
  const auto start = Clock::now();
  EXPECT_TRUE(groups[1]->Leave(Soon()));
  EXPECT_TRUE(groups[3]->Leave(Soon()));
  EXPECT_LT(Clock::now() - start, seconds(5)) << "nobody is left to wait for";
}

TEST(JoinGroup, WhoDoesNotFormSaysWhy) {
  auto requests = MakeRequests({"a", "b"});
  requests[1].timeouts.rendezvous = seconds(1);
  const auto joined = JoinGroup(requests[1]);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, Code::kDeadline);
  EXPECT_EQ(
      joined.error().message,
      fmt::format("the root, rank 0 on 127.0.0.1, did not answer within 1s; 127.0.0.1:{}: Connection refused",
                  requests[1].meeting.endpoint->port));
}

TEST(GroupOfOne, WorksAndOpensNothing) {
  const auto before = net::OpenDescriptors();
  const auto group = MakeGroupOfOne("here");
  EXPECT_EQ(group->rank(), 0);
  EXPECT_EQ(group->roster().nodes, (std::vector<Roster::Node>{{"here", {}}}));
  EXPECT_EQ(group->roster().members, (std::vector<Roster::Member>{{0, 0, getpid(), {}}}));
  EXPECT_EQ(group->roster().group_id, "");
  EXPECT_THAT(*group->KeyedAllGather("x", Bytes{5}, Soon()), ElementsAre(Bytes{5}));
  EXPECT_EQ(group->failure_fd(), -1);
  group->Fail({Code::kInternal, "first", ""});
  group->Fail({Code::kInternal, "second", ""});
  EXPECT_EQ(group->failure()->message, "first");
  EXPECT_TRUE(group->Leave(Soon()));
  EXPECT_LE(net::OpenDescriptors(), before);
}

// ---- processes

// A rank in a process of its own that forms its group and then lives until it is killed.
class Process {
 public:
  explicit Process(const JoinRequest& request) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(ready[0]);
      auto group = JoinGroup(request);
      if (!group) _exit(1);
      [[maybe_unused]] const ssize_t told = write(ready[1], "x", 1);
      while (true) pause();
    }
    close(ready[1]);
    ready_ = UniqueFd(ready[0]);
  }
  ~Process() {
    Signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  bool Formed() const {
    char byte = 0;
    return read(ready_.get(), &byte, 1) == 1;
  }
  void Signal(int number) const { kill(pid_, number); }

 private:
  pid_t pid_ = 0;
  UniqueFd ready_;
};

struct KillCase {
  const char* name;
  size_t killed;
  const char* message;
};
class KillTest : public testing::TestWithParam<KillCase> {};

// Ranks 1 to 4 are processes of their own, made before this one has threads; rank 0 or 1 is here.
TEST_P(KillTest, IsKnownToTheOthersByName) {
  const auto requests = MakeRequests({"a", "a", "b", "b", "c"});
  const size_t here = GetParam().killed == 0 ? 1 : 0;
  std::vector<std::unique_ptr<Process>> processes(5);
  for (size_t rank = 0; rank < 5; ++rank) {
    if (rank != here) processes[rank] = std::make_unique<Process>(requests[rank]);
  }
  auto group = JoinGroup(requests[here]);
  ASSERT_TRUE(group) << group.error().message;
  for (const auto& process : processes) {
    if (!process) continue;
    ASSERT_TRUE(process->Formed());
  }
  processes[GetParam().killed]->Signal(SIGKILL);
  ASSERT_TRUE(FailsWithin(**group, seconds(10)));
  EXPECT_EQ(*(*group)->failure(), (Error{Code::kPeerLost, GetParam().message, ""}));
}

INSTANTIATE_TEST_SUITE_P(
    All, KillTest,
    testing::Values(KillCase{"Root", 0, "rank 0 on a ended without leaving its group"},
                    KillCase{"Follower", 1, "rank 1 on a ended without leaving its group"},
                    KillCase{"Leader", 2, "rank 2 on b ended without leaving its group"},
                    KillCase{"FarFollower", 3, "rank 3 on b ended without leaving its group"},
                    KillCase{"Alone", 4, "rank 4 on c ended without leaving its group"}),
    [](const auto& given) { return given.param.name; });

// The acts of a forked child on its copy of the group concern no other process.
TEST(ForkedChild, MayDestroyItsCopyOfTheGroup) {
  Groups groups = JoinAll(MakeRequests({"a", "a", "b"}));
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    groups.clear();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const auto results = OnAll(groups, [](Group& group) { return group.KeyedAllGather("x", Bytes{}, Soon()); });
  for (const auto& result : results) EXPECT_TRUE(result) << result.error().message;
  LeaveAll(groups);
}

}  // namespace
}  // namespace muster::rendezvous
