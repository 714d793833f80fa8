#include "comm/rendezvous/control/rejoin_handler.h"

#include <algorithm>

#include "comm/log/log.h"
#include "comm/rendezvous/join/prover_choice.h"
#include "comm/rendezvous/roster/agreement.h"

namespace muster::rendezvous {
namespace {

constexpr size_t kLongestHello = size_t{16} << 20;

}  // namespace

RejoinHandler::RejoinHandler(net::EventLoop& loop, std::shared_ptr<const JoinRequest> request, bool is_root,
                             Group group)
    : loop_(loop),
      request_(std::move(request)),
      is_root_(is_root),
      group_(std::move(group)),
      munge_worker_(loop.mailbox()) {
  visitors_.SetHandlers([this](ChildLinks::Source source, ByteView frame) { OnFrame(source, frame); },
                        [this](ChildLinks::Source source, const ChildLinks::Child&, const Error&) {
                          lost_above_.erase(source);
                        });
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
  const Result<Hello> hello = Decode<Hello>(frame);
  if (!hello) return visitors_.Remove(source);
  if (const auto failure = Refuse(source, *hello)) return visitors_.Send(source, Encode(*failure));
  visitors_.Send(source, EncodeBare(ControlType::kLater));
}

void RejoinHandler::OnReport(ChildLinks::Source source, ByteView frame) {
  const Result<OrphanReport> report = Decode<OrphanReport>(frame);
  if (!report || !group_.take_report(*report)) return visitors_.Remove(source);
  visitors_.Send(source, EncodeBare(ControlType::kReleased));
}

// Rank numbers identify ranks only within one world size and one incarnation of the job.
std::optional<Failure> RejoinHandler::Refuse(ChildLinks::Source source, const Hello& hello) {
  if (auto leftover = FindLeftover(request_->self, hello)) {
    return Failure{*std::move(leftover), FirstRankOf(hello)};
  }
  if (auto failure = LoseUnformed(source, hello)) return failure;
  const Agreement& ours = request_->self.agreement;
  for (const ProcessInfo& member : hello.members) {
    if (member.IsReportedLost()) continue;
    if (member.agreement.restart != ours.restart || member.agreement.world_size != ours.world_size) continue;
    for (const RankClaim& claim : member.claims) {
      if (auto error = group_.still_here(claim.rank)) return Failure{*std::move(error), claim.rank};
    }
  }
  return std::nullopt;
}

// The first hello of a connection has the report, the next ones have processes of other nodes.
std::optional<Failure> RejoinHandler::LoseUnformed(ChildLinks::Source source, const Hello& hello) {
  const auto lost = std::ranges::find_if(hello.members, &ProcessInfo::IsReportedLost);
  if (lost != hello.members.end()) lost_above_.emplace(source, *lost);
  const auto reported = lost_above_.find(source);
  return reported == lost_above_.end() ? std::nullopt : group_.lose_unformed(hello, reported->second);
}

}  // namespace muster::rendezvous
