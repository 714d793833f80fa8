#include "comm/rendezvous/control/report_handover.h"

#include <utility>

#include "comm/base/lists.h"
#include "comm/log/log.h"
#include "comm/rendezvous/join/prover_choice.h"
#include "comm/rendezvous/join/root_connection.h"

namespace muster::rendezvous {
namespace {

// The node may notice the loss a heartbeat later than this one.
constexpr Duration kEachWithin = std::chrono::seconds(4);
// Between two leaders: their programs end together, and the node above has a connection of each.
constexpr Duration kApart = std::chrono::milliseconds(2);

}  // namespace

ReportHandover::ReportHandover(net::EventLoop& loop, std::shared_ptr<const JoinRequest> request,
                               Detour detour, Bytes report, std::function<void()> on_done)
    : loop_(loop),
      request_(std::move(request)),
      detour_(std::move(detour)),
      report_(std::move(report)),
      on_done_(std::move(on_done)),
      munge_worker_(loop.mailbox()) {
  timer_ = loop_.After(kApart * static_cast<Duration::rep>(detour_.turn), [this] { TryNext(); });
}

void ReportHandover::TryNext() {
  link_.reset();
  search_.reset();
  if (!prover_) {
    Result<std::unique_ptr<auth::Prover>> prover = ChooseProver(*request_, munge_worker_);
    if (!prover) return on_done_();
    prover_ = *std::move(prover);
  }
  if (tried_ == detour_.hosts.size()) {
    LogDebug("none of {} takes the exit reports behind {}; the root counts these ranks as unknown",
             FormatNodes(detour_.hosts), request_->self.node);
    return on_done_();
  }
  RootSearch::Where where = WhereToSearch(*request_);
  where.hosts = {detour_.hosts[tried_++]};
  search_ = std::make_unique<RootSearch>(
      loop_, std::move(where),
      RootDialer::Params{auth::MeetingIdOf(request_->meeting.key), request_->timeouts.handshake,
                         request_->timeouts.connect},
      *prover_, [this](std::unique_ptr<net::FrameStream> link) { OnLink(std::move(link)); },
      [this](const Error&) { TryNextSoon(); });
  timer_ = loop_.After(kEachWithin, [this] { TryNext(); });
}

// Not within a call of the search or of the link.
void ReportHandover::TryNextSoon() {
  timer_ = loop_.After(Duration::zero(), [this] { TryNext(); });
}

void ReportHandover::OnLink(std::unique_ptr<net::FrameStream> link) {
  link_ = std::move(link);
  link_->Start(
      [this](ByteView frame) {
        if (ControlTypeOf(frame) != ControlType::kReleased) return;
        timer_.Cancel();
        // Closing ends this handler, and what it has captured.
        const std::function<void()> done = on_done_;
        link_->CloseAfterFlush();
        done();
      },
      [this](const Error&) { TryNextSoon(); });
  link_->Send(report_);
}

}  // namespace muster::rendezvous
