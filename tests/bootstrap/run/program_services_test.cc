#include "bootstrap/run/program_services.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "comm/rendezvous/control/join.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::run {
namespace {

using rendezvous::RankState;
using std::chrono::seconds;
using testing::ElementsAre;

// Those of the supervisor of rank 1.
class ProgramServicesTest : public testing::Test {
 protected:
  ProgramServicesTest() : requests(rendezvous::MakeRequests({"a", "b"})), group(loop, requests) {
    EXPECT_TRUE(group.AllFormed());
    verdict.Formed(group[1].plane().group(), {1});
    plan.join = requests[1];
    plan.join->uid = getuid();
    plan.configuration = "log: {level: debug}\n";
    services = std::make_unique<ProgramServices>(*loop, plan, verdict, programs);
    services->AddTo(events);
  }
  Status Open() {
    return services->Open(group[1].plane(),
                          [this](int rank, pid_t process) { lost.emplace_back(rank, process); });
  }
  std::vector<RankState> States() {
    std::vector<RankState> states;
    bool answered = false;
    rendezvous::Survey survey;
    survey.milliseconds = 100;
    events.report_own(survey, [&](const rendezvous::Surveyor::Reports& reports) {
      for (const rendezvous::RankReport& report : reports) states.push_back(report.state);
      answered = true;
    });
    EXPECT_TRUE(loop.Until([&] { return answered; }));
    return states;
  }

  net::TestLoop loop;
  std::vector<rendezvous::JoinRequest> requests;
  rendezvous::TestGroup group;
  SupervisorPlan plan;
  RunVerdict verdict{RunFacts()};
  report::RunRecorder recorder{{}};
  Programs programs{*loop, plan, recorder, [] {}, [](const EndedProgram&) {}};
  rendezvous::ControlPlane::Events events;
  std::vector<std::pair<int, pid_t>> lost;
  std::unique_ptr<ProgramServices> services;
};

TEST_F(ProgramServicesTest, AnswerBeforeProgramsCanJoin) {
  EXPECT_EQ(services->server(), nullptr);
  events.on_map_message(1, {});
  events.on_job_end(Deadline::Never());
  EXPECT_THAT(States(), ElementsAre(RankState::kProgram));
  EXPECT_EQ(events.whose({}).kind, rendezvous::OwnerKind::kNoOwner);
}

TEST_F(ProgramServicesTest, AProgramJoinsAndIsLost) {
  ASSERT_TRUE(Open());
  EXPECT_THAT(States(), ElementsAre(RankState::kProgram));
  auto joining = std::async(std::launch::async, [&] {
    return rendezvous::AdoptGroup(services->server()->path(), group[1].roster().group_id, 1, getuid(), {},
                                  Deadline::After(seconds(10)));
  });
  ASSERT_TRUE(loop.Until([&] {
    loop->After(std::chrono::milliseconds(2), [] {});
    return joining.wait_for(seconds(0)) == std::future_status::ready;
  }));
  auto adopted = joining.get();
  ASSERT_TRUE(adopted);
  EXPECT_EQ(adopted->configuration, plan.configuration);
  EXPECT_THAT(States(), ElementsAre(RankState::kInGroup));
  EXPECT_THAT(lost, testing::IsEmpty());
  adopted = tl::unexpected(Error{});
  ASSERT_TRUE(loop.Until([&] { return !lost.empty(); }));
  EXPECT_THAT(lost, ElementsAre(std::pair(1, getpid())));
}

}  // namespace
}  // namespace muster::run
