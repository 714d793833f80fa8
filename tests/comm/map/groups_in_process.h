// The ranks of one group in one process, as a map sees them: each has a RootLink, and all share a thread on which the
// root's service runs. Messages cross in order, as over the control plane.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/group/group.h"
#include "comm/map/service.h"
#include "comm/net/event_loop.h"
#include "comm/system/start_thread.h"

namespace muster::map {

class GroupsInProcess {
  template <typename Work>
  auto OnLoop(Work work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto result = task.get_future();
    loop_->Post([&task] { task(); });
    return result.get();
  }

 public:
  explicit GroupsInProcess(int ranks, Duration silent_after = std::chrono::hours(1))
      : loop_(*net::EventLoop::Create()) {
    roster_.group_id = "0123";
    for (int rank = 0; rank < ranks; ++rank) {
      roster_.nodes.push_back({"gpu0" + std::to_string(rank + 1), {}});
      roster_.members.push_back({rank, 0, 100 + rank, {}});
    }
    for (int rank = 0; rank < ranks; ++rank) groups_.push_back(std::make_unique<OneGroup>(*this, rank));
    service_ = std::make_unique<Service>(Service::Params{
        *loop_,
        roster_,
        {"gpu01", 100, "slurm:4.0:0", "0123"},
        silent_after,
        [this](int rank, ByteView message) { Deliver(rank, Bytes(message.begin(), message.end())); },
        [this](bool on) { tolerates_ = on; },
        [this](const Error& error) {
          if (!std::exchange(failure_, error)) failed_.set_value();
        }});
    thread_ =
        *StartThread("the service", [this] { loop_->RunUntil([this] { return stop_; }, Deadline::Never()); });
  }

  ~GroupsInProcess() {
    loop_->Post([this] { stop_ = true; });
    thread_.join();
  }

  Group& group(int rank) { return *groups_[static_cast<size_t>(rank)]; }

  // The rank has ended: nothing comes from it, and nothing reaches it. why: what another rank did to it.
  void Kill(int rank, std::string_view why = "") {
    OnLoop([&] {
      groups_[static_cast<size_t>(rank)]->cut = true;
      service_->Lose(rank, why.empty() ? DescribeRank(roster_, rank) + " was killed" : std::string(why));
      return 0;
    });
  }
  void Leave(int rank) {
    OnLoop([&] {
      service_->Lose(rank, "");
      return 0;
    });
  }
  // Messages from it and to it are kept until Continue.
  void Stall(int rank) {
    OnLoop([&] { return groups_[static_cast<size_t>(rank)]->stalled = true; });
  }
  void Continue(int rank) {
    OnLoop([&] {
      OneGroup& group = *groups_[static_cast<size_t>(rank)];
      group.stalled = false;
      for (auto& work : std::exchange(group.kept, {})) work();
      return 0;
    });
  }
  void SetLatest(Deadline latest) {
    OnLoop([&] {
      service_->SetLatest(latest);
      return 0;
    });
  }
  void FailGroup(const Error& error) {
    OnLoop([&] {
      for (const auto& group : groups_) group->listeners.Fail(error);
      return 0;
    });
  }
  // Ranks get the message to end, as in a real group.
  void ObeyOrdersToEnd() {
    OnLoop([&] { return obeys_ = true; });
  }
  // Else the order is kept from the rank. BLOCKS until it has come.
  void AwaitOrderToEnd(int rank) { groups_[static_cast<size_t>(rank)]->ordered_to_end.get_future().wait(); }
  // As the root does for an item that is out of time. BLOCKS until the rank has it.
  void OrderToEnd(int rank, uint64_t item) {
    OnLoop([&] {
      Deliver(rank, Encode(map_, Expired{item}));
      return 0;
    });
    OnLoop([] { return 0; });
  }
  bool tolerates() {
    return OnLoop([this] { return tolerates_; });
  }
  std::vector<MapState> Look() {
    return OnLoop([this] { return service_->Look(); });
  }
  std::vector<MapState> LookAtAll() {
    return OnLoop([this] { return service_->LookAtAll(); });
  }
  // BLOCKS until the service has failed the group.
  void AwaitFailure() { failed_.get_future().wait(); }
  std::optional<Error> failure() {
    return OnLoop([this] { return failure_; });
  }

 private:
  class OneGroup : public Group, private RootLink {
   public:
    OneGroup(GroupsInProcess& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    const Roster& roster() const override { return all_.roster_; }
    const GroupKey& key() const override { return key_; }
    Result<std::vector<Bytes>> KeyedAllGather(std::string_view, ByteView, Deadline) override {
      return muster::Fail(Code::kInternal, "a map needs no exchange");
    }
    int failure_fd() const override { return -1; }
    std::optional<Error> failure() const override { return std::nullopt; }
    void Fail(const Error&) override {}
    Status Leave(Deadline) override { return {}; }
    RootLink* root_link() override { return this; }

    // The loop's.
    RootListeners listeners;
    bool cut = false;
    bool stalled = false;
    std::promise<void> ordered_to_end;
    bool ordered = false;
    std::vector<std::function<void()>> kept;

   private:
    void SendToRoot(Bytes message) override {
      all_.loop_->Post([this, message = std::move(message)] {
        if (stalled) {
          kept.push_back([this, message] { all_.service_->Receive(rank_, message); });
        } else if (!cut) {
          all_.service_->Receive(rank_, message);
        }
      });
    }
    void AwaitSent() override {}
    void SetListener(uint32_t map, Listener next) override {
      all_.loop_->Post([this, map, next = std::move(next)] { listeners.Set(map, next); });
    }

    GroupsInProcess& all_;
    const int rank_;
    GroupKey key_{};
  };

  void Deliver(int rank, Bytes message) {
    OneGroup& group = *groups_[static_cast<size_t>(rank)];
    map_ = HeadingOf(message)->map;
    if (HeadingOf(message)->type == MessageType::kExpired && !obeys_) {
      if (!std::exchange(group.ordered, true)) group.ordered_to_end.set_value();
      return;
    }
    const auto hear = [&group, message = std::move(message)] {
      if (!group.cut) group.listeners.Receive(message);
    };
    if (group.stalled) {
      group.kept.emplace_back(hear);
    } else {
      loop_->Post(hear);
    }
  }

  std::unique_ptr<net::EventLoop> loop_;
  Roster roster_;
  std::vector<std::unique_ptr<OneGroup>> groups_;
  std::unique_ptr<Service> service_;
  std::thread thread_;
  uint32_t map_ = 0;  // of the last message
  bool tolerates_ = false;
  bool obeys_ = false;
  std::optional<Error> failure_;
  std::promise<void> failed_;
  bool stop_ = false;
};

}  // namespace muster::map
