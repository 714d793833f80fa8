// The maps of a group, at its root.
//
// Runs on one EventLoop. A group without a map has none: it is made with the first message.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "comm/map/root.h"
#include "comm/net/thread_worker.h"

namespace muster::map {

class Service {
 public:
  struct Params {
    net::EventLoop& loop;
    const Roster& roster;
    JournalOwner owner;
    Duration silent_after{};
    std::function<void(int rank, ByteView message)> send;
    // True: from now on the end of a rank is no failure of the group.
    std::function<void(bool)> tolerate = [](bool) {};
    // No rank is left that works on a map which is not over.
    std::function<void(const Error& error)> fail = [](const Error&) {};
    int root_rank = 0;
  };

  explicit Service(Params params);

  void Receive(int rank, ByteView message);
  // It has ended or is silent, with the reason in `why`; if `why` is empty it has left the group.
  void Lose(int rank, const std::string& why);
  // Since it has last joined a map.
  bool HasLost(int rank) const { return gone_.contains(rank); }
  void SetLatest(Deadline latest);
  // Those that are not over for all ranks.
  std::vector<MapState> Look() const;
  // And before them the last ones that are.
  std::vector<MapState> LookAtAll() const;

 private:
  Root& Find(uint32_t map);
  void Remove(uint32_t map);
  void CheckAtWork();

  Params params_;
  net::ThreadWorker worker_;
  std::map<uint32_t, std::unique_ptr<Root>> maps_;
  bool at_work_ = false;
  std::set<int> gone_;
  std::vector<MapState> ended_;
  Deadline latest_ = Deadline::Never();
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::map
