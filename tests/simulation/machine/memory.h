// The memory that each simulated process holds: its allocations with operator new count for it, until any
// process frees them.
#pragma once

#include <cstddef>

namespace muster::simulation {

struct Account {
  ptrdiff_t live = 0;  // bytes; below zero: it has freed what another process left behind
  ptrdiff_t peak = 0;
};

// Of the process that runs; null: the simulation's own.
Account*& TheAccount();

// In the child of a fork: from here on the addresses of small allocations do not depend on what its parent has allocated.
void BeginWithFreshMemory();

// Allocations meanwhile belong to the simulation, as a kernel's memory does.
class KernelMemory {
 public:
  KernelMemory() : before_(TheAccount()) { TheAccount() = nullptr; }
  KernelMemory(const KernelMemory&) = delete;
  KernelMemory& operator=(const KernelMemory&) = delete;
  ~KernelMemory() { TheAccount() = before_; }

 private:
  Account* before_;
};

}  // namespace muster::simulation
