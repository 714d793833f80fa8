#include "comm/rendezvous/pmix_place.h"

#include <utility>

#include "comm/base/abandonable_calls.h"

namespace muster {
namespace {

Result<PmixApi::Place> Ask(const std::function<Result<std::shared_ptr<PmixApi>>()>& load) {
  MUSTER_TRY(const auto api, load());
  MUSTER_CHECK(api->Init());
  Result<PmixApi::Place> place = api->GetPlace();
  api->Finalize();
  return place;
}

}  // namespace

Result<PmixApi::Place> AskPmixPlace(Deadline deadline,
                                    std::function<Result<std::shared_ptr<PmixApi>>()> load) {
  AbandonableCalls calls;
  const auto place = std::make_shared<Result<PmixApi::Place>>();
  if (calls.Run([place, load = std::move(load)] { *place = Ask(load); }, deadline)) return *place;
  return Fail(Code::kDeadline, "the PMIx server of this node has not answered in time");
}

}  // namespace muster
