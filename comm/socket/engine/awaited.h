// Something that other processes of this node bring about in shared memory, as ProgressEngine::Await waits
// for it.
//
// There is one place where a rank sleeps, the poll() of ProgressEngine: a rank that waits in shared memory
// goes on serving everything it serves when it waits for messages, and learns of a lost peer, a failed group
// and its deadline in the same way. A futex would be a second place that serves none of that, or a thread. So
// a rank that goes to sleep says in shared memory for whom, and whoever that is rings its doorbell, a
// descriptor.
//
// Threads: one.
#pragma once

#include <vector>

namespace muster::socket {

class Awaited {
 public:
  Awaited() = default;
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;
  virtual ~Awaited() = default;

  // Cheap: it is asked over and over while the rank spins.
  virtual bool Happened() = 0;
  // Now and then while it spins, and before it sleeps: time for work that had been put off.
  virtual void Idle() = 0;
  // From FallAsleep until WakeUp the doorbell rings no later than after the next change of Happened().
  virtual void FallAsleep() = 0;
  virtual void WakeUp() = 0;
  // Readable when the doorbell has rung, until Drain.
  virtual int doorbell_fd() const = 0;
  virtual void Drain() = 0;
  // Ranks of the communicator on this node that have yet to do something, ascending.
  virtual std::vector<int> WaitingFor() = 0;
};

}  // namespace muster::socket
