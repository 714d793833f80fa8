#include "comm/rendezvous/join/group_formation.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;

TEST(PauseBeforeHello, IsLongerEachTimeIfMoreRanksOfTheNodeAreSureToCome) {
  struct Row {
    int local;
    int local_size;
    milliseconds last;
    milliseconds pause;
  };
  for (const Row& row : {Row{1, 1, milliseconds(0), milliseconds(0)},      // the whole node
                         Row{4, 4, milliseconds(80), milliseconds(0)},     //
                         Row{1, 4, milliseconds(0), milliseconds(20)},     // first hello
                         Row{2, 4, milliseconds(20), milliseconds(40)},    //
                         Row{3, 4, milliseconds(160), milliseconds(200)},  // at most
                         Row{1, -1, milliseconds(0), milliseconds(20)},    // size unknown
                         Row{9, -1, milliseconds(20), milliseconds(20)}}) {
    ArrivedRanks arrived;
    arrived.local = row.local;
    arrived.local_size = row.local_size;
    EXPECT_EQ(PauseBeforeHello(arrived, row.last), row.pause) << row.local << "/" << row.local_size;
  }
}

}  // namespace
}  // namespace muster::rendezvous
