// A PMIx server for tests.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/rendezvous/pmi/pmix_api.h"

namespace muster::rendezvous::testing_support {

// A PMIx server with or without names of its own; what was called is written down.
class FakePmix : public PmixApi {
 public:
  explicit FakePmix(bool has_names) : has_names_(has_names) {}

  Status Init() override {
    if (hangs) hangs->wait();
    calls.emplace_back("init");
    return init;
  }
  void Finalize() override { calls.emplace_back("finalize"); }
  Result<bool> Publish(const std::string& name, const std::string& text) override {
    calls.emplace_back("publish");
    if (!has_names_) return false;
    if (!published.emplace(name, text).second) return Fail(Code::kSystem, "it is there already");
    return true;
  }
  Result<Found> LookUp(const std::string& name) override {
    calls.emplace_back("look up");
    if (!has_names_) return Found{false, std::nullopt};
    const auto found = published.find(name);
    return found == published.end() ? Found{} : Found{true, found->second};
  }
  void Unpublish(const std::string& name) override {
    calls.emplace_back("unpublish");
    published.erase(name);
  }
  Status Say(const std::string& name, const std::string& text) override {
    calls.emplace_back("say");
    said[name] = text;
    return {};
  }
  Result<std::optional<std::string>> AskRankZero(const std::string& name, int seconds) override {
    calls.emplace_back("ask");
    patience = seconds;
    const auto found = said.find(name);
    if (found == said.end()) return std::nullopt;
    return found->second;
  }
  Result<PmixPlace> GetPlace() override { return place; }

  Status init;
  PmixPlace place;
  std::optional<std::shared_future<void>> hangs;
  std::map<std::string, std::string> published;
  std::map<std::string, std::string> said;
  std::vector<std::string> calls;
  int patience = 0;

 private:
  const bool has_names_;
};

inline std::function<Result<std::shared_ptr<PmixApi>>()> Loads(const std::shared_ptr<FakePmix>& pmix) {
  return [pmix]() -> Result<std::shared_ptr<PmixApi>> { return pmix; };
}

}  // namespace muster::rendezvous::testing_support
