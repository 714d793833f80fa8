// A launcher's board inside one process: what one rank puts up all others see.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/pmi/board.h"

namespace muster {

struct SharedTexts {
  std::mutex mutex;
  std::map<std::string, std::string> texts;
  int published = 0;
};

struct SharedBoard : Board {
  explicit SharedBoard(std::shared_ptr<SharedTexts> everybodys) : shared(std::move(everybodys)) {}

  Status Publish(const std::string& name, const std::string& text, Deadline) override {
    if (problem) return tl::unexpected<Error>(*problem);
    const std::lock_guard lock(shared->mutex);
    shared->texts[name] = text;
    ++shared->published;
    return {};
  }
  Result<std::optional<std::string>> LookUp(const std::string& name, Deadline) override {
    if (problem) return tl::unexpected<Error>(*problem);
    const std::lock_guard lock(shared->mutex);
    const auto found = shared->texts.find(name);
    if (found == shared->texts.end()) return std::nullopt;
    return found->second;
  }
  void Rest() override { resting = true; }
  void Wake() override { resting = false; }
  void Leave() override { left = true; }
  std::string Describe() const override { return "the board"; }

  std::shared_ptr<SharedTexts> shared;
  std::optional<Error> problem;
  std::atomic<bool> resting = false;
  std::atomic<bool> left = false;
};

// One for each request, which meets there from now on, with no secret but the root's.
inline std::vector<std::shared_ptr<SharedBoard>> MeetOnBoards(std::vector<JoinRequest>& requests) {
  const auto shared = std::make_shared<SharedTexts>();
  std::vector<std::shared_ptr<SharedBoard>> boards;
  for (JoinRequest& request : requests) {
    boards.push_back(std::make_shared<SharedBoard>(shared));
    request.board = boards.back();
    request.meeting.find_root = FindRoot::kBulletin;
    request.meeting.endpoint = std::nullopt;
    request.meeting.placement = {};
    request.options.auth = AuthMethod::kSecret;
  }
  return boards;
}

}  // namespace muster
