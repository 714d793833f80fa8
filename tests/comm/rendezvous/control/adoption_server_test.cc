#include "comm/rendezvous/control/adoption_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>

#include "comm/map/messages.h"
#include "comm/net/frame_stream.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/control/join.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/group/in_barrier.h"
#include "tests/comm/net/test_base.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

// Two supervisors on this loop; their programs are on threads of their own.
class AdoptionServerTest : public testing::Test {
 protected:
  AdoptionServerTest() : group(loop, std::vector<std::string>{"a", "b"}) {
    EXPECT_TRUE(group.AllFormed());
    for (const size_t node : {size_t{0}, size_t{1}}) {
      auto server =
          AdoptionServer::Open(*loop, group[node].plane(), {getuid(), "log: {level: debug}\n", "job 7"},
                               [this](int rank, pid_t process) { lost.emplace_back(rank, process); });
      EXPECT_TRUE(server);
      servers.push_back(*std::move(server));
    }
    Tick();
  }
  // Looks at what the threads have done every few milliseconds.
  void Tick() {
    loop->After(std::chrono::milliseconds(2), [this] { Tick(); });
  }
  std::string group_id() { return group[0].roster().group_id; }

  template <typename T>
  T OnThread(std::function<T()> work) {
    auto future = std::async(std::launch::async, std::move(work));
    EXPECT_TRUE(loop.Until([&] { return future.wait_for(seconds(0)) == std::future_status::ready; }));
    return future.get();
  }
  Result<AdoptedGroup> Adopt(size_t rank, const std::string& id) {
    return OnThread<Result<AdoptedGroup>>([&] {
      return AdoptGroup(servers[rank]->path(), id, static_cast<int>(rank), getuid(), {},
                        Deadline::After(seconds(10)));
    });
  }
  std::unique_ptr<AdoptionServer> OpenDesk(const Versions& versions) {
    auto server = AdoptionServer::Open(*loop, group[0].plane(),
                                       {getuid(), "", "", net::PrivateBases(), versions}, [](int, pid_t) {});
    EXPECT_TRUE(server);
    return *std::move(server);
  }
  Result<AdoptedGroup> AdoptFrom(const AdoptionServer& server, const Versions& versions) {
    return OnThread<Result<AdoptedGroup>>([&] {
      return AdoptGroup(server.path(), group_id(), 0, getuid(), {}, Deadline::After(seconds(60)), versions);
    });
  }
  // The supervisor's reactions to the events of its plane.
  void PassOn() {
    for (const size_t rank : {size_t{0}, size_t{1}}) {
      for (const KeyedAllGather& whole : group[rank].exchanged) servers[rank]->Publish(whole);
      group[rank].exchanged.clear();
      if (!group[rank].failures.empty() && announced.insert(rank).second) {
        servers[rank]->Announce(group[rank].failures.front());
      }
    }
  }

  net::TestLoop loop;
  TestGroup group;
  std::vector<std::unique_ptr<AdoptionServer>> servers;
  std::vector<std::pair<int, pid_t>> lost;
  std::set<size_t> announced;
};

// The layout for programs is that of older releases: without each rank's process.
Roster AsProgramsGetIt(Roster roster) {
  for (Roster::Member& member : roster.members.own()) member.process = -1;
  return roster;
}

TEST_F(AdoptionServerTest, AProgramIsGivenItsGroup) {
  const auto adopted = Adopt(1, group_id());
  ASSERT_TRUE(adopted) << adopted.error().message;
  EXPECT_EQ(adopted->group->rank(), 1);
  EXPECT_EQ(adopted->group->roster(), AsProgramsGetIt(group[1].roster()));
  EXPECT_EQ(adopted->group->key(), group[1].plane().group().key);
  EXPECT_EQ(adopted->configuration, "log: {level: debug}\n");
  EXPECT_EQ(adopted->job_key, "job 7");
  EXPECT_EQ(adopted->incarnation, 0);
  EXPECT_TRUE(IsSupervisorThere(servers[1]->path(), getuid()));
  EXPECT_FALSE(IsSupervisorThere(servers[1]->path(), getuid() + 1));
  EXPECT_EQ(OtherOwnerOf(servers[1]->path(), getuid()), std::nullopt);
  EXPECT_EQ(OtherOwnerOf(servers[1]->path(), getuid() + 1), getuid());
}

