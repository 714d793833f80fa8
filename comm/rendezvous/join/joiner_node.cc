// The Joiner's way to the other ranks of its node.
#include <algorithm>

#include "comm/log/log.h"
#include "comm/rendezvous/join/joiner.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;

constexpr Duration kFirstLocalPause = milliseconds(1);
constexpr Duration kLongestLocalPause = milliseconds(100);
// Ranks of one node start together; one that is later than this may not see the first directory.
constexpr Duration kOpenElsewhereAfter = milliseconds(20);
// The kernel lists the leader's socket before it has its name in a directory, and the leader opens the other
// directories later than the first.
constexpr Duration kOutOfSightAfter = milliseconds(250);
// The list is long on a busy node; a leader that is just coming needs none of it.
constexpr Duration kLookAtListFrom = milliseconds(64);

}  // namespace

void Joiner::MeetLocally() {
  local_pause_ = kFirstLocalPause;
  out_of_sight_since_.reset();
  const int local_rank = first_claim().local_rank;
  if (!net::UserIdsAreReliable()) {
    if (local_rank <= 0 && request_.meeting.find_root != FindRoot::kSameNode) return BecomeLeader();
    return GoWithoutLeader("this user namespace does not map this user, so that user ids prove nothing",
                           "map the user: unshare --map-current-user");
  }
  if (local_rank == 0) return Lead();
  if (local_rank > 0) return Follow();
  FollowOrLead();
}

void Joiner::RetryLocally(void (Joiner::*step)()) {
  local_timer_ = loop_.After(local_pause_, [this, step] { (this->*step)(); });
  local_pause_ = std::min(local_pause_ * 2, kLongestLocalPause);
}

bool Joiner::AttachToLeader() {
  // A leader is not in the others before; /tmp may be long.
  UniqueFd fd = local_pause_ < kOpenElsewhereAfter ? DialLocal(local_names_, 1) : DialLocal(local_names_);
  if (!fd) return false;
  AttachUpstream(std::make_unique<net::FrameStream>(loop_, std::move(fd), kLongestMessage),
                 fmt::format("the leader of {}", request_.self.node));
  return true;
}

void Joiner::Lead() {
  if (SoleRankOfNode()) {
    // The process that listens there nevertheless has formed its group, with this rank in it.
    if (!AttachToLeader()) BecomeLeader();
    return;
  }
  OpenNodeListener();
}

void Joiner::OpenNodeListener() {
  if (!node_listener_) {
    node_listener_ = std::make_unique<NodeListener>(
        loop_, local_names_, [this](UniqueFd fd, net::PeerCredentials credentials) {
          children_->Add(std::make_unique<net::FrameStream>(loop_, std::move(fd), kLongestMessage),
                         fmt::format("pid {} on this node", credentials.pid), true);
        });
  }
  const Result<NodeListener::Opened> opened = node_listener_->Open();
  if (!opened && request_.meeting.find_root == FindRoot::kSameNode) return Fail(opened.error());
  // The others of this node will find nobody and go to the root as well.
  if (!opened) LogWarning("{}; each of them goes to the root by itself", opened.error().message);
  if (!opened || *opened == NodeListener::Opened::kOpen) return BecomeLeader();
  // The process that listens there knows whether we are early (its group is still running) or one too many.
  if (AttachToLeader()) return;
  RetryLocally(&Joiner::OpenNodeListener);
}

void Joiner::Follow() {
  if (AttachToLeader()) return;
  if (patience_timer_ == 0) {
    patience_timer_ = loop_.After(request_.leader_patience, [this] {
      if (!upstream_ && !alone_ && request_.meeting.find_root != FindRoot::kSameNode) SearchRoot();
    });
  }
  if (LeaderIsOutOfSight()) {
    GoWithoutLeader("the leader of this node has its socket in a directory that this process does not see",
                    "bind /dev/shm or /tmp of the node into the container");
  }
  if (!over_) RetryLocally(&Joiner::Follow);
}

// The list proves nothing. Whoever imitates the entry makes this process go to the root at once, which lets
// it in as well.
bool Joiner::LeaderIsOutOfSight() {
  if (alone_ || local_pause_ < kLookAtListFrom) return false;
  if (!net::IsListedByKernel(local_names_.socket)) {
    out_of_sight_since_.reset();
    return false;
  }
  const auto now = Clock::now();
  if (!out_of_sight_since_) out_of_sight_since_ = now;
  return now - *out_of_sight_since_ >= kOutOfSightAfter;
}

void Joiner::GoWithoutLeader(const std::string& reason, const std::string& hint) {
  alone_ = true;
  if (request_.meeting.find_root == FindRoot::kSameNode) {
    return Fail(Error{Code::kSystem,
                      fmt::format("rank {} on {} cannot meet the other ranks of its node: {}",
                                  first_claim().rank, request_.self.node, reason),
                      hint});
  }
  LogDebug("{}; going to the root without it", reason);
  loop_.Cancel(std::exchange(patience_timer_, 0));
  SearchRoot();
}

void Joiner::FollowOrLead() {
  if (AttachToLeader()) return;
  OpenNodeListener();
}

void Joiner::BecomeLeader() {
  leader_ = true;
  OpenStatusServer();
  members_.emplace_back(ChildLinks::kSelf, request_.self);
  if (!SoleRankOfNode()) {
    loop_.Cancel(directory_timer_);
    directory_timer_ = loop_.After(kOpenElsewhereAfter, [this] { OpenElsewhere(); });
  }
  GoToRoot();
}

void Joiner::OpenElsewhere() {
  if (node_listener_ && node_listener_->open() && !arrived_.WholeNodeIsHere())
    node_listener_->OpenElsewhere();
}

// While it forms: what is missing. The group itself is described by its ControlPlane.
void Joiner::OpenStatusServer() {
  Result<std::unique_ptr<StatusServer>> server = StatusServer::Open(
      loop_, request_.uid, first_claim().rank, request_.shared_directories, request_.versions);
  if (!server) return LogDebug("muster status cannot ask here: {}", server.error().message);
  status_server_ = *std::move(server);
  status_server_->SetAnswer([this](const Survey&, const StatusServer::Reply& reply) {
    GroupStatus status;
    status.job = request_.job;
    status.forming = root_ ? root_->Describe() : DescribeWait();
    if (status.forming.empty())
      status.forming = fmt::format("the root, {}, waits for others", DescribeRoot());
    reply(status);
  });
}

}  // namespace muster::rendezvous
