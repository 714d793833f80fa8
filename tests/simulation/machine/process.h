// A simulated process and its node, with the facts that a kernel has of them.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "tests/simulation/machine/fiber.h"
#include "tests/simulation/machine/memory.h"

namespace muster::simulation {

class File;
class Socket;
class World;
struct Inode;

using Time = Duration;  // since the world began
inline constexpr Time kNever = Duration::max();

class Node {
 public:
  Node(World& w, int number, std::string node_name);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  World& world;
  const int number;
  const std::string name;
  const uint32_t address;  // host order
  Duration clock_ahead{};  // CLOCK_MONOTONIC began at another moment on each node
  bool up = true;
  int starts = 0;                                  // after the first one
  std::shared_ptr<Inode> root;                     // of its file system
  std::vector<std::shared_ptr<Inode>> unsynced;    // files with bytes that only this node's memory has
  std::map<uint16_t, std::vector<Socket*>> ports;  // bound
  int next_pid = 100;
  uint16_t next_port = 32768;
  Time wire_free{};  // its packets leave after that; in a metered world
};

class Process {
 public:
  enum class State { kRunning, kStopped, kEnded };
  // Of a launch's process, by its own count.
  enum class Phase : uint8_t { kForming, kGroup, kFailed, kLeft };

  Process(World& w, Node& on, uid_t user, std::string process_name);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  World& world;
  Node& node;
  const int pid;
  const uid_t uid;
  const std::string name;
  State state = State::kRunning;
  bool killed = false;
  Phase phase = Phase::kForming;
  std::set<std::pair<Phase, uint8_t>> received;  // types of messages (transitions.h)
  int accepted_by = -1;  // the first rank of the process above, while the group forms; -1: none
  int acceptances = 0;   // by that one
  Time accepted_at{};    // the last one
  Time ended{};
  rlimit descriptors{1024, 4096};
  Duration slowness{};  // added to each of its turns
  // In a metered world.
  Duration computed{};         // without system calls
  uint64_t metered_calls = 0;  // of the system, also those at which it is not killed
  Time busy_until{};
  uint64_t sent = 0;   // bytes, to other nodes
  uint64_t calls = 0;  // of the system, so far
  uint64_t kill_at_call = 0;
  uint64_t messages = 0;  // system calls that send
  uint64_t kill_at_message = 0;
  uint64_t most_descriptors = UINT64_MAX;  // beside its limit
  std::string log;                         // its standard error
  Account account;
  std::vector<File*> end_watches;  // pidfds
  std::function<void()> on_end = [] {};
  std::map<std::string, std::string> bound_names;  // by path: the directory

  bool HasFreeDescriptor() const;
  // The lowest free descriptor; -1, with errno, if there is none.
  int Install(File* file);
  File* Find(int fd) const;  // null, with errno
  int Close(int fd);
  int OpenDescriptors() const;
  int OpenConnections() const;  // also those that are not established yet

  Fiber& Start(std::function<void()> body);
  void Stop();
  void Continue();
  // As by SIGKILL, or when its first thread has returned.
  void End(bool by_signal);
  // A fiber's turn that came while the process was stopped.
  void Hold(Fiber& fiber) { held_.push_back(&fiber); }

 private:
  std::vector<File*> files_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> held_;
};

}  // namespace muster::simulation