TEST_F(AdoptionServerTest, TheNextProgramIsCounted) {
  for (const int incarnation : {0, 1, 2}) {
    auto adopted = Adopt(0, group_id());
    ASSERT_TRUE(adopted);
    EXPECT_EQ(adopted->incarnation, incarnation);
    EXPECT_TRUE(OnThread<Status>([&] { return adopted->group->Leave(Deadline::After(seconds(10))); }));
  }
  loop.Settle();
  EXPECT_TRUE(lost.empty());
}

// A leave message belongs to one group of programs, not to the next one of the same rank.
TEST_F(AdoptionServerTest, AProgramHasLeftUntilTheNextGroupOfProgramsHasFormed) {
  const auto form = [&](const std::vector<Group*>& programs) {
    std::vector<std::future<bool>> formed;
    for (Group* program : programs) {
      formed.push_back(std::async(std::launch::async, [program] {
        return program->KeyedAllGather("x", {}, Deadline::After(seconds(60))).has_value();
      }));
    }
    for (std::future<bool>& one : formed) {
      EXPECT_TRUE(loop.Until([&] {
        PassOn();
        return one.wait_for(seconds(0)) == std::future_status::ready;
      }));
      EXPECT_TRUE(one.get());
    }
  };
  const auto leave = [&](const Result<AdoptedGroup>& adopted) {
    EXPECT_TRUE(OnThread<Status>([&] { return adopted->group->Leave(Deadline::After(seconds(60))); }));
  };
  const auto zero = Adopt(0, group_id());
  const auto one = Adopt(1, group_id());
  ASSERT_TRUE(zero && one);
  EXPECT_FALSE(servers[1]->HasLeft(1)) << "no group of programs has formed";
  form({zero->group.get(), one->group.get()});
  EXPECT_FALSE(servers[1]->HasLeft(1));
  leave(one);
  EXPECT_TRUE(servers[1]->HasLeft(1));
  EXPECT_FALSE(servers[0]->HasLeft(0));
  const auto one_again = Adopt(1, group_id());
  EXPECT_TRUE(servers[1]->HasLeft(1)) << "rank 0 is in the group before";
  leave(zero);
  const auto zero_again = Adopt(0, group_id());
  ASSERT_TRUE(zero_again && one_again);
  form({zero_again->group.get(), one_again->group.get()});
  for (const int rank : {0, 1}) EXPECT_FALSE(servers[static_cast<size_t>(rank)]->HasLeft(rank));
  leave(one_again);
  EXPECT_TRUE(servers[1]->HasLeft(1));
  EXPECT_FALSE(servers[0]->HasLeft(0));
  leave(zero_again);
}

TEST_F(AdoptionServerTest, AProgramThatEndsWithoutAGoodbyeIsLost) {
  {
    const auto adopted = Adopt(1, group_id());
    ASSERT_TRUE(adopted);
  }
  ASSERT_TRUE(loop.Until([&] { return !lost.empty(); }));
  EXPECT_THAT(lost, ElementsAre(std::pair(1, getpid())));
}

TEST_F(AdoptionServerTest, AForeignGroupIsALeftover) {
  const auto adopted = Adopt(0, std::string(32, '0'));
  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error(), (Error{Code::kBadEnvironment,
                                    fmt::format("MUSTER_CONTROL={} belongs to group {}, MUSTER_GROUP is {}",
                                                servers[0]->path(), group_id(), std::string(32, '0')),
                                    ""}));
}

