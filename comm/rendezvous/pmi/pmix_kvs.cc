#include "comm/rendezvous/pmi/pmix_kvs.h"

#include <algorithm>
#include <utility>

#include "comm/system/start_thread.h"
#include "comm/system/timed_lock.h"

namespace muster::rendezvous {
namespace {

// A server that must wait for a value has this time left to answer.
constexpr std::chrono::seconds kTimeToAnswer(2);

}  // namespace

PmixKvs::PmixKvs(Load load) : begun_(std::make_shared<Begun>()) {
  Begin([begun = begun_, load = std::move(load)] {
    Result<std::shared_ptr<PmixApi>> api = load();
    if (api) {
      if (const Status began = (*api)->Init(); !began) api = tl::unexpected<Error>(began.error());
    }
    *begun = std::move(api);
  });
}

void PmixKvs::Begin(std::function<void()> call) {
  const auto ended = std::make_shared<std::promise<void>>();
  last_call_ = ended->get_future();
  const auto run = [ended, call = std::move(call)] {
    call();
    ended->set_value();
  };
  // Without a thread the call blocks, which is better than no call.
  if (!StartDetachedThread(run)) run();
}

PmixKvs::~PmixKvs() { PmixKvs::Leave(); }

void PmixKvs::Leave() {
  const Deadline deadline = Deadline::After(kKvsLeaveTime);
  const Result<std::shared_ptr<PmixApi>> api = Api(deadline);
  if (left_.exchange(true) || !api) return;
  Run([api = *api] { api->Finalize(); }, deadline);
}

std::string PmixKvs::Describe() const { return "the PMIx server of this node"; }

Result<std::shared_ptr<PmixApi>> PmixKvs::Api(Deadline deadline) {
  if (left_) return Fail(Code::kConfiguration, "{} has been left", Describe());
  if (!WaitForTurn(deadline)) return Silent();
  if (**begun_) return ***begun_;
  const Error& error = (*begun_)->error();
  return tl::unexpected<Error>(Error{error.code, fmt::format("{}: {}", Describe(), error.message),
                                     "set rendezvous.method: tcp to avoid it"});
}

Status PmixKvs::Publish(const std::string& name, const std::string& text, Deadline deadline) {
  MUSTER_TRY(const auto api, Api(deadline));
  const auto done = std::make_shared<Status>();
  const auto publish = [done, api, name, text] {
    // A leftover of an earlier root.
    api->Unpublish(name);
    const Result<bool> published = api->Publish(name, text);
    if (!published) *done = tl::unexpected<Error>(published.error());
    if (published && !*published) *done = api->Say(name, text);
  };
  if (!Run(publish, deadline)) return Silent();
  return *done;
}

Result<std::optional<std::string>> PmixKvs::LookUp(const std::string& name, Deadline deadline) {
  MUSTER_TRY(const auto api, Api(deadline));
  const auto left = std::chrono::floor<std::chrono::seconds>(
      std::min<Duration>(deadline.Remaining(), std::chrono::minutes(1)) - kTimeToAnswer);
  const int seconds = std::max(1, static_cast<int>(left.count()));
  const auto found = std::make_shared<Result<std::optional<std::string>>>();
  const auto look = [found, api, name, seconds] {
    const Result<PmixApi::Found> there = api->LookUp(name);
    if (!there) {
      *found = tl::unexpected<Error>(there.error());
    } else if (there->supported) {
      *found = there->text;
    } else {
      *found = api->AskRankZero(name, seconds);
    }
  };
  if (!Run(look, deadline)) return Silent();
  return *found;
}

std::unique_lock<std::timed_mutex> PmixKvs::WaitForTurn(Deadline deadline) {
  std::unique_lock lock = LockUntil(mutex_, deadline.when());
  if (lock && last_call_.wait_until(deadline.when()) != std::future_status::ready) lock.unlock();
  return lock;
}

bool PmixKvs::Run(std::function<void()> call, Deadline deadline) {
  const std::unique_lock turn = WaitForTurn(deadline);
  if (!turn) return false;
  Begin(std::move(call));
  return last_call_.wait_until(deadline.when()) == std::future_status::ready;
}

tl::unexpected<Error> PmixKvs::Silent() const {
  return Fail(Code::kDeadline, "{} has not answered in time", Describe());
}

}  // namespace muster::rendezvous
