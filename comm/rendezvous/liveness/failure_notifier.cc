#include "comm/rendezvous/liveness/failure_notifier.h"

#include <set>
#include <utility>

namespace muster::rendezvous {
namespace {

// A failure that the root does not confirm within this goes down anyway.
constexpr Duration kConfirmation = std::chrono::seconds(2);
// The root does not wait longer than this for every process to confirm.
constexpr Duration kAllKnowWithin = std::chrono::seconds(5);
// A failure that is due travels longer than the message before it.
constexpr Duration kLaterThanDue = std::chrono::milliseconds(300);

}  // namespace

FailureNotifier::~FailureNotifier() {
  // For the processes below, an unconfirmed failure is more useful than a silent end.
  if (const Failure* own = failures_.unconfirmed()) links_.children().SendAll(Encode(*own));
}

void FailureNotifier::Await(const FailureDue& due) {
  if (failure()) return;
  if (links_.upstream() != nullptr) {
    links_.SendUp(Encode(due));
    return;
  }
  failures_.Await(due.rank);
  due_timers_.push_back(
      links_.loop().After(FromMilliseconds(due.milliseconds) + kLaterThanDue, [this, rank = due.rank] {
        if (const auto first = failures_.StopAwaiting(rank)) Announce(*first);
      }));
}

void FailureNotifier::Fail(const Failure& failure) {
  const FailureAgreement::Step step = failures_.Find(failure, links_.upstream() != nullptr);
  if (step == FailureAgreement::Step::kNothing) return;
  if (step == FailureAgreement::Step::kAgree) return Announce(failure);
  events_.on_pass_up();
  links_.SendUp(Encode(failure));
  if (step == FailureAgreement::Step::kPassUp) return;
  confirmation_timer_ = links_.loop().After(kConfirmation, [this] { Announce(*failures_.unconfirmed()); });
}

// The one place where this process receives the group's failure.
void FailureNotifier::Announce(Failure failure, bool from_above) {
  if (links_.is_root()) failure.logged_in = log_file_;
  std::set<Source> below;
  for (const auto& [source, child] : links_.children().all()) below.insert(source);
  if (!failures_.Agree(std::move(failure), from_above, std::move(below))) return;
  confirmation_timer_.Cancel();
  links_.children().SendAll(Encode(*failures_.failure()));
  give_up_timer_ = links_.loop().After(kAllKnowWithin, [this] { GiveUp(); });
  events_.on_failure(*failures_.failure());
  CheckAllKnow();
}

void FailureNotifier::GiveUp() {
  for (const Source source : failures_.GiveUp()) events_.on_give_up(source);
  CheckAllKnow();
}

void FailureNotifier::CheckAllKnow() {
  switch (failures_.KnownBy(links_.upstream() != nullptr)) {
    case FailureAgreement::Knows::kNotAll:
      return;
    case FailureAgreement::Knows::kAllBelow:
      links_.SendUp(EncodeBare(ControlType::kFailureKnown));
      return;
    case FailureAgreement::Knows::kAll:
      give_up_timer_.Cancel();
      links_.children().SendAll(EncodeBare(ControlType::kAllKnow));
      events_.on_all_know();
  }
}

void FailureNotifier::ReceiveFromParent(ByteView frame) {
  if (ControlTypeOf(frame) == ControlType::kFailure) {
    if (auto failure = Decode<Failure>(frame)) Announce(*std::move(failure), true);
    return;
  }
  if (!failures_.MarkKnownByAll()) return;
  links_.children().SendAll(frame);
  events_.on_all_know();
}

void FailureNotifier::ReceiveFromChild(Source source, ByteView frame) {
  if (ControlTypeOf(frame) == ControlType::kFailureKnown) return Forget(source);
  if (const auto due = Decode<FailureDue>(frame)) return Await(*due);
  if (const auto failure = Decode<Failure>(frame)) Fail(*failure);
}

void FailureNotifier::LoseUpstream(const Failure& loss) {
  if (!failure()) return Announce(failures_.FirstWithoutUpstream(loss));
  // The process above has the failure; without it no process reports that every rank has it.
  failures_.GiveUp();
  CheckAllKnow();
}

void FailureNotifier::Forget(Source source) {
  failures_.Confirm(source);
  CheckAllKnow();
}

}  // namespace muster::rendezvous
