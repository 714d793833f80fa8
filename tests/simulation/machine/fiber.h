// A thread of a simulated process: a stack of its own, on the one thread of the simulation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace muster::simulation {

struct Account;
class Process;

class Fiber {
 public:
  static constexpr size_t kStackBytes = size_t{512} << 10;

  // `body` runs from the first SwitchTo on; when it returns, `on_end` is called on its stack, and must not return.
  Fiber(Process& process, std::function<void()> body, std::function<void()> on_end);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  Process& process() const { return process_; }

  // From the scheduler's stack; returns when the fiber calls SwitchBack.
  void SwitchTo();
  void SwitchBack();
  // For another fiber to come. This one has ended by itself: what it had on its stack is destroyed.
  void GiveUpStack();

  // The scheduler's.
  bool waiting = false;    // for Wake, or for the time
  bool scheduled = false;  // to go on
  bool timed_out = false;
  bool ended = false;
  uint64_t wait = 0;  // counts its waits
  Fiber* joiner = nullptr;
  int error_number = 0;
  int statics = 0;  // local ones that it initialises

 private:
  using Registers = std::array<void*, 5>;  // of __builtin_setjmp
  [[noreturn, gnu::noinline]] static void JumpTo(Registers& registers);
  static void Start(unsigned high, unsigned low);
  void Begin();

  Process& process_;
  std::function<void()> body_;
  std::function<void()> on_end_;
  void* stack_;
  Account* account_;
  bool begun_ = false;
  Registers own_{};
  Registers scheduler_{};
};

}  // namespace muster::simulation
