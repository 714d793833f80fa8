#include "comm/rendezvous/join/node_meeting.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

TEST(FirstStepOf, LeadsFollowsOrGoesToTheRootAlone) {
  struct Row {
    int local_rank;
    int local_size;
    size_t ranks;
    bool user_ids_are_reliable;
    bool same_node;
    FirstStep expected;
  };
  for (const Row& row : {
           Row{0, 4, 1, true, false, FirstStep::kListen},
           Row{0, 4, 4, true, false, FirstStep::kConnectOrLead},
           Row{0, 1, 1, true, true, FirstStep::kConnectOrLead},
           Row{0, -1, 1, true, false, FirstStep::kListen},
           Row{1, 4, 1, true, false, FirstStep::kFollow},
           Row{3, -1, 1, true, true, FirstStep::kFollow},
           Row{-1, -1, 1, true, false, FirstStep::kConnectOrListen},
           Row{-1, 1, 1, true, false, FirstStep::kConnectOrListen},
           Row{0, 4, 1, false, false, FirstStep::kLead},
           Row{-1, -1, 1, false, false, FirstStep::kLead},
           Row{1, 4, 1, false, false, FirstStep::kAlone},
           Row{0, 4, 1, false, true, FirstStep::kAlone},
       }) {
    EXPECT_EQ(FirstStepOf({0, row.local_rank, row.local_size, {}}, row.ranks, row.user_ids_are_reliable,
                          row.same_node),
              row.expected)
        << row.local_rank << "/" << row.local_size << " ranks " << row.ranks;
  }
}

}  // namespace
}  // namespace muster::rendezvous
