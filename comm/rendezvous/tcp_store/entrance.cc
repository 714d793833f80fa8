#include "comm/rendezvous/tcp_store/entrance.h"

#include <algorithm>

namespace muster::tcp_store {

Entrance::Arrival Entrance::Arrive(ClientId id, const std::string& host, Clock::time_point now) {
  Arrival arrival;
  if (const auto found = hosts_.find(host); found != hosts_.end() && IsMute(found->second, now)) {
    arrival.evicted = OldestSilentOf(found->second);
    arrival.refused = !arrival.evicted;
  } else if (clients_.size() >= limits_.clients) {
    arrival.evicted = OldestSilent();
  }
  if (arrival.refused) return arrival;
  if (arrival.evicted) Leave(*arrival.evicted);
  const auto own = hosts_.try_emplace(host).first;
  ++own->second.clients;
  ++own->second.silent;
  ++silent_;
  clients_.emplace(id, Client{own});
  return arrival;
}

bool Entrance::IsMute(const Host& host, Clock::time_point now) const {
  return host.questions > 0 && host.clients >= limits_.clients_of_mute_host &&
         now - host.answered >= limits_.mute_after;
}

void Entrance::Greeted(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end() || found->second.stage != Stage::kSilent) return;
  found->second.stage = Stage::kWaiting;
  Host& host = found->second.host->second;
  --host.silent;
  --silent_;
  host.waiting.push_back(id);
}

void Entrance::Leave(ClientId id) {
  const auto node = clients_.extract(id);
  if (node.empty()) return;
  const auto own = node.mapped().host;
  Host& host = own->second;
  --host.clients;
  if (node.mapped().stage == Stage::kSilent) {
    --host.silent;
    --silent_;
  }
  if (node.mapped().stage == Stage::kWaiting) std::erase(host.waiting, id);
  DropIfEmpty(own);
}

bool Entrance::MayAsk(const Host& host) const {
  return !host.waiting.empty() && host.questions < limits_.questions_of_host;
}

std::optional<Entrance::Question> Entrance::NextQuestion(Clock::time_point now) {
  if (questions_ >= limits_.questions) return std::nullopt;
  const auto may_ask = [this](const auto& entry) { return MayAsk(entry.second); };
  const auto after_last = hosts_.upper_bound(last_asked_);
  auto next = std::find_if(after_last, hosts_.end(), may_ask);
  if (next == hosts_.end()) {
    next = std::find_if(hosts_.begin(), after_last, may_ask);
    if (next == after_last) return std::nullopt;
  }
  Host& host = next->second;
  const ClientId id = host.waiting.front();
  host.waiting.pop_front();
  clients_.at(id).stage = Stage::kAsked;
  if (host.questions++ == 0 && !host.late) host.answered = now;
  ++questions_;
  last_asked_ = next->first;
  return Question{id, next->first};
}

void Entrance::Answered(const std::string& host, Clock::time_point now) {
  const auto found = hosts_.find(host);
  if (found == hosts_.end() || found->second.questions == 0) return;
  --found->second.questions;
  found->second.answered = now;
  found->second.late = false;
  --questions_;
  DropIfEmpty(found);
}

void Entrance::Unanswered(const Question& question) {
  const auto found = hosts_.find(question.host);
  if (found == hosts_.end() || found->second.questions == 0) return;
  Host& host = found->second;
  --host.questions;
  --questions_;
  host.late = true;
  if (const auto client = clients_.find(question.client); client != clients_.end()) {
    client->second.stage = Stage::kWaiting;
    host.waiting.push_back(question.client);
  }
  DropIfEmpty(found);
}

std::optional<ClientId> Entrance::OldestSilent() const {
  if (silent_ == 0) return std::nullopt;
  const auto most = std::ranges::max_element(
      hosts_, [](const auto& a, const auto& b) { return a.second.silent < b.second.silent; });
  return OldestSilentOf(most->second);
}

std::optional<ClientId> Entrance::OldestSilentOf(const Host& host) const {
  const auto found = std::ranges::find_if(clients_, [&host](const auto& entry) {
    return entry.second.stage == Stage::kSilent && &entry.second.host->second == &host;
  });
  if (found == clients_.end()) return std::nullopt;
  return found->first;
}

void Entrance::DropIfEmpty(Hosts::iterator host) {
  if (host->second.clients == 0 && host->second.questions == 0) hosts_.erase(host);
}

}  // namespace muster::tcp_store
