#include "tests/simulation/machine/fiber.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tests/simulation/machine/memory.h"
#include "tests/simulation/machine/process.h"

namespace muster::simulation {

Fiber::Fiber(Process& process, std::function<void()> body, std::function<void()> on_end)
    : process_(process),
      body_(std::move(body)),
      on_end_(std::move(on_end)),
      stack_(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0)),
      account_(&process.account) {
  if (stack_ == MAP_FAILED) {
    perror("no memory for a stack");
    abort();
  }
  getcontext(&own_);
  own_.uc_stack.ss_sp = stack_;
  own_.uc_stack.ss_size = kStackBytes;
  own_.uc_link = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(this);
  // makecontext(3) hands over integers.
  makecontext(&own_, reinterpret_cast<void (*)()>(&Fiber::Start), 2, static_cast<unsigned>(self >> 32),
              static_cast<unsigned>(self));
}

Fiber::~Fiber() { munmap(stack_, kStackBytes); }

void Fiber::Start(unsigned high, unsigned low) {
  auto* self = reinterpret_cast<Fiber*>(static_cast<uintptr_t>(high) << 32 | low);
  self->body_();
  self->body_ = nullptr;
  self->on_end_();
  abort();
}

void Fiber::SwitchTo() {
  Account* const before = std::exchange(TheAccount(), account_);
  const int error = std::exchange(errno, error_number);
  swapcontext(&scheduler_, &own_);
  error_number = std::exchange(errno, error);
  account_ = std::exchange(TheAccount(), before);
}

void Fiber::SwitchBack() { swapcontext(&own_, &scheduler_); }

}  // namespace muster::simulation
