// Stands in for a launcher's PMI server: sends its given answers, in this order, to any requests.
#pragma once

#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/base/unique_fd.h"

namespace muster::rendezvous {

// One question, and the answer to it; an empty answer is none.
using PmiExchange = std::pair<std::string, std::string>;

class ScriptedPmiServer {
 public:
  explicit ScriptedPmiServer(std::vector<PmiExchange> script) : script_(std::move(script)) {
    std::array<int, 2> ends{};
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data());
    ours_.Reset(ends[0]);
    client.Reset(ends[1]);
    thread_ = std::thread([this] { Serve(); });
  }
  ~ScriptedPmiServer() { Join(); }

  // The requests, in order, once the client has closed its end or the script is over.
  const std::vector<std::string>& Join() {
    client.Reset();
    if (thread_.joinable()) thread_.join();
    return asked_;
  }

  UniqueFd client;

 private:
  void Serve() {
    for (const auto& [question, answer] : script_) {
      std::string got(question.size(), '\0');
      if (recv(ours_.get(), got.data(), got.size(), MSG_WAITALL) <= 0) return;
      asked_.push_back(got);
      if (send(ours_.get(), answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
    }
    ours_.Reset();
  }

  std::vector<PmiExchange> script_;
  UniqueFd ours_;
  std::vector<std::string> asked_;
  std::thread thread_;
};

}  // namespace muster::rendezvous
