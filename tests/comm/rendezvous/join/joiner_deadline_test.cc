// The error at the deadline, by how far a process has come.
#include <gtest/gtest.h>

#include "comm/rendezvous/join/joiner.h"
#include "tests/comm/base/print_error.h"

namespace muster::rendezvous {
namespace {

const std::string kHint = "raise timeouts.rendezvous to wait longer";
const std::string kFormedHint =
    "check that it runs, that this node resolves its name, and that no firewall blocks rendezvous.ports; "
    "if it starts late, raise timeouts.rendezvous; a formed group accepts no further process: this one "
    "may be a duplicate";

// The root is on b, or on this node.
Meeting MeetingOn(const std::string& host) {
  Meeting meeting;
  meeting.find_root = FindRoot::kHost;
  meeting.host = host;
  return meeting;
}

UnformedGroup After1s(const std::function<void(UnformedGroup&)>& change) {
  UnformedGroup group;
  group.limit = std::chrono::seconds(1);
  change(group);
  return group;
}

TEST(DescribeDeadline, TellsHowFarTheProcessHasCome) {
  struct Row {
    std::string root_host;
    std::function<void(UnformedGroup&)> change;
    std::string message;
    std::string hint;
  };
  for (const Row& row : {
           Row{"a", [](UnformedGroup& group) { group.arrived = "3/4 ranks; missing b: 3"; },
               "the group did not form within 1s: 3/4 ranks; missing b: 3", kHint},
           Row{"b",
               [](UnformedGroup& group) {
                 group.accepted = true;
                 group.upstream = "rank 0 on b";
               },
               "the group did not form within 1s, and rank 0 on b fell silent", kHint},
           Row{"b", [](UnformedGroup& group) { group.upstream = "the leader of a"; },
               "the leader of a accepted the connection and sent nothing for 1s", kHint},
           Row{"b",
               [](UnformedGroup& group) {
                 group.upstream = "the leader of c";
                 group.below_a_leader = true;
               },
               "the root, rank 0 on b, did not answer within 1s; the leader of c waits for it as well",
               kHint},
           Row{"b", [](UnformedGroup& group) { group.leader = true; },
               "the root, rank 0 on b, did not answer within 1s", kFormedHint},
           Row{"b",
               [](UnformedGroup& group) {
                 group.leader = true;
                 group.problem = "b: no such host";
               },
               "the root, rank 0 on b, did not answer within 1s; b: no such host", kFormedHint},
           Row{"b", [](UnformedGroup&) {},
               "local rank 0 on a did not appear, and the root, rank 0 on b, did not answer within 1s",
               kFormedHint},
           Row{"b", [](UnformedGroup& group) { group.alone = true; },
               "the root, rank 0 on b, did not answer within 1s", kFormedHint},
           Row{"a", [](UnformedGroup&) {}, "the root, rank 0 on a, did not appear within 1s", kHint},
           Row{"a", [](UnformedGroup& group) { group.name_is_taken_elsewhere = true; },
               "the root, rank 0 on a, did not appear within 1s; a socket of its name is in a directory that "
               "this "
               "process cannot reach",
               kHint + "; if it is the root's, bind /dev/shm or /tmp of the node into the container"},
           Row{"a", [](UnformedGroup& group) { group.leader = true; },
               "the root, rank 0 on a, did not answer within 1s", kFormedHint},
       }) {
    const Error expected{Code::kDeadline, row.message, row.hint};
    EXPECT_EQ(DescribeDeadline(MeetingOn(row.root_host), "a", After1s(row.change)), expected);
  }
}

// The root may have waited for this process, and ended long ago.
TEST(DescribeDeadline, AProcessThatWasStoppedNamesItself) {
  const auto describe = [](Duration stopped) {
    return DescribeDeadline(MeetingOn("b"), "a", After1s([stopped](UnformedGroup& group) {
                              group.rank = 5;
                              group.stopped = stopped;
                              group.leader = true;
                            }));
  };
  EXPECT_EQ(describe(std::chrono::seconds(20)),
            (Error{Code::kDeadline,
                   "rank 5 on a was stopped for 20.0 s or longer, until after its deadline of 1s", ""}));
  EXPECT_EQ(describe(std::chrono::milliseconds(100)).message,
            "the root, rank 0 on b, did not answer within 1s");
}

// Seed 508738 of the simulation: the ranks that had not reached it meanwhile were named.
TEST(DescribeDeadline, ARootThatWasStoppedShortlyBeforeNamesItself) {
  const auto describe = [](Duration before, const std::function<void(UnformedGroup&)>& change) {
    return DescribeDeadline(MeetingOn("a"), "a", After1s([&](UnformedGroup& group) {
                              group.stopped = std::chrono::seconds(20);
                              group.before_deadline = before;
                              change(group);
                            }))
        .message;
  };
  const auto as_root = [](UnformedGroup& group) { group.arrived = "3/4 ranks; missing b: 3"; };
  EXPECT_EQ(describe(std::chrono::seconds(5), as_root),
            "rank 0 on a was stopped for 20.0 s or longer, until 5.0 s before its deadline of 1s");
  EXPECT_EQ(describe(std::chrono::seconds(15), as_root),
            "the group did not form within 1s: 3/4 ranks; missing b: 3");
  EXPECT_EQ(describe(std::chrono::seconds(5), [](UnformedGroup&) {}),
            "the root, rank 0 on a, did not appear within 1s");
}

TEST(DescribeDeadline, ARejectionKeepsItsCodeAndHint) {
  const UnformedGroup group = After1s([](UnformedGroup& unformed) {
    unformed.rejection = Error{Code::kAuthentication, "b:4711 has another job secret", "export it"};
    unformed.problem = "b:4711: no route";
  });
  EXPECT_EQ(
      DescribeDeadline(MeetingOn("b"), "a", group),
      (Error{Code::kAuthentication,
             "the root, rank 0 on b, was not joined within 1s: b:4711 has another job secret", "export it"}));
}

}  // namespace
}  // namespace muster::rendezvous
