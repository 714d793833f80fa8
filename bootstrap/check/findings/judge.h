// From evidence to a verdict: present faults, later faults, and which nodes to leave out. Pure, so that every
// rank has the same verdict.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/check/findings/evidence.h"

namespace muster::check {

struct Finding {
  std::string code;  // stable: ../README.md has the list
  std::string message;
  std::string hint;                // may be empty
  std::vector<std::string> nodes;  // concerned; may be empty

  friend bool operator==(const Finding&, const Finding&) = default;
};

struct Verdict {
  std::vector<Finding> failures;
  std::vector<Finding> warnings;
  std::vector<std::string> exclude;  // nodes without which it would be well
  int exit_status = 0;

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

Verdict Judge(const Evidence& evidence);

// Its parts, in the order of Judge.
void JudgeConnections(const Evidence& evidence, Verdict& verdict);
void JudgeCollectives(const Evidence& evidence, Verdict& verdict);
void JudgeGpus(const Evidence& evidence, Verdict& verdict);
void JudgeSpeed(const Evidence& evidence, Verdict& verdict);
void JudgeLimits(const Evidence& evidence, Verdict& verdict);
void JudgeDifferences(const Evidence& evidence, Verdict& verdict);
void JudgeDevices(const Evidence& evidence, Verdict& verdict);

}  // namespace muster::check
