// The standard input of a supervisor's programs (run.stdin).
#pragma once

#include <memory>

#include "bootstrap/config/config.h"
#include "bootstrap/output/stdin_copy.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/net/event_loop.h"

namespace muster::run {

class InputPlan {
 public:
  // `programs`: how many this process starts.
  InputPlan(net::EventLoop& loop, config::RunStdin input, int programs);

  // For ChildOptions::stdin_end, open until the program has started; empty: our own. Error: kSystem.
  Result<UniqueFd> For(int rank);
  // All programs were started.
  void Start();
  void Ended(int rank);

 private:
  const config::RunStdin input_;  // never kAuto
  std::unique_ptr<output::StdinCopy> copy_;
};

}  // namespace muster::run
