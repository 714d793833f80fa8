// A Group whose control plane runs on its own thread. group.h has the contract; join.h creates one.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/group/group.h"
#include "comm/rendezvous/control/control_plane.h"
#include "comm/rendezvous/control/group_answers.h"
#include "comm/rendezvous/pmi/launcher_kvs.h"

namespace muster::rendezvous {

class ThreadedGroup : public Group, private RootLink {
 public:
  static Result<std::unique_ptr<ThreadedGroup>> Create(int rank);
  ~ThreadedGroup() override;

  // Set-up, before Serve, on the thread that made it.
  net::EventLoop& loop() { return *loop_; }
  void Attach(Joined joined, LivenessOptions liveness);
  // Keeps the exchanges and maps of one program of a rank apart from those of the next.
  void set_incarnation(int incarnation);
  // May be null. The end of the group notifies the launcher that this process has finished with it.
  void KeepLauncherKvs(std::shared_ptr<LauncherKvs> kvs) { kvs_ = std::move(kvs); }
  // Starts the thread, which then owns the loop. Error: the group has failed with it; BLOCKS for at most 1 s then.
  Status Serve();

  int rank() const override { return rank_; }
  const Roster& roster() const override { return *roster_; }
  const GroupKey& key() const override { return key_; }
  Result<std::vector<Bytes>> KeyedAllGather(std::string_view name, ByteView mine, Deadline deadline) override;
  int failure_fd() const override { return answers_.failure_fd(); }
  std::optional<Error> failure() const override { return answers_.failure(); }
  void Fail(const Error& error) override;
  std::string MissingRanks(uint64_t communicator, uint64_t sequence, Duration patience) override;
  Status Leave(Deadline deadline) override;
  RootLink* root_link() override { return this; }

 private:
  ThreadedGroup(std::unique_ptr<net::EventLoop> loop, UniqueFd failure_fd, int rank);
  void SendToRoot(Bytes message) override;
  void AwaitSent() override;
  void SetListener(uint32_t map, Listener listener) override;
  tl::unexpected<Error> UnansweredByRoot(std::string_view exchange);
  void Abandon();
  void OnFailure(const Failure& failure);
  RankReport ReportOwn();
  void OnGathered(const muster::rendezvous::KeyedAllGather& whole);

  const pid_t owner_ = getpid();
  std::unique_ptr<net::EventLoop> loop_;
  GroupAnswers answers_;
  int rank_;
  std::string exchange_prefix_;
  const Roster* roster_ = nullptr;  // the plane's
  GroupKey key_{};
  std::shared_ptr<LauncherKvs> kvs_;
  std::unique_ptr<ControlPlane> plane_;
  bool all_know_ = false;    // of the failure; the plane's
  RootListeners listeners_;  // the thread's
  std::thread thread_;
  bool stop_ = false;  // the thread's
};

}  // namespace muster::rendezvous
