// The bounds that a group of thousands of nodes keeps: numbers and times of the model, never of this machine.
// tests/bench/README.md has the reasons.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "comm/base/deadline.h"

namespace muster::simulation {

// Each broken one has a line, which begins with `broken`.
class Bounds {
 public:
  // The most that a process has.
  void Connections(int most);
  void Roster(size_t bytes);
  // `took`: zero if there was no answer.
  void Survey(int reports, int ranks, Duration took);
  // Of `others`, the number that has the name of the killed node.
  void Kill(int know, int others, Duration took);
  // The message at the deadline names exactly the absent nodes.
  void Names(const std::string& message, const std::set<int>& absent);
  void Expect(bool kept, const std::string& otherwise);

  // The exit status.
  int status() const { return broken_ ? 1 : 0; }

 private:
  bool broken_ = false;
};

}  // namespace muster::simulation
