// The connections to a store that are not admitted yet: their limit, and the order of the questions about
// them.
//
// A client is *silent* until it has sent its greeting, then *waiting* until the question about its owner is
// sent, then *asked*. Programs greet immediately; foreign clients may never greet. Three rules follow:
//
// - Silent clients give way: at the limit, the oldest silent one of the host that has most of them.
// - Questions are sent in turns, one host after the other, so that a host with many waiting clients delays no
//   other host. Questions about one host's clients follow the order of their greetings: a program waits
//   behind the foreign clients of its own node, but not forever.
// - No client is refused at the limit: further connections wait in the kernel until a client leaves.
//   Exception: a host that has not answered for a while. Its clients, beyond a limit, would block all other
//   hosts.
//
// A question counts as open until it is answered, even if its client has closed the connection. The client's
// descriptor is free immediately.
//
// Pure; one thread.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "comm/base/deadline.h"
#include "comm/rendezvous/tcp_store/waits.h"

namespace muster::tcp_store {

class Entrance {
 public:
  struct Limits {
    size_t clients = 192;   // that are not admitted
    size_t questions = 64;  // that are open
    size_t questions_of_host = 8;
    // Of a host that has answered no question for this time.
    size_t clients_of_mute_host = 64;
    Duration mute_after = std::chrono::seconds(3);
  };
  struct Arrival {
    bool refused = false;             // its host does not answer
    std::optional<ClientId> evicted;  // this one has to go
  };
  struct Question {
    ClientId client = 0;
    std::string host;
  };

  explicit Entrance(Limits limits) : limits_(limits) {}
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;

  // Ids are given in the order of arrival. A refused client has not come in; an evicted one has left.
  Arrival Arrive(ClientId id, const std::string& host, Clock::time_point now);
  void Greeted(ClientId id);
  // It was admitted, or its connection has ended. Harmless for any other id.
  void Leave(ClientId id);
  // The next question to send; absent if no client waits or too many are open.
  std::optional<Question> NextQuestion(Clock::time_point now);
  void Answered(const std::string& host, Clock::time_point now);
  // Its host is late: the client waits for its next turn, behind those of its host.
  void Unanswered(const Question& question);

  // The client that gives way to the next; absent: there is none.
  std::optional<ClientId> OldestSilent() const;
  // No further client can come in until one leaves.
  bool full() const { return clients_.size() >= limits_.clients && silent_ == 0; }
  size_t size() const { return clients_.size(); }

 private:
  enum class Stage { kSilent, kWaiting, kAsked };
  struct Host {
    size_t clients = 0;
    size_t silent = 0;
    size_t questions = 0;
    Clock::time_point answered{};  // or time of the first open question
    bool late = false;             // it has not answered since
    std::deque<ClientId> waiting;
  };
  using Hosts = std::map<std::string, Host>;
  struct Client {
    Hosts::iterator host;
    Stage stage = Stage::kSilent;
  };

  std::optional<ClientId> OldestSilentOf(const Host& host) const;
  bool MayAsk(const Host& host) const;
  bool IsMute(const Host& host, Clock::time_point now) const;
  void DropIfEmpty(Hosts::iterator host);

  const Limits limits_;
  Hosts hosts_;
  std::map<ClientId, Client> clients_;
  size_t silent_ = 0;
  size_t questions_ = 0;
  std::string last_asked_;
};

}  // namespace muster::tcp_store
