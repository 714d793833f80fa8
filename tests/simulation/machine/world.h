// A simulated cluster: nodes, processes, a network and one clock, in one thread. All that happens is an event at a time;
// events at the same time happen in the order in which they were scheduled. The same seed gives the same run.
//
// A simulated process is production code on a fiber. Its system calls (system_calls*.cc) end here.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/machine/network.h"
#include "tests/simulation/machine/process.h"
#include "tests/simulation/machine/random.h"

namespace muster::simulation {

// The properties of a world's machines.
struct Machines {
  Duration turn = std::chrono::microseconds(5);      // mean time until a thread that can run does
  Duration latency = std::chrono::microseconds(50);  // between nodes, one way
  Duration jitter = std::chrono::microseconds(10);
  double bytes_per_second = 1e9;
  size_t socket_buffer = size_t{256} << 10;
  double short_transfers = 0;      // of reads and writes
  bool unreachable_hosts = false;  // a node that is off is an error after 3 s, as in its own network
  bool real_key_agreement = true;  // X25519; else a cheap one (system_calls/key_agreement.cc)
  // For figures instead of faults, and not the same twice: a process's computations take the time that they
  // take here, each system call takes `call` more, a process has one processor, and all traffic of a node
  // shares one wire.
  bool metered = false;
  Duration call{};
};

class World {
 public:
  World(uint64_t seed, Machines machines);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  // The one that runs; null: system calls are real.
  static World* Running();
  // Of the system call that is being made; null outside of simulated processes.
  static Process* Caller();

  Time now() const { return now_ + in_turn_; }
  const Machines& machines() const { return machines_; }
  Node& AddNode(const std::string& name);
  Node* FindNode(const std::string& name);
  Process& AddProcess(Node& node, uid_t uid, std::string name);
  const std::deque<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  const std::deque<std::unique_ptr<Process>>& processes() const { return processes_; }
  // Closed files stay until the world ends, so that no event misses its file.
  template <typename T, typename... Args>
  T* Make(Args&&... args) {
    auto made = std::make_unique<T>(std::forward<Args>(args)...);
    T* const raw = made.get();
    files_.push_back(std::move(made));
    return raw;
  }

  void At(Time when, std::function<void()> what);
  void After(Duration delay, std::function<void()> what) { At(now_ + delay, std::move(what)); }
  // Until `done`, the time, or that number of events. False: there were more.
  bool Run(Time until, uint64_t most_events, const std::function<bool()>& done);
  void PowerOff(Node& node);
  // It starts again: without the connections, names and files that it had.
  void PowerOn(Node& node);
  // What its files have not synchronised, from a random byte on.
  void LoseMemory(Node& node);

  // ---- for system calls, on the fiber of their caller
  // False: nothing woke it by then.
  bool Block(Time deadline);
  void Yield() { Block(now_ + Turn()); }
  void Wake(Fiber& fiber);
  Fiber& running() const { return *running_; }
  // Around each system call, in a metered world.
  void PauseMeter(Duration and_takes);
  void ResumeMeter();
  [[noreturn]] void EndFiber(bool with_its_process);

  // Everything that a process could notice goes in: two runs with one value are the same run.
  void Trace(uint64_t value) { trace_ = (trace_ ^ value) * 0x100000001b3U; }
  uint64_t trace() const { return trace_; }
  uint64_t events() const { return count_; }

  Network network;
  Random product_random;          // random numbers for processes
  Random random;                  // of the kernel and the network
  std::shared_ptr<Inode> shared;  // a directory that all nodes mount

 private:
  // What happens is beside the heap, whose elements move often.
  struct Event {
    Time at;
    uint64_t number;
    size_t action;
  };
  static bool Later(const Event& a, const Event& b) {
    return a.at != b.at ? a.at > b.at : a.number > b.number;
  }
  Duration Turn();
  void Resume(Fiber& fiber);

  const Machines machines_;
  Time now_{};
  Duration in_turn_{};         // that the running fiber has computed since now_
  Duration resumed_{};         // the real processor time when it began, or returned from a system call
  std::vector<Event> events_;  // a heap
  std::vector<std::function<void()>> actions_;
  std::vector<size_t> free_actions_;
  uint64_t next_event_ = 0;
  uint64_t count_ = 0;
  uint64_t trace_ = 0xcbf29ce484222325U;
  Fiber* running_ = nullptr;
  std::deque<std::unique_ptr<File>> files_;
  std::deque<std::unique_ptr<Node>> nodes_;
  std::map<std::string, Node*> node_of_name_;
  std::deque<std::unique_ptr<Process>> processes_;
};

// A simulated process's computations meanwhile take no time: they belong to the test. No system calls.
class Unmetered {
 public:
  Unmetered() { World::Running()->PauseMeter({}); }
  Unmetered(const Unmetered&) = delete;
  Unmetered& operator=(const Unmetered&) = delete;
  ~Unmetered() { World::Running()->ResumeMeter(); }

 private:
  KernelMemory kernel_;
};

}  // namespace muster::simulation
