// Calls into libraries that have no deadline of their own, one after the other: each has a thread, and is
// left behind where it does not come back.
//
// Threads: any. What a call uses must be its own (captured by value or shared): it may outlive all else.
#pragma once

#include <functional>
#include <memory>

#include "comm/base/deadline.h"

namespace muster {

class AbandonableCalls {
 public:
  AbandonableCalls();

  // BLOCKS until it has come back, at most until the deadline: false then, also where an earlier one is still
  // out.
  bool Run(std::function<void()> call, Deadline deadline);
  // Does not wait for it. Only while none is out.
  void Start(std::function<void()> call);
  // BLOCKS until none is out, at most until the deadline: false then.
  bool WaitForAll(Deadline deadline);

 private:
  struct Shared;
  void Launch(std::function<void()> call);

  const std::shared_ptr<Shared> shared_;
};

}  // namespace muster
