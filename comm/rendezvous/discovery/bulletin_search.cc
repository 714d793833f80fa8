#include "comm/rendezvous/discovery/bulletin_search.h"

#include <algorithm>

#include "comm/log/log.h"

namespace muster {
namespace {

using std::chrono::milliseconds;

constexpr Duration kFirstPause = milliseconds(5);
constexpr Duration kLongestPause = milliseconds(250);
// With a notice in hand, another one comes only where that one's root is gone.
constexpr Duration kPauseWithNotice = milliseconds(500);

}  // namespace

BulletinSearch::BulletinSearch(EventLoop& loop, std::unique_ptr<Bulletin> bulletin, RootDialer::Params params,
                               MakeProver make_prover, RootDialer::OnLink on_link,
                               RootDialer::OnRejected on_rejected)
    : loop_(loop),
      bulletin_(std::move(bulletin)),
      params_(params),
      make_prover_(std::move(make_prover)),
      on_link_(std::move(on_link)),
      on_rejected_(std::move(on_rejected)),
      worker_(loop.mailbox()),
      pause_(kFirstPause) {
  Look();
}

BulletinSearch::~BulletinSearch() {
  loop_.Cancel(timer_);
  DropDialer();
}

// A prover may be in the middle of the very call that ends its dialer.
void BulletinSearch::DropDialer() {
  dialer_.reset();
  if (prover_) loop_.Post([prover = std::move(prover_)] {});
}

void BulletinSearch::Look() {
  using Found = Result<std::optional<std::string>>;
  const auto found = std::make_shared<Found>();
  worker_.Run([found, bulletin = bulletin_,
               limit = params_.handshake_timeout] { *found = bulletin->LookUp(Deadline::After(limit)); },
              [this, found] { OnLook(*found); });
}

void BulletinSearch::OnLook(const Result<std::optional<std::string>>& found) {
  if (!found && found.error().code == Code::kConfiguration) {
    const RootDialer::OnRejected on_rejected = on_rejected_;
    return on_rejected(found.error());
  }
  timer_ = loop_.After(newest_.empty() ? pause_ : kPauseWithNotice, [this] { Look(); });
  pause_ = std::min(pause_ * 3 / 2, kLongestPause);
  if (!found) {
    if (problem_ != found.error().message) LogDebug("{}", found.error().message);
    problem_ = found.error().message;
    return;
  }
  problem_ = *found ? "" : fmt::format("{} does not say yet where it listens", bulletin_->Describe());
  if (*found && **found != newest_) OnNotice(**found);
}

void BulletinSearch::OnNotice(const std::string& text) {
  newest_ = text;
  DropDialer();
  const Result<Notice> notice = DecodeNotice(text);
  if (notice) return Dial(*notice);
  problem_ = fmt::format("{}: {}", bulletin_->Describe(), notice.error().message);
  newest_.clear();
}

void BulletinSearch::Dial(const Notice& notice) {
  Result<std::unique_ptr<Prover>> prover = make_prover_(notice.secret);
  if (!prover) {
    const RootDialer::OnRejected on_rejected = on_rejected_;
    return on_rejected(prover.error());
  }
  prover_ = *std::move(prover);
  dialer_ = std::make_unique<RootDialer>(loop_, params_, *prover_, on_link_, on_rejected_);
  dialer_->AddCandidates(notice.addresses);
}

std::string BulletinSearch::Problem() const {
  if (!problem_.empty() || !dialer_) return problem_;
  return dialer_->Problem();
}

std::optional<Error> BulletinSearch::rejection() const {
  return dialer_ ? dialer_->rejection() : std::nullopt;
}

}  // namespace muster
