// Ranks as processes, which share no address space but the shared memory under test. Their control plane is a
// page of memory and an eventfd.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/base/unique_fd.h"
#include "comm/socket/socket_communicator.h"
#include "comm/socket/transport/endpoint.h"
#include "tests/comm/socket/fake_group.h"

namespace muster::socket {

class ProcessWorld {
 public:
  // The work of one rank; the test sees its result, "" for success.
  using Body = std::function<std::string(Communicator&)>;

  explicit ProcessWorld(const std::vector<int>& node_of_rank);
  ProcessWorld(const ProcessWorld&) = delete;
  ProcessWorld& operator=(const ProcessWorld&) = delete;
  ~ProcessWorld();

  int size() const { return roster_.size(); }
  // Forks a process for each rank. `before` runs in each before anything else.
  void Start(const SocketOptions& options, const Body& body, const std::function<void()>& before = nullptr);
  // Kills that rank's process and waits for its end.
  void Kill(int rank);
  // Waits for the end of that rank's process, however it comes.
  void AwaitEnd(int rank);
  // The control plane's notice to all.
  void Fail(const Error& error);
  // Waits for all that were not killed or awaited: what each returned, by rank.
  std::vector<std::string> Results();
  // Start and Results.
  std::vector<std::string> Run(const SocketOptions& options, const Body& body);

 private:
  struct Shared;
  class SharedGroup;
  std::unique_ptr<SocketEndpoint> OpenEndpoint(int rank);
  [[noreturn]] void RunRank(int rank, const SocketOptions& options, const Body& body);

  const Roster roster_;
  Shared* const shared_;
  const UniqueFd failed_;
  std::vector<pid_t> pids_;
};

}  // namespace muster::socket
