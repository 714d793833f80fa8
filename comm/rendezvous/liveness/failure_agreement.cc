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
  was_told_ = from_above;
  not_told_ = std::move(below);
  return true;
}

FailureAgreement::Knows FailureAgreement::WhoKnows(bool has_upstream) {
  if (!failure_ || !not_told_.empty() || everyone_knows_) return Knows::kNotAll;
  if (has_upstream) return Knows::kAllBelow;
  everyone_knows_ = true;
  return Knows::kEveryone;
}

}  // namespace muster::rendezvous
