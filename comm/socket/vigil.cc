#include "comm/socket/vigil.h"

#include <algorithm>
#include <iterator>

namespace muster {
namespace {

constexpr Duration kPublishAfter = std::chrono::milliseconds(10);
constexpr Duration kLongestSearch = std::chrono::seconds(1);
// A rank with more open questions than this learns nothing new from another one.
constexpr size_t kMaxAsked = 16;
constexpr size_t kMaxSuspects = 128;

}  // namespace

void Vigil::Begin(const Call& call, Deadline deadline, Duration timeout) {
  call_ = call;
  blocked_ = false;
  if (deadline.IsNever()) {
    search_at_ = deadline;
    return;
  }
  search_at_ = Deadline::At(deadline.when() - std::min(kLongestSearch, timeout / 4));
}

void Vigil::End() {
  for (const auto& [rank, question] : asked_) mesh_.Drop(question);
  for (const auto& [rank, question] : search_) mesh_.Drop(question);
  asked_.clear();
  search_.clear();
  done_asking_.clear();
  suspects_.clear();
  innocent_.clear();
  gone_.reset();
}

bool Vigil::Blocked() {
  if (ledger_ == nullptr) return false;
  if (!blocked_) {
    blocked_ = true;
    publish_at_ = Deadline::After(kPublishAfter);
    ask_at_ = Deadline::After(patience_);
  }
  return Asking() || wake().Expired();
}

void Vigil::Attend(const std::vector<int>& peers) {
  if (publish_at_.Expired()) Publish(peers);
  if (ask_at_.Expired()) Ask(peers);
  if (Asking()) CollectAnswers();
  if (search_at_.Expired()) Search(peers);
}

Deadline Vigil::wake() const {
  if (ledger_ == nullptr || !blocked_) return Deadline::Never();
  return publish_at_.EarlierOf(ask_at_).EarlierOf(search_at_);
}

void Vigil::Publish(const std::vector<int>& peers) {
  ledger_->Waiting(peers);
  publish_at_ = Deadline::Never();
}

void Vigil::Ask(const std::vector<int>& peers) {
  ask_at_ = Deadline::Never();
  for (const int peer : peers) {
    if (done_asking_.size() >= kMaxAsked) return;
    if (done_asking_.insert(peer).second) asked_[peer] = mesh_.Inquire(peer, call_);
  }
}

void Vigil::CollectAnswers() {
  for (auto entry = asked_.begin(); entry != asked_.end();) {
    const Mesh::InquiryResult result = mesh_.Look(entry->second);
    if (result.state == Inquiry::State::kOpen) {
      ++entry;
      continue;
    }
    if (result.state == Inquiry::State::kRefused && mesh_.SharesNode(entry->first)) gone_ = entry->first;
    mesh_.Drop(entry->second);
    entry = asked_.erase(entry);
  }
  std::vector<int> next;
  for (auto entry = search_.begin(); entry != search_.end();) {
    const Mesh::InquiryResult result = mesh_.Look(entry->second);
    if (result.state == Inquiry::State::kOpen) {
      ++entry;
      continue;
    }
    if (result.state == Inquiry::State::kAnswered && result.answer.standing == Standing::kSame) {
      innocent_.insert(entry->first);
      next.insert(next.end(), result.answer.waiting_for.begin(), result.answer.waiting_for.end());
    }
    mesh_.Drop(entry->second);
    entry = search_.erase(entry);
  }
  for (const int rank : next) Suspect(rank);
}

void Vigil::Search(const std::vector<int>& peers) {
  search_at_ = Deadline::Never();
  for (const int peer : peers) Suspect(peer);
}

void Vigil::Suspect(int rank) {
  if (rank < 0 || rank >= mesh_.group().roster().size() || rank == mesh_.group().rank()) return;
  if (suspects_.size() >= kMaxSuspects || !suspects_.insert(rank).second) return;
  search_[rank] = mesh_.Inquire(rank, call_);
}

std::vector<int> Vigil::Culprits(const std::vector<int>& peers) const {
  std::vector<int> culprits;
  std::ranges::set_difference(suspects_, innocent_, std::back_inserter(culprits));
  return culprits.empty() ? peers : culprits;
}

}  // namespace muster