TEST_F(AdoptionServerTest, ARankOfAnotherSupervisorIsRefused) {
  const LogCapture log;
  const auto adopted = OnThread<Result<AdoptedGroup>>([&] {
    return AdoptGroup(servers[0]->path(), group_id(), 1, getuid(), {}, Deadline::After(seconds(10)));
  });
  ASSERT_FALSE(adopted);
  EXPECT_EQ(
      adopted.error(),
      (Error{Code::kBadEnvironment,
             fmt::format("the supervisor at MUSTER_CONTROL={} does not know rank 1", servers[0]->path()),
             ""}));
  EXPECT_THAT(log.Text(),
              HasSubstr("a program requested to be rank 1, which is not one of this supervisor's"));
}

// Also while a map is at work.
TEST_F(AdoptionServerTest, AProgramsSurveyHasTheLayoutOfTheReleaseBefore) {
  group[1].plane().maps().SendToRoot(1, map::Encode(0, map::Join{{3, {}, {}, "a map"}, {}}));
  ASSERT_TRUE(loop.Until([&] { return !group[1].map_messages.empty(); }));
  ASSERT_EQ(group[0].plane().maps().LookAtAll().size(), 1U);
  auto fd = net::StartConnect(*net::SocketAddress::Path(servers[1]->path()));
  ASSERT_TRUE(fd);
  net::FrameStream program(*loop, *std::move(fd), kLongestMessage);
  std::optional<Result<Surveyed>> answer;
  program.Start(
      [&](ByteView frame) {
        if (ControlTypeOf(frame) == ControlType::kSurveyed) answer = Decode<Surveyed>(frame);
      },
      [](const Error&) {});
  program.Send(Encode(Versions{2, 2, "0.1.0"}));
  program.Send(Encode(Survey{7, 60000, {}}));
  ASSERT_TRUE(loop.Until([&] { return answer.has_value(); }));
  ASSERT_TRUE(*answer);
  EXPECT_EQ((*answer)->reports.size(), 2U);
  EXPECT_TRUE((*answer)->maps.empty());
}

// A program and a supervisor of neighbouring releases, either of them the newer one.
TEST_F(AdoptionServerTest, ANeighbouringReleaseIsAdopted) {
  const Versions older{6, 7, "0.6.0"};
  const Versions newer{7, 8, "0.7.0"};
  for (const auto& [ours, theirs] : {std::pair(older, newer), std::pair(newer, older)}) {
    const auto server = OpenDesk(ours);
    const auto adopted = AdoptFrom(*server, theirs);
    ASSERT_TRUE(adopted) << adopted.error().message;
    EXPECT_EQ(adopted->group->roster(), AsProgramsGetIt(group[0].roster()));
  }
}

TEST_F(AdoptionServerTest, AnotherReleaseIsRefusedOnBothSides) {
  const Versions older{5, 6, "0.5.0"};
  const Versions newer{7, 8, "0.7.0"};
  for (const auto& [ours, theirs] : {std::pair(older, newer), std::pair(newer, older)}) {
    const LogCapture log;
    const auto server = OpenDesk(ours);
    const auto adopted = AdoptFrom(*server, theirs);
    ASSERT_FALSE(adopted);
    EXPECT_EQ(
        adopted.error(),
        (Error{Code::kDisagreement,
               fmt::format("the supervisor at MUSTER_CONTROL={} has muster {} (protocol {}-{}), this program "
                           "has muster {} (protocol {}-{})",
                           server->path(), ours.release, ours.oldest, ours.newest, theirs.release,
                           theirs.oldest, theirs.newest),
               "install the same release of muster, or the next one, inside and outside"}));
    EXPECT_THAT(log.Text(),
                HasSubstr(fmt::format("refused a program: pid {} has muster {} (protocol {}-{}), this "
                                      "supervisor has muster {} (protocol {}-{})",
                                      getpid(), theirs.release, theirs.oldest, theirs.newest, ours.release,
                                      ours.oldest, ours.newest)));
  }
}

