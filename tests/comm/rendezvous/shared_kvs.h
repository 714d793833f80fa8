// A launcher's key-value store inside one process: what one rank puts up all others see.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/pmi/launcher_kvs.h"

namespace muster::rendezvous {

struct SharedTexts {
  std::mutex mutex;
  std::map<std::string, std::string> texts;
  int published = 0;
};

struct SharedKvs : LauncherKvs {
  explicit SharedKvs(std::shared_ptr<SharedTexts> everybodys) : shared(std::move(everybodys)) {}

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
  std::string Describe() const override { return "the key-value store"; }

  std::shared_ptr<SharedTexts> shared;
  std::optional<Error> problem;
  std::atomic<bool> resting = false;
  std::atomic<bool> left = false;
};

// One for each request, which meets there from now on, with no secret but the root's.
inline std::vector<std::shared_ptr<SharedKvs>> MeetOnBoards(std::vector<JoinRequest>& requests) {
  const auto shared = std::make_shared<SharedTexts>();
  std::vector<std::shared_ptr<SharedKvs>> kvs_list;
  for (JoinRequest& request : requests) {
    kvs_list.push_back(std::make_shared<SharedKvs>(shared));
    request.kvs = kvs_list.back();
    request.meeting.find_root = FindRoot::kEndpointStore;
    request.meeting.endpoint = std::nullopt;
    request.meeting.placement = {};
    request.options.auth = AuthMethod::kSecret;
  }
  return kvs_list;
}

}  // namespace muster::rendezvous
