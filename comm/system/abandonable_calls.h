// Calls into libraries that have no deadline of their own, one after the other: each has a thread, and is
// abandoned if it hangs.
//
// Threads: any. A call must own its data (captured by value or shared): it may outlive everything else.
#pragma once

#include <functional>
#include <memory>

#include "comm/base/deadline.h"

namespace muster {

class AbandonableCalls {
 public:
  AbandonableCalls();

  // BLOCKS until it has returned, at most until the deadline: false then, also if an earlier one is still
  // under way.
  bool Run(std::function<void()> call, Deadline deadline);
  // Does not wait for it. Only while no call is under way.
  void Start(std::function<void()> call);
  // BLOCKS until no call is under way, at most until the deadline: false then.
  bool WaitForAll(Deadline deadline);

 private:
  struct Shared;
  void Launch(std::function<void()> call);

  const std::shared_ptr<Shared> shared_;
};

}  // namespace muster
