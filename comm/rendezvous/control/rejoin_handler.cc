#include "comm/rendezvous/control/rejoin_handler.h"

#include "comm/log/log.h"
#include "comm/rendezvous/join/prover_choice.h"
#include "comm/rendezvous/roster/agreement.h"

namespace muster::rendezvous {
namespace {

constexpr size_t kLongestHello = size_t{16} << 20;

}  // namespace

RejoinHandler::RejoinHandler(net::EventLoop& loop, std::shared_ptr<const JoinRequest> request, bool is_root,
                             StillHere still_here, TakeReport take_report)
    : loop_(loop),
      request_(std::move(request)),
      is_root_(is_root),
      still_here_(std::move(still_here)),
      take_report_(std::move(take_report)),
      munge_worker_(loop.mailbox()) {
  visitors_.SetHandlers([this](ChildLinks::Source source, ByteView frame) { OnFrame(source, frame); },
                        [](ChildLinks::Source, const ChildLinks::Child&, const Error&) {});
}

void RejoinHandler::OpenLadder() {
  if (!is_root_ || request_->meeting.find_root == FindRoot::kSameNode) return;
  // A program may use the launcher's server by now; new processes wait for the next root's address.
  if (!request_->kvs) OpenToOrphans();
}

void RejoinHandler::OpenToOrphans() {
  if (listener_) return;
  Result<std::unique_ptr<auth::Prover>> prover = ChooseProver(*request_, munge_worker_);
  if (!prover) return LogDebug("ranks that rejoin early get no answer: {}", prover.error().message);
  prover_ = *std::move(prover);
  listener_ = std::make_unique<RootListener>(
      loop_, *request_, *prover_,
      [this](std::unique_ptr<net::FrameStream> link, const net::SocketAddress& peer) {
        visitors_.Add(std::move(link), peer.ToString(), false);
      },
      [](const Error&) {});
  listener_->Start();
}

void RejoinHandler::OpenLocally(std::unique_ptr<NodeListener> listener) {
  const auto admit = [this](UniqueFd fd, net::PeerCredentials credentials) {
    visitors_.Add(std::make_unique<net::FrameStream>(loop_, std::move(fd), kLongestHello),
                  fmt::format("pid {} on this node", credentials.pid), true);
  };
  node_listener_ = std::move(listener);
  if (node_listener_) return node_listener_->SetOnConnection(admit);
  if (request_->sole) return;
  node_listener_ =
      std::make_unique<NodeListener>(loop_,
                                     MakeLocalNames(request_->meeting.LocalKey(), request_->self.node,
                                                    request_->shared_directories, request_->uid),
                                     admit);
  const auto opened = node_listener_->Open(NodeListener::Candidates::kOne);
  if (!opened) LogDebug("ranks that rejoin early get no answer: {}", opened.error().message);
}

void RejoinHandler::Take(ChildLinks::Child visitor) {
  visitors_.Add(std::move(visitor.stream), std::move(visitor.name), visitor.same_node);
}

void RejoinHandler::OnFrame(ChildLinks::Source source, ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (type == ControlType::kVersions) return visitors_.Send(source, Encode(request_->versions));
  if (type == ControlType::kOrphanReport) return OnReport(source, frame);
  if (type != ControlType::kHello) return;
  const Result<Hello> hello = DecodeHello(frame);
  if (!hello) return visitors_.Remove(source);
  if (const auto failure = Refuse(*hello)) return visitors_.Send(source, Encode(*failure));
  visitors_.Send(source, EncodeBare(ControlType::kLater));
}

void RejoinHandler::OnReport(ChildLinks::Source source, ByteView frame) {
  const Result<OrphanReport> report = DecodeOrphanReport(frame);
  if (!report || !take_report_(*report)) return visitors_.Remove(source);
  visitors_.Send(source, EncodeBare(ControlType::kReleased));
}

// Rank numbers identify ranks only within one world size and one incarnation of the job.
std::optional<Failure> RejoinHandler::Refuse(const Hello& hello) const {
  if (auto leftover = FindLeftover(request_->self, hello)) {
    return Failure{*std::move(leftover), FirstRankOf(hello), -1, ""};
  }
  const Agreement& ours = request_->self.agreement;
  for (const ProcessInfo& member : hello.members) {
    if (member.agreement.restart != ours.restart || member.agreement.world_size != ours.world_size) continue;
    for (const RankClaim& claim : member.claims) {
      if (auto error = still_here_(claim.rank)) return Failure{*std::move(error), claim.rank, -1, ""};
    }
  }
  return std::nullopt;
}

}  // namespace muster::rendezvous
