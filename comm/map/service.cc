#include "comm/map/service.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace muster::map {
namespace {

constexpr size_t kMostEnded = 10;

}  // namespace

Service::Service(Params params) : params_(std::move(params)), worker_(params_.loop.mailbox()) {}

void Service::Receive(int rank, ByteView message) {
  const auto heading = HeadingOf(message);
  if (!heading || rank < 0 || rank >= params_.roster.size()) return;
  // The map is over for all ranks: a message that was still under way.
  if (heading->type != MessageType::kJoin && !maps_.contains(heading->map)) return;
  // The next program of a rank whose last one has ended.
  if (heading->type == MessageType::kJoin) gone_.erase(rank);
  Find(heading->map).Receive(rank, heading->type, message);
}

Root& Service::Find(uint32_t map) {
  if (const auto found = maps_.find(map); found != maps_.end()) return *found->second;
  // While a later map runs, a stopped rank costs only its items.
  const auto on_stopped = [this](const Error& error) {
    if (!at_work_) params_.fail(error);
  };
  Root& root =
      *maps_
           .emplace(map, std::make_unique<Root>(Root::Params{
                             params_.loop, worker_, params_.roster, map, params_.owner, params_.silent_after,
                             params_.send, params_.fail, on_stopped, [this] { CheckAtWork(); },
                             [this, map] { Remove(map); }, params_.root_rank}))
           .first->second;
  root.SetLatest(latest_);
  for (const int rank : gone_) root.Lose(rank, "");
  CheckAtWork();
  return root;
}

// A program that fails when its map is over has failed.
void Service::CheckAtWork() {
  const bool at_work = std::ranges::any_of(maps_, [](const auto& map) { return map.second->at_work(); });
  if (std::exchange(at_work_, at_work) != at_work) params_.tolerate(at_work);
}

void Service::Remove(uint32_t map) {
  // The map is on the stack.
  params_.loop.Post([this, map, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    const auto found = maps_.find(map);
    if (found == maps_.end()) return;
    ended_.push_back(found->second->Look());
    if (ended_.size() > kMostEnded) ended_.erase(ended_.begin());
    maps_.erase(found);
    CheckAtWork();
  });
}

void Service::Lose(int rank, const std::string& why) {
  if (!gone_.insert(rank).second) return;
  for (const auto& [map, root] : maps_) root->Lose(rank, why);
}

void Service::SetLatest(Deadline latest) {
  latest_ = latest;
  for (const auto& [map, root] : maps_) root->SetLatest(latest);
}

std::vector<MapState> Service::Look() const {
  std::vector<MapState> states;
  for (const auto& [map, root] : maps_) states.push_back(root->Look());
  return states;
}

std::vector<MapState> Service::LookAtAll() const {
  std::vector<MapState> states = ended_;
  std::ranges::move(Look(), std::back_inserter(states));
  return states;
}

}  // namespace muster::map
