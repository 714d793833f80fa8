// Every call of a Communicator once, and every element type in an AllReduce. The contents depend on the rank:
// a result without a rank, with a rank twice or with two ranks swapped differs from the right one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.h"

namespace muster::check {

struct Trial {
  std::string name;  // "AllReduce sum f16"
  // The first wrong element on this rank: "element 3 is 119, not 120"; empty: right. Error: the
  // communicator's own.
  std::function<Result<std::string>(Communicator&)> run;
};

// The same on every rank, in the order in which to run them. The first is the sum of all ranks.
std::vector<Trial> AllTrials();

struct WrongResult {
  int trial = 0;  // index into AllTrials()
  std::string what;

  friend bool operator==(const WrongResult&, const WrongResult&) = default;
};

// BLOCKS: collective. The faults that this rank found. Error: the first of the communicator, which is broken
// then.
Result<std::vector<WrongResult>> RunTrials(Communicator& communicator);

}  // namespace muster::check