TEST_F(AdoptionServerTest, AProgramWithoutVersionsIsNotLeftWaiting) {
  const LogCapture log;
  auto fd = net::StartConnect(*net::SocketAddress::Path(servers[0]->path()));
  ASSERT_TRUE(fd);
  net::FrameStream program(*loop, *std::move(fd), kLongestMessage);
  bool closed = false;
  program.Start([](ByteView) { ADD_FAILURE(); }, [&](const Error&) { closed = true; });
  program.Send(Encode(AdoptionRequest{0}));
  EXPECT_TRUE(loop.Until([&] { return closed; }));
  EXPECT_THAT(log.Text(), HasSubstr("did not send its versions, this supervisor has muster "));
}

class RefusedPrograms : public AdoptionServerTest {
 protected:
  // Five lines of this end, then the number of the others.
  void AreAFewLines(uid_t uid, const Bytes& first_frame, const std::string& said) {
    constexpr int kPrograms = 50;
    const LogCapture log;
    auto server = AdoptionServer::Open(*loop, group[0].plane(), {uid, "", ""}, [](int, pid_t) {});
    ASSERT_TRUE(server);
    std::vector<std::unique_ptr<net::FrameStream>> programs;
    int answered = 0;
    for (int i = 0; i < kPrograms; ++i) {
      auto fd = net::StartConnect(*net::SocketAddress::Path((*server)->path()));
      ASSERT_TRUE(fd);
      programs.push_back(std::make_unique<net::FrameStream>(*loop, *std::move(fd), kLongestMessage));
      programs.back()->Start([&](ByteView) { ++answered; }, [&](const Error&) { ++answered; });
      if (!first_frame.empty()) programs.back()->Send(first_frame);
    }
    ASSERT_TRUE(loop.Until([&] { return answered == kPrograms; }));
    std::string expected;
    for (int i = 0; i < 5; ++i) expected += "muster: warning: refused a program" + said + "\n";
    EXPECT_EQ(log.Text(), expected);
    // The sum is written when no listener of the process is left.
    server->reset();
    servers.clear();
    for (const size_t rank : {size_t{0}, size_t{1}}) group.Kill(rank);
    EXPECT_THAT(log.Text(),
                testing::EndsWith("muster: warning: rejected 45 more connections of programs (not "
                                  "logged one by one)\n"));
  }
  const std::string name = fmt::format("pid {}", getpid());
  const Versions ours{};
};

TEST_F(RefusedPrograms, OfAnotherUserAreAFewLines) {
  AreAFewLines(getuid() + 1, {}, fmt::format(" of uid {}", getuid()));
}

TEST_F(RefusedPrograms, OfAnotherVersionAreAFewLines) {
  const Versions theirs{98, 99, "9.9.0"};
  AreAFewLines(getuid(), Encode(theirs),
               ": " + ToString(CommonVersion({"this supervisor", ours}, {name, theirs}).error()));
}

TEST_F(RefusedPrograms, WithoutVersionsAreAFewLines) {
  AreAFewLines(
      getuid(), Encode(AdoptionRequest{0}),
      fmt::format(": {} did not send its versions, this supervisor has muster {}", name, ours.release));
}

TEST_F(AdoptionServerTest, WithoutASupervisorItSaysSo) {
  const net::TestBase base;
  const std::string control = base.path + "/muster-0-0-0/control-0";
  const auto adopted = AdoptGroup(control, group_id(), 0, getuid(), {}, Deadline::After(seconds(10)));
  ASSERT_FALSE(adopted);
  EXPECT_EQ(
      adopted.error(),
      (Error{
          Code::kBadEnvironment,
          fmt::format("no supervisor answers at MUSTER_CONTROL={0}: cannot connect to unix:{0}: No such file "
                      "or directory",
                      control),
          "unset MUSTER_CONTROL, because the muster run that set it has ended; or start this program under "
          "muster run"}));
  EXPECT_FALSE(IsSupervisorThere(control, getuid()));
  // The value of older versions, and values that a user may have set.
  for (const char* other : {"muster-control-0-0", "", "/", "/dev/null"})
    EXPECT_FALSE(IsSupervisorThere(other, getuid())) << other;
  for (const std::string& other :
       {control, std::string("muster-control-0-0"), std::string("/"), std::string("/dev/null")})
    EXPECT_EQ(OtherOwnerOf(other, getuid() + 1), std::nullopt) << other;
}

