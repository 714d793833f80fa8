// Runs seeds in several children at a time; the verdicts come in the order of the seeds.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "tests/simulation/search/child.h"

namespace muster::simulation {

class SideBySide {
 public:
  using OnVerdict = std::function<void(uint64_t seed, const Scenario& scenario, const Verdict& verdict)>;

  // `at_once` children at most.
  SideBySide(size_t at_once, OnVerdict on_verdict) : at_once_(at_once), on_verdict_(std::move(on_verdict)) {}

  // Waits until there is room for it.
  void Run(uint64_t seed);
  // The verdicts that are left.
  void Finish();

 private:
  struct Running {
    uint64_t seed;
    Scenario scenario;
    std::unique_ptr<Child> child;
    bool ended = false;
  };
  // For one of them to end.
  void Wait();
  void TakeEnded();

  const size_t at_once_;
  const OnVerdict on_verdict_;
  std::deque<Running> all_;  // by seed
  size_t running_ = 0;
};

}  // namespace muster::simulation
