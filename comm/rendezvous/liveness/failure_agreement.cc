#include "comm/rendezvous/liveness/failure_agreement.h"

namespace muster::rendezvous {

FailureAgreement::Step FailureAgreement::Find(const Failure& failure, bool has_upstream) {
  if (failure_) return Step::kNothing;
  if (!has_upstream) return Step::kAgree;
  if (found_) return Step::kPassUp;
  found_ = failure;
  return Step::kPassUpAndWait;
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
