// An event in shared memory that other processes of this node cause, and for which ProgressEngine::Await
// waits.
//
// A rank sleeps in one place only, the poll() of ProgressEngine. So a rank that waits in shared memory serves
// the same things as one that waits for messages. It detects a lost peer, a failed group and its deadline in
// the same way. A futex or a thread would be a second place that serves none of that. So before a rank sleeps
// it writes in shared memory the rank that it waits for. That rank rings its doorbell, a descriptor.
//
// Threads: one.
#pragma once

#include <vector>

#include "comm/base/deadline.h"

namespace muster::socket {

class Awaited {
 public:
  Awaited() = default;
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;
  virtual ~Awaited() = default;

  // Cheap: it is called repeatedly while the rank spins.
  virtual bool Happened() = 0;
  // Now and then while it spins, and before it sleeps: time for work that had been put off.
  virtual void Idle() = 0;
  // From FallAsleep until WakeUp the doorbell rings no later than after the next change of Happened().
  virtual void FallAsleep() = 0;
  virtual void WakeUp() = 0;
  // Readable when the doorbell has rung, until Drain.
  virtual int doorbell_fd() const = 0;
  virtual void Drain() = 0;
  // Until Happened() is to be called again, even if the doorbell has not rung.
  virtual Duration longest_sleep() const = 0;
  // Ranks of the communicator on this node for which it waits, ascending.
  virtual std::vector<int> WaitingFor() = 0;
};

}  // namespace muster::socket
