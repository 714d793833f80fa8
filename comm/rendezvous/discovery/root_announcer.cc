#include "comm/rendezvous/discovery/root_announcer.h"

#include <utility>

#include "comm/log/log.h"

namespace muster::rendezvous {
namespace {

constexpr Duration kPublishAgain = std::chrono::milliseconds(500);

}  // namespace

RootAnnouncer::RootAnnouncer(net::EventLoop& loop, std::unique_ptr<EndpointStore> endpoint_store,
                             Duration patience, OnHopeless on_hopeless)
    : loop_(loop),
      endpoint_store_(std::move(endpoint_store)),
      patience_(patience),
      on_hopeless_(std::move(on_hopeless)),
      worker_(loop.mailbox()) {}

RootAnnouncer::~RootAnnouncer() {
  Withdraw();
  if (withdrawn_.valid()) withdrawn_.wait_for(kWithdrawal);
}

void RootAnnouncer::Withdraw() {
  timer_.Cancel();
  if (std::exchange(withdrawing_, true) || text_.empty() || !endpoint_store_->WantsWithdrawal()) return;
  const auto done = std::make_shared<std::promise<void>>();
  withdrawn_ = done->get_future();
  worker_.Run(
      [done, endpoint_store = endpoint_store_, text = text_] {
        endpoint_store->Withdraw(text);
        done->set_value();
      },
      [] {});
}

void RootAnnouncer::Announce(const RootAddress& root_address) {
  text_ = Encode(root_address);
  Publish();
}

void RootAnnouncer::Publish() {
  const auto published = std::make_shared<Status>();
  worker_.Run([published, endpoint_store = endpoint_store_, text = text_,
               limit = patience_] { *published = endpoint_store->Publish(text, Deadline::After(limit)); },
              [this, published] { OnPublished(*published); });
}

void RootAnnouncer::OnPublished(const Status& published) {
  if (withdrawing_) return;
  if (published) {
    problem_.clear();
    return LogDebug("{} has the root's address", endpoint_store_->Describe());
  }
  if (published.error().code == Code::kConfiguration) {
    const OnHopeless on_hopeless = on_hopeless_;
    return on_hopeless(published.error());
  }
  if (problem_ != published.error().message) LogDebug("{}", published.error().message);
  problem_ = published.error().message;
  timer_ = loop_.After(kPublishAgain, [this] { Publish(); });
}

}  // namespace muster::rendezvous
