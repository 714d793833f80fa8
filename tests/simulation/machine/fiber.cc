#include "tests/simulation/machine/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tests/simulation/machine/memory.h"
#include "tests/simulation/machine/process.h"

namespace muster::simulation {

namespace {

// A new one costs page faults: it is kept for the next fiber.
std::vector<void*>& FreeStacks() {
  static std::vector<void*> stacks;
  return stacks;
}

void* TakeStack() {
  std::vector<void*>& free = FreeStacks();
  if (!free.empty()) {
    void* const stack = free.back();
    free.pop_back();
    return stack;
  }
  void* const stack = mmap(nullptr, Fiber::kStackBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (stack != MAP_FAILED) return stack;
  perror("no memory for a stack");
  abort();
}

}  // namespace

Fiber::Fiber(Process& process, std::function<void()> body, std::function<void()> on_end)
    : process_(process),
      body_(std::move(body)),
      on_end_(std::move(on_end)),
      stack_(TakeStack()),
      account_(&process.account) {}

Fiber::~Fiber() { GiveUpStack(); }

void Fiber::GiveUpStack() {
  if (stack_ != nullptr) FreeStacks().push_back(std::exchange(stack_, nullptr));
}

void Fiber::JumpTo(Registers& registers) { __builtin_longjmp(registers.data(), 1); }

// Does not return. Later switches are jumps: swapcontext(3) makes a system call for the mask of signals, which is one for all. The
// checks of longjmp(3) know one stack only.
void Fiber::Begin() {
  begun_ = true;
  ucontext_t context{};
  getcontext(&context);
  context.uc_stack.ss_sp = stack_;
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(this);
  // makecontext(3) hands over integers.
  makecontext(&context, reinterpret_cast<void (*)()>(&Fiber::Start), 2, static_cast<unsigned>(self >> 32),
              static_cast<unsigned>(self));
  setcontext(&context);
  abort();
}

void Fiber::Start(unsigned high, unsigned low) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): makecontext passes int
  auto* self = reinterpret_cast<Fiber*>(static_cast<uintptr_t>(high) << 32 | low);
  self->body_();
  self->body_ = nullptr;
  self->on_end_();
  abort();
}

void Fiber::SwitchTo() {
  Account* const before = std::exchange(TheAccount(), account_);
  const int error = std::exchange(errno, error_number);
  if (__builtin_setjmp(scheduler_.data()) == 0) {
    if (!begun_) Begin();
    JumpTo(own_);
  }
  error_number = std::exchange(errno, error);
  account_ = std::exchange(TheAccount(), before);
}

void Fiber::SwitchBack() {
  if (__builtin_setjmp(own_.data()) == 0) JumpTo(scheduler_);
}

}  // namespace muster::simulation
