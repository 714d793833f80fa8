#include "comm/rendezvous/discovery/endpoint_store_search.h"

#include <algorithm>

#include "comm/log/log.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;

constexpr Duration kFirstPause = milliseconds(5);
constexpr Duration kLongestPause = milliseconds(250);
// After the first root address, another one appears only if its root has ended.
constexpr Duration kPauseWithRootAddress = milliseconds(500);

}  // namespace

EndpointStoreSearch::EndpointStoreSearch(net::EventLoop& loop, std::unique_ptr<EndpointStore> endpoint_store,
                                         RootDialer::Params params, MakeProver make_prover,
                                         RootDialer::OnLink on_link, RootDialer::OnRejected on_rejected)
    : loop_(loop),
      endpoint_store_(std::move(endpoint_store)),
      params_(params),
      make_prover_(std::move(make_prover)),
      on_link_(std::move(on_link)),
      on_rejected_(std::move(on_rejected)),
      worker_(loop.mailbox()),
      pause_(kFirstPause) {
  Look();
}

EndpointStoreSearch::~EndpointStoreSearch() { DropDialer(); }

// A prover may be in the middle of the very call that ends its dialer.
void EndpointStoreSearch::DropDialer() {
  dialer_.reset();
  if (prover_) loop_.Post([prover = std::move(prover_)] {});
}

void EndpointStoreSearch::Look() {
  using Found = Result<std::optional<std::string>>;
  const auto found = std::make_shared<Found>();
  worker_.Run(
      [found, endpoint_store = endpoint_store_, limit = params_.handshake_timeout] {
        *found = endpoint_store->LookUp(Deadline::After(limit));
      },
      [this, found] { OnLook(*found); });
}

void EndpointStoreSearch::OnLook(const Result<std::optional<std::string>>& found) {
  if (!found && found.error().code == Code::kConfiguration) {
    const RootDialer::OnRejected on_rejected = on_rejected_;
    return on_rejected(found.error());
  }
  timer_ = loop_.After(newest_.empty() ? pause_ : kPauseWithRootAddress, [this] { Look(); });
  pause_ = std::min(pause_ * 3 / 2, kLongestPause);
  if (!found) {
    if (problem_ != found.error().message) LogDebug("{}", found.error().message);
    problem_ = found.error().message;
    return;
  }
  problem_ = *found ? "" : fmt::format("{} has not published its address yet", endpoint_store_->Describe());
  if (*found && **found != newest_) OnRootAddress(**found);
}

void EndpointStoreSearch::OnRootAddress(const std::string& text) {
  newest_ = text;
  DropDialer();
  const Result<RootAddress> root_address = DecodeRootAddress(text);
  if (root_address) return Dial(*root_address);
  problem_ = fmt::format("{}: {}", endpoint_store_->Describe(), root_address.error().message);
  newest_.clear();
}

void EndpointStoreSearch::Dial(const RootAddress& root_address) {
  Result<std::unique_ptr<auth::Prover>> prover = make_prover_(root_address.secret);
  if (!prover) {
    const RootDialer::OnRejected on_rejected = on_rejected_;
    return on_rejected(prover.error());
  }
  prover_ = *std::move(prover);
  dialer_ = std::make_unique<RootDialer>(loop_, params_, *prover_, on_link_, on_rejected_);
  dialer_->AddCandidates(root_address.addresses);
}

std::string EndpointStoreSearch::Problem() const {
  if (!problem_.empty() || !dialer_) return problem_;
  return dialer_->Problem();
}

std::optional<Error> EndpointStoreSearch::rejection() const {
  return dialer_ ? dialer_->rejection() : std::nullopt;
}

}  // namespace muster::rendezvous
