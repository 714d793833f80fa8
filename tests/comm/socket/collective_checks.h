// Every operation against the plain reference (reference.h), for whatever world and options.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/comm/socket/fake_group.h"
#include "tests/comm/socket/reference.h"

namespace muster::socket {

struct NamedLayout {
  std::string name;
  std::vector<int> node_of_rank;
};

// Worlds of 1 to 17 ranks on even, uneven and cyclic nodes.
std::vector<NamedLayout> ManyLayouts();
inline std::string NameOf(const testing::TestParamInfo<NamedLayout>& layout) {
  return fmt::format("{}_{}", layout.param.name, layout.param.node_of_rank.size());
}

// One random call; the same on every rank.
struct Plan {
  DataType type;
  ReduceOp operation;
  size_t count;
  int root;
  uint64_t seed;
};
std::string Describe(const Plan& plan, int ranks);

class Planner {
 public:
  Planner(uint32_t seed, int ranks) : random_(seed), ranks_(ranks) {}
  Plan Next();

 private:
  std::mt19937 random_;
  const int ranks_;
};

// A whole buffer of that type.
Buffer Whole(Bytes& bytes, DataType type);

// Each makes the calls on all ranks and expects the values of the reference, also in place, and that nothing
// else has changed.
void CheckReductions(World& world, const Plan& plan);  // AllReduce, Reduce
void CheckReduceScatter(World& world, const Plan& plan);
void CheckBroadcastAndScatter(World& world, const Plan& plan);
void CheckGathers(World& world, const Plan& plan);  // Gather, AllGather
void CheckAllToAll(World& world, const Plan& plan);
void CheckBytesOfDifferentLength(World& world);
void CheckAll(World& world, const Plan& plan);  // all of these, and a Barrier
// Reduces numbers that round; what each rank has in the end: AllReduce, its part of a ReduceScatter, and at
// the root (the last rank) a Reduce. AllReduce must have given every rank the same bits.
std::vector<Bytes> ReduceNumbersThatRound(World& world, DataType type, ReduceOp operation);
void CheckOneAfterTheOther(World& world);  // without a barrier
void CheckEveryTypeAndOperation(World& world);
void CheckLongData(World& world);

}  // namespace muster::socket
