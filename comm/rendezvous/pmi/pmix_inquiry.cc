#include "comm/rendezvous/pmi/pmix_inquiry.h"

#include <utility>

#include "comm/base/abandonable_calls.h"

namespace muster::rendezvous {
namespace {

Result<PmixPlace> Ask(const std::function<Result<std::shared_ptr<PmixApi>>()>& load) {
  MUSTER_TRY(const auto api, load());
  MUSTER_CHECK(api->Init());
  Result<PmixPlace> place = api->GetPlace();
  api->Finalize();
  return place;
}

}  // namespace

Result<PmixPlace> AskPmixServer(Deadline deadline, std::function<Result<std::shared_ptr<PmixApi>>()> load) {
  AbandonableCalls calls;
  const auto place = std::make_shared<Result<PmixPlace>>();
  if (calls.Run([place, load = std::move(load)] { *place = Ask(load); }, deadline)) return *place;
  return Fail(Code::kDeadline, "the PMIx server of this node has not answered in time");
}

}  // namespace muster::rendezvous
