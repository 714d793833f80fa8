#include "comm/rendezvous/liveness/failure_agreement.h"

#include <algorithm>

namespace muster::rendezvous {

FailureAgreement::Step FailureAgreement::Find(const Failure& failure, bool has_upstream) {
  if (failure_) return Step::kNothing;
  if (!has_upstream) {
    if (due_.empty() || failure.rank == due_.front() || failure.as_requested) return Step::kAgree;
    if (held_.empty() || std::ranges::count(due_, failure.rank) > 0) held_.push_back(failure);
    return Step::kNothing;
  }
  if (found_) return Step::kPassUp;
  found_ = failure;
  return Step::kPassUpAndWait;
}

std::optional<Failure> FailureAgreement::StopAwaiting(int rank) {
  std::erase(due_, rank);
  const auto first = std::ranges::find_if(
      held_, [this](const Failure& held) { return due_.empty() || held.rank == due_.front(); });
  return first == held_.end() ? std::nullopt : std::optional(*first);
}

bool FailureAgreement::Agree(Failure failure, bool from_above, std::set<Source> below) {
  if (failure_) return false;
  failure_ = std::move(failure);
  from_parent_ = from_above;
  unconfirmed_ = std::move(below);
  return true;
}

FailureAgreement::Knows FailureAgreement::KnownBy(bool has_upstream) {
  if (!failure_ || !unconfirmed_.empty() || all_know_) return Knows::kNotAll;
  if (has_upstream) return Knows::kAllBelow;
  all_know_ = true;
  return Knows::kAll;
}

}  // namespace muster::rendezvous
