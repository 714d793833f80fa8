#include "comm/rendezvous/join/root_side.h"

#include <algorithm>
#include <array>

#include "comm/auth/crypto.h"
#include "comm/log/log.h"
#include "comm/rendezvous/join/advertise.h"
#include "comm/rendezvous/link/names.h"

namespace muster::rendezvous {
namespace {

// A group that forms has done so long before.
constexpr Duration kProbePatience = std::chrono::seconds(2);

std::string DrawGroupId() {
  std::array<uint8_t, 16> random{};
  auth::RandomBytes(random);
  std::string text;
  for (const uint8_t byte : random) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

RootSide::RootSide(net::EventLoop& loop, const JoinRequest& request, auth::Prover* prover,
                   ChildLinks& children, OnOutcome on_outcome, OnMisplaced on_misplaced)
    : loop_(loop),
      request_(request),
      children_(children),
      on_outcome_(std::move(on_outcome)),
      roster_builder_(request.self, request.meeting.placement) {
  if (prover == nullptr) return;
  listener_ = std::make_unique<RootListener>(
      loop, request, *prover,
      [this](std::unique_ptr<net::FrameStream> link, const net::SocketAddress& peer) {
        OnLink(std::move(link), peer);
      },
      std::move(on_misplaced));
}

void RootSide::Start() {
  if (listener_) listener_->Start();
  if (listener_ && request_.meeting.placement.nodes.size() > 1) {
    silent_ = std::make_unique<SilentNodes>(
        loop_, std::min(kProbePatience, request_.timeouts.rendezvous / 4),
        PortLadder(request_.meeting.key, request_.options.ports, request_.meeting.ports_of_others).front(),
        [this] { return roster_builder_.SilentNodes(); },
        [this](const std::string& node, bool reached) { roster_builder_.SetReached(node, reached); });
  }
  Hear(ChildLinks::kSelf, Hello{{}, {request_.self}});
}

void RootSide::OnLink(std::unique_ptr<net::FrameStream> link, const net::SocketAddress& peer) {
  const std::string reached = net::LocalAddress(link->fd()).Host();
  if (std::ranges::find(reached_at_, reached) == reached_at_.end()) reached_at_.push_back(reached);
  children_.Add(std::move(link), peer.ToString(), false);
}

void RootSide::Hear(ChildLinks::Source source, const Hello& hello) {
  if (auto failure = roster_builder_.Add(source, hello)) {
    return on_outcome_({std::nullopt, std::move(failure)});
  }
  for (const ProcessInfo& member : hello.members) {
    for (const RankClaim& claim : member.claims) {
      arrivals_.try_emplace(claim.rank, Arrival{Clock::now() - began_, member.node});
    }
  }
  if (roster_builder_.complete()) Form();
}

void RootSide::Lose(ChildLinks::Source source) {
  if (auto failure = roster_builder_.Remove(source)) on_outcome_({std::nullopt, std::move(failure)});
}

std::vector<std::string> RootSide::OwnAddresses() const {
  if (!listener_) return {};
  const Result<std::vector<std::string>> advertised =
      AddressesToAdvertise(request_.options.interface, reached_at_);
  if (advertised) return *advertised;
  LogWarning("{}", advertised.error().message);
  return reached_at_;
}

void RootSide::Form() {
  if (listener_) listener_->Close();
  silent_.reset();
  roster_builder_.SetAddresses(request_.self.node, OwnAddresses());
  Result<Roster> roster = roster_builder_.MakeRoster();
  if (!roster) return on_outcome_({std::nullopt, Failure{roster.error(), -1, -1, ""}});
  FormedGroup formed{*std::move(roster), {}, request_.self.claims.front().rank};
  formed.roster.group_id = DrawGroupId();
  auth::RandomBytes(formed.key);
  on_outcome_({std::move(formed), std::nullopt});
}

std::string RootSide::Describe() const {
  const std::string problem = listener_ ? listener_->Problem() : "";
  return problem.empty() ? roster_builder_.Describe() : roster_builder_.Describe() + "; " + problem;
}

}  // namespace muster::rendezvous
