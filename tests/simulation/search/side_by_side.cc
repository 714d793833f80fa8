#include "tests/simulation/search/side_by_side.h"

#include <poll.h>

#include <utility>
#include <vector>

namespace muster::simulation {
namespace {

// A seed that takes long keeps the verdicts of later ones waiting.
constexpr size_t kMostWaiting = 256;

}  // namespace

void SideBySide::Run(uint64_t seed) {
  while (running_ >= at_once_ || all_.size() >= kMostWaiting) Wait();
  Scenario scenario = MakeScenario(seed);
  auto child = std::make_unique<Child>(scenario, false);
  all_.push_back({seed, std::move(scenario), std::move(child)});
  ++running_;
}

void SideBySide::Finish() {
  while (running_ > 0) Wait();
}

void SideBySide::Wait() {
  std::vector<pollfd> fds;
  std::vector<Running*> of;
  for (Running& one : all_) {
    if (one.ended) continue;
    fds.push_back({one.child->fd(), POLLIN, 0});
    of.push_back(&one);
  }
  poll(fds.data(), fds.size(), -1);
  for (size_t i = 0; i < fds.size(); ++i) {
    if (fds[i].revents == 0 || of[i]->child->Read()) continue;
    of[i]->ended = true;
    --running_;
  }
  TakeEnded();
}

void SideBySide::TakeEnded() {
  for (; !all_.empty() && all_.front().ended; all_.pop_front()) {
    const Running& first = all_.front();
    on_verdict_(first.seed, first.scenario, first.child->Finish());
  }
}

}  // namespace muster::simulation
