// The duties of Split, for every backend; each with the world it is made for.
#pragma once

#include "tests/comm/socket/fake_group.h"

namespace muster::socket {

void CheckSplitOrder(World& world);   // by key, then by rank; 2 ranks on each of 3 nodes
void CheckSplitOfSome(World& world);  // 3 ranks
void CheckSplitAgain(World& world);   // parts of parts, which outlive the whole; 8 ranks, who then leave
void CheckPartsAtTheSameTime(World& world);  // 4 ranks
void CheckSplitOfOne(World& world);          // 2 ranks

}  // namespace muster::socket