TEST_F(AdoptionServerTest, OfAKilledSupervisorIsALeftover) {
  const net::TestBase base;
  std::string path;
  {
    const auto killed =
        net::PrivateSocket::OpenIn(base.path, "control-1", net::PrivateSocket::Kind::kListener);
    path = killed->name.path();
    // Its file stays.
    ASSERT_EQ(link(path.c_str(), (base.path + "/left").c_str()), 0);
  }
  EXPECT_FALSE(IsSupervisorThere(base.path + "/left", getuid()));
  EXPECT_FALSE(IsSupervisorThere(path, getuid()));
}

// It starts many programs, and accepts none meanwhile. Before Linux 5.4 its queue has 128 places.
TEST_F(AdoptionServerTest, ASupervisorWithAFullQueueIsWaitedFor) {
  const std::string path = servers[1]->path();
  const auto waiting = net::FillQueue(path);
  EXPECT_TRUE(IsSupervisorThere(path, getuid()));
  EXPECT_FALSE(IsSupervisorThere(path, getuid() + 1));
  const auto late =
      AdoptGroup(path, group_id(), 1, getuid(), {}, Deadline::After(std::chrono::milliseconds(5)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error(),
            (Error{Code::kDeadline,
                   fmt::format("the supervisor at MUSTER_CONTROL={} accepts no connection", path), ""}));
  const auto adopted = Adopt(1, group_id());
  EXPECT_TRUE(adopted) << adopted.error().message;
}

// A container without /dev/shm and /tmp of the node: no leftover, and not its own fault.
TEST_F(AdoptionServerTest, ASupervisorWhoseDirectoryIsNotSeenIsExplained) {
  const net::TestBase base;
  const auto supervisor = net::PrivateSocket::OpenIn(base.path, net::UniqueSocketName("control"),
                                                     net::PrivateSocket::Kind::kListener);
  ASSERT_TRUE(supervisor);
  const std::string here = "/no-such-place/muster-0-0-0/" + supervisor->name.socket();
  EXPECT_TRUE(IsSupervisorThere(here, getuid()));
  // Any user can bind a socket of that name elsewhere.
  EXPECT_FALSE(IsSupervisorThere(here, getuid() + 1));
  const auto adopted = AdoptGroup(here, group_id(), 0, getuid(), {}, Deadline::After(seconds(10)));
  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error(),
            (Error{Code::kBadEnvironment,
                   fmt::format("the supervisor runs, but its socket, MUSTER_CONTROL={}, cannot be reached: "
                               "this process is in a container that does not share /no-such-place, or "
                               "/no-such-place/muster-0-0-0 was removed",
                               here),
                   "bind /no-such-place into the container; against systemd-logind's removal at logout: "
                   "loginctl enable-linger"}));
}

TEST_F(AdoptionServerTest, ALongPathServesAsWell) {
  const net::TestBase base;
  const std::string deep = base.path + "/" + std::string(100, 'x');
  std::filesystem::create_directory(deep);
  auto server =
      AdoptionServer::Open(*loop, group[0].plane(), {getuid(), "", "job 7", {deep}}, [](int, pid_t) {});
  ASSERT_TRUE(server);
  servers[0] = *std::move(server);
  ASSERT_TRUE(servers[0]->path().starts_with(deep));
  const auto adopted = Adopt(0, group_id());
  EXPECT_TRUE(adopted) << adopted.error().message;
}

