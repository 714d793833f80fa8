#include "comm/rendezvous/control/later_desk.h"

#include "comm/log/log.h"
#include "comm/rendezvous/join/agreement.h"
#include "comm/rendezvous/join/prover_choice.h"

namespace muster {
namespace {

constexpr size_t kLongestHello = size_t{16} << 20;

}  // namespace

LaterDesk::LaterDesk(EventLoop& loop, std::shared_ptr<const JoinRequest> request, bool is_root,
                     StillHere still_here)
    : loop_(loop),
      request_(std::move(request)),
      is_root_(is_root),
      still_here_(std::move(still_here)),
      munge_worker_(loop.mailbox()) {
  visitors_.SetHandlers([this](Branches::Source source, ByteView frame) { OnFrame(source, frame); },
                        [](Branches::Source, const Branches::Branch&, const Error&) {});
}

void LaterDesk::OpenLadder() {
  if (!is_root_ || listener_ || request_->meeting.find_root == FindRoot::kSameNode) return;
  // The launcher's board may be in the hands of a program by now; those who come look for the next notice.
  if (request_->board) return;
  Result<std::unique_ptr<Prover>> prover = ChooseProver(*request_, munge_worker_);
  if (!prover) return LogDebug("ranks that come back early cannot be told: {}", prover.error().message);
  prover_ = *std::move(prover);
  listener_ = std::make_unique<RootListener>(
      loop_, *request_, *prover_,
      [this](std::unique_ptr<FrameStream> link, const SocketAddress& peer) {
        visitors_.Add(std::move(link), peer.ToString(), false);
      },
      [](const Error&) {});
  listener_->Start();
}

void LaterDesk::OpenLocally(std::unique_ptr<LocalDoor> door) {
  const auto admit = [this](UniqueFd fd, PeerCredentials credentials) {
    visitors_.Add(std::make_unique<FrameStream>(loop_, std::move(fd), kLongestHello),
                  fmt::format("pid {} on this node", credentials.pid), true);
  };
  local_door_ = std::move(door);
  if (local_door_) return local_door_->SetOnConnection(admit);
  local_door_ = std::make_unique<LocalDoor>(loop_,
                                            MakeLocalNames(request_->meeting.LocalKey(), request_->self.node,
                                                           request_->shared_directories, request_->uid),
                                            admit);
  const auto opened = local_door_->Open();
  if (!opened) LogDebug("ranks that come back early cannot be told: {}", opened.error().message);
}

void LaterDesk::Take(Branches::Branch visitor) {
  visitors_.Add(std::move(visitor.stream), std::move(visitor.name), visitor.same_node);
}

void LaterDesk::OnFrame(Branches::Source source, ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (type == ControlType::kVersions) return visitors_.Send(source, Encode(request_->versions));
  if (type != ControlType::kHello) return;
  const Result<Hello> hello = DecodeHello(frame);
  if (!hello) return visitors_.Remove(source);
  if (const auto failure = Refuse(*hello)) return visitors_.Send(source, Encode(*failure));
  visitors_.Send(source, EncodeBare(ControlType::kLater));
}

// Ranks can be told apart by their numbers only within one world and one life of the job.
std::optional<Failure> LaterDesk::Refuse(const Hello& hello) const {
  if (auto leftover = FindLeftover(request_->self, hello)) {
    return Failure{*std::move(leftover), FirstRankOf(hello), -1, ""};
  }
  const Agreement& ours = request_->self.agreement;
  for (const Party& party : hello.parties) {
    if (party.agreement.restart != ours.restart || party.agreement.world_size != ours.world_size) continue;
    for (const Claim& claim : party.claims) {
      if (auto error = still_here_(claim.rank)) return Failure{*std::move(error), claim.rank, -1, ""};
    }
  }
  return std::nullopt;
}

}  // namespace muster
