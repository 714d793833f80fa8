#include "comm/rendezvous/join/node_meeting.h"

#include <algorithm>

#include "comm/base/lists.h"
#include "comm/log/log.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;

constexpr Duration kFirstPause = milliseconds(1);
constexpr Duration kLongestPause = milliseconds(100);
// Ranks of one node start together, 64 of them on two processors within 100 ms; one that is later than this may lack
// access to the first directory.
constexpr Duration kOpenElsewhereAfter = milliseconds(100);
// The kernel lists the leader's socket before it has its name in a directory, and the leader opens the other
// directories later than the first.
constexpr Duration kOutOfSightAfter = milliseconds(350);
// The list is long on a busy node, and not needed while a leader is just starting.
constexpr Duration kLookAtListFrom = milliseconds(64);

}  // namespace

FirstStep FirstStepOf(const RankClaim& claim, size_t ranks, bool user_ids_are_reliable, bool same_node) {
  if (!user_ids_are_reliable)
    return claim.local_rank <= 0 && !same_node ? FirstStep::kLead : FirstStep::kAlone;
  if (claim.local_rank > 0) return FirstStep::kFollow;
  if (claim.local_rank < 0) return FirstStep::kConnectOrListen;
  return claim.local_size == static_cast<int>(ranks) ? FirstStep::kConnectOrLead : FirstStep::kListen;
}

NodeMeeting::NodeMeeting(net::EventLoop& loop, const JoinRequest& request, Events events,
                         HasListener has_listener)
    : loop_(loop),
      request_(request),
      events_(std::move(events)),
      has_listener_(std::move(has_listener)),
      names_(MakeLocalNames(request.meeting.LocalKey(), request.self.node, request.shared_directories,
                            request.uid)) {
  names_.likely = request.own_directory;
}

void NodeMeeting::Start() {
  alone_ = false;
  pause_ = kFirstPause;
  out_of_sight_since_.reset();
  if (request_.sole) return Lead();
  switch (FirstStepOf(request_.self.claims.front(), request_.self.claims.size(), net::UserIdsAreReliable(),
                      request_.meeting.find_root == FindRoot::kSameNode)) {
    case FirstStep::kLead:
      return Lead();
    case FirstStep::kListen:
      return Listen();
    case FirstStep::kConnectOrLead:
      if (!Connect()) Lead();
      return;
    case FirstStep::kConnectOrListen:
      if (!Connect()) Listen();
      return;
    case FirstStep::kFollow:
      return Follow();
    case FirstStep::kAlone:
      return GoAlone("this user namespace does not map this user, so that user ids prove nothing",
                     "map the user: unshare --map-current-user");
  }
}

void NodeMeeting::TakeOver() {
  taking_over_ = true;
  pause_ = kFirstPause;
  if (!Connect()) Listen();
}

void NodeMeeting::Retry(std::function<void()> step) {
  retry_timer_ = loop_.After(pause_, std::move(step));
  pause_ = std::min(pause_ * 2, kLongestPause);
}

void NodeMeeting::StopSearch() {
  patience_timer_.reset();
  retry_timer_.Cancel();
}

void NodeMeeting::Stop() {
  StopSearch();
  directory_timer_.Cancel();
}

std::unique_ptr<NodeListener> NodeMeeting::TakeListener() {
  return listener_ && listener_->open() ? std::move(listener_) : nullptr;
}

bool NodeMeeting::Connect() {
  // A leader is not in the other directories before; /tmp may be long.
  leader_is_busy_ = false;
  UniqueFd fd = DialLocal(names_, pause_ < kOpenElsewhereAfter ? 1 : SIZE_MAX, &leader_is_busy_);
  if (!fd) return false;
  events_.on_leader(std::make_unique<net::FrameStream>(loop_, std::move(fd), kLongestMessage));
  return true;
}

void NodeMeeting::Listen() {
  if (!listener_) {
    listener_ =
        std::make_unique<NodeListener>(loop_, names_, [this](UniqueFd fd, net::PeerCredentials credentials) {
          events_.on_child(std::make_unique<net::FrameStream>(loop_, std::move(fd), kLongestMessage),
                           fmt::format("pid {} on this node", credentials.pid));
        });
  }
  const bool by_local_rank = request_.self.claims.front().local_rank >= 0 && !taking_over_;
  const Result<NodeListener::Opened> opened =
      listener_->Open(by_local_rank ? NodeListener::Candidates::kOne : NodeListener::Candidates::kSeveral);
  if (!opened && request_.meeting.find_root == FindRoot::kSameNode) return events_.on_failed(opened.error());
  // The other ranks of this node will find no leader and also connect to the root.
  if (!opened) LogWarning("{}; each of them connects to the root itself", opened.error().message);
  if (!opened || *opened == NodeListener::Opened::kOpen) return Lead();
  // The listener there distinguishes an early process (its group is still running) from a surplus one.
  if (!Connect()) Retry([this] { Listen(); });
}

void NodeMeeting::Lead() {
  const bool sole = request_.self.claims.front().local_size == static_cast<int>(request_.self.claims.size());
  if (!sole) {
    directory_timer_ = loop_.After(kOpenElsewhereAfter, [this] {
      if (listener_ && listener_->open() && !events_.whole_node_is_here()) listener_->OpenElsewhere();
    });
  }
  events_.on_lead();
}

void NodeMeeting::Follow() {
  if (Connect()) return;
  const bool may_go_alone = request_.meeting.find_root != FindRoot::kSameNode;
  if (!patience_timer_) {
    patience_timer_ = loop_.After(request_.leader_patience, [this, may_go_alone] {
      if (!alone_ && may_go_alone) events_.on_alone();
    });
  }
  const bool out_of_sight = LeaderIsOutOfSight();
  Retry([this] { Follow(); });
  if (out_of_sight) {
    GoAlone("the socket of this node's leader is in a directory that this process cannot reach",
            "bind /dev/shm or /tmp of the node into the container");
  }
}

// Any user can bind a socket of that name elsewhere. If the kernel does not report its owner (before Linux 5.3), the name
// only makes this process connect to the root. It changes nothing if the leader is the root: no user may end the job so.
bool NodeMeeting::LeaderIsListed() {
  name_is_taken_elsewhere_ = false;
  if (!net::IsListedByKernel(names_.socket)) return false;
  if (kernel_reports_owners_) {
    const std::optional<bool> is_ours = has_listener_(request_.uid, "/" + names_.socket);
    if (is_ours) return *is_ours;
    kernel_reports_owners_ = false;
  }
  name_is_taken_elsewhere_ = true;
  return request_.meeting.find_root != FindRoot::kSameNode;
}

bool NodeMeeting::LeaderIsOutOfSight() {
  if (alone_ || pause_ < kLookAtListFrom) return false;
  if (leader_is_busy_ || !LeaderIsListed()) {
    out_of_sight_since_.reset();
    return false;
  }
  const auto now = Clock::now();
  if (!out_of_sight_since_) out_of_sight_since_ = now;
  return now - *out_of_sight_since_ >= kOutOfSightAfter;
}

void NodeMeeting::GoAlone(const std::string& reason, const std::string& hint) {
  alone_ = true;
  if (request_.meeting.find_root == FindRoot::kSameNode) {
    return events_.on_failed(
        {Code::kSystem,
         fmt::format("{} cannot meet the other ranks of its node: {}",
                     DescribeRank(request_.self.claims.front().rank, request_.self.node), reason),
         hint});
  }
  LogDebug("{}; connecting to the root without it", reason);
  patience_timer_.reset();
  events_.on_alone();
}

}  // namespace muster::rendezvous