TEST_F(AdoptionServerTest, ASupervisorThatDoesNotAnswerIsWaitedForOnlySoLong) {
  const net::TestBase base;
  const std::string name = base.path + "/silent";
  const auto listener = net::Listen(*net::SocketAddress::Path(name));
  const auto adopted =
      AdoptGroup(name, group_id(), 0, getuid(), {}, Deadline::After(std::chrono::milliseconds(20)));
  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error(),
            (Error{Code::kDeadline,
                   fmt::format("the supervisor at MUSTER_CONTROL={} did not answer in time", name), ""}));
}

TEST_F(AdoptionServerTest, ProgramsExchangeThroughTheirSupervisors) {
  auto first = Adopt(0, group_id());
  auto second = Adopt(1, group_id());
  ASSERT_TRUE(first && second);
  const auto exchange = [](const Result<AdoptedGroup>& program, uint8_t byte) {
    return std::async(std::launch::async, [&program, byte] {
      return program->group->KeyedAllGather("ids", Bytes{byte}, Deadline::After(seconds(10)));
    });
  };
  auto a = exchange(first, 7);
  auto b = exchange(second, 8);
  ASSERT_TRUE(loop.Until([&] {
    PassOn();
    return a.wait_for(seconds(0)) == std::future_status::ready &&
           b.wait_for(seconds(0)) == std::future_status::ready;
  }));
  for (const auto& got : {a.get(), b.get()}) {
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_THAT(*got, ElementsAre(Bytes{7}, Bytes{8}));
  }
}

TEST_F(AdoptionServerTest, AProgramsQuestionReachesTheOtherSupervisors) {
  auto adopted = Adopt(1, group_id());
  ASSERT_TRUE(adopted);
  const auto in_barrier = std::make_shared<InBarrier>();
  adopted->group->activity().Add(in_barrier);
  // These supervisors answer by themselves, that their ranks are in no operation. Without an answer the
  // program has its own operation alone, and takes the other rank for silent.
  EXPECT_EQ(
      OnThread<std::string>([&] { return adopted->group->MissingRanks(kWorldCommunicator, 1, seconds(5)); }),
      "");
  adopted->group->activity().Remove(in_barrier.get());
}

TEST_F(AdoptionServerTest, AProgramsFailureIsTheGroups) {
  auto first = Adopt(0, group_id());
  auto second = Adopt(1, group_id());
  ASSERT_TRUE(first && second);
  const Error error{Code::kDisagreement, "rank 1 found out", "hint"};
  second->group->Fail(error);
  ASSERT_TRUE(loop.Until([&] {
    PassOn();
    return first->group->failure() && second->group->failure();
  }));
  EXPECT_EQ(*first->group->failure(), error);
  EXPECT_EQ(*second->group->failure(), error);
  EXPECT_EQ(group[0].failures.front().rank, 1);
  // A program that comes later gets it as well.
  const auto late = Adopt(0, group_id());
  ASSERT_TRUE(late);
  ASSERT_TRUE(loop.Until([&] { return late->group->failure().has_value(); }));
}

TEST_F(AdoptionServerTest, ASupervisorThatEndsIsNamed) {
  auto adopted = Adopt(1, group_id());
  ASSERT_TRUE(adopted);
  servers[1].reset();
  ASSERT_TRUE(loop.Until([&] { return adopted->group->failure().has_value(); }));
  EXPECT_EQ(*adopted->group->failure(),
            (Error{Code::kPeerLost, "the supervisor of rank 1 on b ended without leaving its group", ""}));
}

TEST_F(AdoptionServerTest, WhoTalksNonsenseIsTurnedAway) {
  auto fd = net::StartConnect(*net::SocketAddress::Path(servers[0]->path()));
  ASSERT_TRUE(fd);
  bool closed = false;
  net::FrameStream stream(*loop, *std::move(fd), 1000);
  stream.Start([](ByteView) {}, [&](const Error&) { closed = true; });
  stream.Send(AsBytes("GET /"));
  ASSERT_TRUE(loop.Until([&] { return closed; }));
  EXPECT_TRUE(lost.empty());
}

}  // namespace
}  // namespace muster::rendezvous
