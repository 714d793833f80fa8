#include "comm/socket/engine/stall_monitor.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "comm/socket/engine/wait_rules.h"

namespace muster::socket {
namespace {

constexpr Duration kNoteAfter = std::chrono::milliseconds(50);
// Longer than the pause between two surveys (straggler_watch.h).
constexpr Duration kNoteAgainAfter = std::chrono::seconds(4);
constexpr Duration kNoteAfterAtMost = std::chrono::minutes(1);
// More open questions than this add no information.
constexpr size_t kMaxAsked = 16;
constexpr Duration kAskAtLeastEvery = std::chrono::minutes(1);

}  // namespace

// A Send or Recv that waits.
class StallMonitor::WaitingPair final : public ActivitySource {
 public:
  WaitingPair(OperationState state, Clock::time_point since) : state_(std::move(state)), since_(since) {}
  void HasMoved() { since_ = Clock::now(); }
  OperationState Look() const override {
    OperationState state = state_;
    // Data may move meanwhile.
    const auto age = std::max<Duration>(Duration::zero(), Clock::now() - since_.load());
    state.milliseconds =
        static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(age).count());
    return state;
  }

 private:
  const OperationState state_;
  std::atomic<Clock::time_point> since_;
};

void StallMonitor::Begin(const Call& call) {
  call_ = call;
  blocked_ = false;
  ask_after_ = patience_;
  note_after_ = kNoteAfter;
  begun_ = Clock::now();
  SetLate(begun_);
}

void StallMonitor::SetLate(Clock::time_point since) {
  const Duration after = mesh_.group().activity().straggler_after();
  late_at_ = after > Duration::zero() ? Deadline::At(since + after) : Deadline::Never();
}

void StallMonitor::End() {
  DropQuestions();
  gone_.clear();
  noted_.clear();
  if (waiting_pair_) mesh_.group().activity().Remove(waiting_pair_.get());
  waiting_pair_.reset();
}

void StallMonitor::Postpone(Duration stall) {
  for (Deadline* planned : {&note_at_, &ask_at_, &late_at_}) *planned = Postponed(*planned, stall);
}

bool StallMonitor::Blocked() {
  if (!blocked_) {
    blocked_ = true;
    note_at_ = Deadline::After(note_after_);
    ask_at_ = Deadline::After(ask_after_);
  }
  return Asking() || !noted_.empty() || wake().Expired();
}

void StallMonitor::Attend(const std::vector<int>& peers, bool connected) {
  const bool late = late_at_.Expired();
  if (note_at_.Expired() || late || (!noted_.empty() && noted_ != peers)) Note(peers);
  if (late) {
    late_at_ = Deadline::Never();
    mesh_.group().activity().ReportLate();
  }
  if (ask_at_.Expired()) Ask(history_ != nullptr || !connected ? peers : std::vector<int>());
  if (Asking()) CollectAnswers();
}

Deadline StallMonitor::wake() const {
  if (!blocked_) return Deadline::Never();
  return note_at_.EarlierOf(ask_at_).EarlierOf(late_at_);
}

void StallMonitor::Note(std::vector<int> peers) {
  note_at_ = Deadline::Never();
  if (history_ != nullptr) {
    noted_ = std::move(peers);
    return history_->Waiting(noted_);
  }
  if (waiting_pair_) return;
  OperationState state = StateOf(call_);
  state.active = true;
  state.waiting_for = std::move(peers);
  waiting_pair_ = std::make_shared<WaitingPair>(std::move(state), begun_);
  mesh_.group().activity().Add(waiting_pair_);
}

void StallMonitor::NoteProgress() {
  if (waiting_pair_) {
    waiting_pair_->HasMoved();
    return SetLate(Clock::now());
  }
  Note({});
  note_after_ = std::min(std::max(2 * note_after_, kNoteAgainAfter), kNoteAfterAtMost);
}

// Begins after the last one of the round before: the first ones may be silent.
void StallMonitor::Ask(std::vector<int> peers) {
  ask_after_ = std::min(2 * ask_after_, kAskAtLeastEvery);
  ask_at_ = Deadline::After(ask_after_);
  if (peers.size() > kMaxAsked) DropQuestions();
  std::ranges::rotate(peers, std::ranges::upper_bound(peers, last_asked_));
  for (const int peer : peers) {
    if (asked_.size() >= kMaxAsked) return;
    if (gone_.contains(peer) || asked_.contains(peer)) continue;
    asked_[peer] = mesh_.Inquire(peer, call_);
    last_asked_ = peer;
  }
}

void StallMonitor::DropQuestions() {
  for (const auto& [rank, question] : asked_) mesh_.Drop(question);
  asked_.clear();
}

// Of another node "refused" may come from a firewall. To a lower rank there this rank connects itself: that connection may
// not be complete here yet and have the last data on it, and ends with a leave message.
bool StallMonitor::IsGone(int peer, Inquiry::State state) const {
  if (mesh_.SharesNode(peer)) return state == Inquiry::State::kRefused || state == Inquiry::State::kLeft;
  return state == Inquiry::State::kLeft && peer > mesh_.group().rank();
}

void StallMonitor::CollectAnswers() {
  bool no_listener = false;  // on another node
  for (auto entry = asked_.begin(); entry != asked_.end();) {
    const Inquiry::State state = mesh_.Look(entry->second);
    if (state == Inquiry::State::kOpen) {
      ++entry;
      continue;
    }
    if (IsGone(entry->first, state)) gone_.insert(entry->first);
    no_listener = no_listener || (state == Inquiry::State::kRefused && !mesh_.SharesNode(entry->first));
    mesh_.Drop(entry->second);
    entry = asked_.erase(entry);
  }
  if (no_listener && history_ != nullptr) mesh_.group().activity().ReportLate();
}

}  // namespace muster::socket
