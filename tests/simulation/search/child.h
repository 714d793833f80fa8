// Runs a scenario in a process of its own: static variables of one do not reach the next, and a crash is a
// violation like others.
#pragma once

#include <string>

#include "tests/simulation/scenario/run_scenario.h"

namespace muster::simulation {

class Child {
 public:
  Child(const Scenario& scenario, bool with_log);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Becomes readable when the child has written, or has ended.
  int fd() const { return fd_; }
  // What is there, or waits for some. False: it has ended.
  bool Read();
  Verdict Finish();

 private:
  int fd_ = -1;
  int pid_ = -1;
  std::string text_;
};

// To its end.
Verdict RunInChild(const Scenario& scenario, bool with_log);

// Starts this program again with addresses that are the same each time, unless they are.
void FixAddresses(char** argv);

}  // namespace muster::simulation
