#include "comm/rendezvous/control_plane.h"

#include <sys/epoll.h>
#include <sys/syscall.h>

#include <algorithm>

#include "comm/base/log.h"
#include "comm/base/parse.h"
#include "comm/net/socket.h"

namespace muster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Branches::Source kUpstream = Branches::kSelf;
// A failure that the root does not confirm within this is told to the own programs all the same.
constexpr Duration kConfirmation = seconds(2);
// The root does not wait longer than this for every node to confirm that it knows.
constexpr Duration kEveryoneKnowsWithin = seconds(5);
// How long a leader collects the goodbyes of its node.
constexpr Duration kCollectGoodbyes = milliseconds(5);
// For peers to hang up.
constexpr Duration kFarewell = seconds(2);
// What a process said last may still be on its way when its end is already known.
constexpr Duration kLastWordsWithin = milliseconds(50);

}  // namespace

ControlPlane::ControlPlane(EventLoop& loop, Joined joined, std::vector<int> own_ranks,
                           LivenessOptions liveness, Events events)
    : loop_(loop),
      group_(std::move(joined.group)),
      upstream_(std::move(joined.upstream)),
      upstream_name_(std::move(joined.upstream_name)),
      is_root_(upstream_ == nullptr),
      branches_(std::move(joined.branches)),
      own_ranks_(std::move(own_ranks)),
      liveness_(liveness),
      events_(std::move(events)),
      census_(group_.roster) {
  if (upstream_) {
    upstream_same_node_ = LocalAddress(upstream_->fd()).family() == AF_UNIX;
    upstream_ranks_ = UpstreamRanks();
    if (upstream_same_node_) WatchProcess(kUpstream, upstream_->fd());
    upstream_->Start([this](ByteView frame) { OnUpstreamFrame(frame); },
                     [this](const Error& reason) { OnUpstreamClosed(reason); });
  }
  branches_->SetHandlers([this](Branches::Source source, ByteView frame) { OnBranchFrame(source, frame); },
                         [this](Branches::Source source, const Branches::Branch& branch,
                                const Error& reason) { OnBranchClosed(source, branch, reason); });
  for (const auto& [source, branch] : branches_->all()) {
    if (branch.same_node) WatchProcess(source, branch.stream->fd());
  }
  if (joined.request) {
    later_ = std::make_unique<LaterDesk>(loop_, std::move(joined.request), is_root_,
                                         [this](int rank) { return StillHere(rank); });
  }
  if (!OtherNodes().empty()) {
    pulse_ = std::make_unique<Pulse>(
        loop_, liveness_, [this] { return OtherNodes(); },
        [this](const Pulse::Peer& peer, Duration silent) { OnSilent(peer, silent); });
  }
}

ControlPlane::~ControlPlane() {
  // What nobody could confirm any more tells those below more than a silent end.
  if (own_failure_ && !failure_) branches_->SendAll(Encode(*own_failure_));
  for (const auto& [source, process] : processes_) loop_.Forget(process.get());
  for (const auto& [name, timer] : exchange_timers_) loop_.Cancel(timer);
  loop_.Cancel(own_failure_timer_);
  loop_.Cancel(told_timer_);
  loop_.Cancel(release_timer_);
  loop_.Cancel(goodbye_timer_);
}

// ---- exchanges

void ControlPlane::Contribute(const Exchange& part) { TakeExchange(part); }

void ControlPlane::TakeExchange(const Exchange& part) {
  if (!is_root()) {
    if (upstream_) upstream_->Send(Encode(part, ControlType::kExchange));
    return;
  }
  if (census_.IsUnknown(part.name)) {
    const Duration limit = FromMilliseconds(part.timeout_milliseconds);
    exchange_timers_[part.name] = loop_.After(limit, [this, name = part.name, limit] {
      if (auto failure = census_.GiveUp(name, limit)) TakeFailure(*std::move(failure));
    });
  }
  if (const auto whole = census_.Contribute(part)) {
    loop_.Cancel(exchange_timers_[part.name]);
    exchange_timers_.erase(part.name);
    Publish(*whole);
  }
  CheckHopeless();
}

// Nobody waits for a rank that has left.
void ControlPlane::CheckHopeless() {
  if (!is_root() || failure_) return;
  if (auto failure = census_.FindHopeless()) TakeFailure(*std::move(failure));
}

void ControlPlane::Publish(const Exchange& whole) {
  branches_->SendAll(Encode(whole, ControlType::kExchanged));
  if (events_.on_exchanged) events_.on_exchanged(whole);
}

// ---- failures

void ControlPlane::Fail(Failure failure) { TakeFailure(std::move(failure)); }

void ControlPlane::TakeFailure(Failure failure) {
  if (failure_) return;
  if (is_root() || !upstream_) return Announce(failure);
  // Who had left before counts as well ended.
  SendGoodbyes();
  upstream_->Send(Encode(failure));
  if (own_failure_) return;
  own_failure_ = std::move(failure);
  own_failure_timer_ = loop_.After(kConfirmation, [this] { Announce(*own_failure_); });
}

// The one place where this process learns of the group's failure.
void ControlPlane::Announce(const Failure& failure) {
  if (failure_) return;
  failure_ = failure;
  loop_.Cancel(own_failure_timer_);
  for (const auto& [source, branch] : branches_->all()) {
    if (!branch.ranks.empty()) not_told_.insert(source);
  }
  branches_->SendAll(Encode(failure));
  told_timer_ = loop_.After(kEveryoneKnowsWithin, [this] {
    not_told_.clear();
    CheckEveryoneKnows();
  });
  if (events_.on_failure) events_.on_failure(failure);
  CheckEveryoneKnows();
}

void ControlPlane::CheckEveryoneKnows() {
  if (!failure_ || !not_told_.empty() || everyone_knows_) return;
  if (upstream_) {
    upstream_->Send(EncodeBare(ControlType::kFailureKnown));
    return;
  }
  everyone_knows_ = true;
  loop_.Cancel(told_timer_);
  branches_->SendAll(EncodeBare(ControlType::kEveryoneKnows));
  if (events_.on_everyone_knows) events_.on_everyone_knows();
}

Failure ControlPlane::LostRanks(const std::vector<int>& ranks, std::string_view how) const {
  return {{Code::kPeerLost, fmt::format("{} {}", DescribeRanks(group_.roster, ranks), how), ""},
          ranks.empty() ? -1 : ranks.front(),
          -1,
          ""};
}

// ---- leaving

void ControlPlane::Leave() {
  if (std::exchange(leaving_, true)) return;
  TakeGoodbye(own_ranks_);
  // This process may end at any moment from here on.
  SendGoodbyes();
}

void ControlPlane::TakeGoodbye(const std::vector<int>& ranks) {
  census_.Goodbye(ranks);
  PassGoodbyeUp(ranks);
  // A leader's word for a follower's goodbye is enough: it stays until its own is confirmed.
  for (auto& [source, branch] : branches_->all()) {
    if (branch.ranks.empty() || !census_.AllHaveLeft(branch.ranks)) continue;
    if (let_go_.insert(source).second) branch.stream->Send(EncodeBare(ControlType::kReleased));
  }
  CheckHopeless();
  // Whoever has left may come back for the next group while this one is still at work.
  if (later_ && !branches_->empty()) later_->Open();
  CheckReleased();
}

// The ranks of a node end together: theirs are collected for a moment, unless they are the last.
void ControlPlane::PassGoodbyeUp(const std::vector<int>& ranks) {
  if (!upstream_) return;
  goodbyes_.insert(goodbyes_.end(), ranks.begin(), ranks.end());
  if (NobodyIsLeftBelow()) return SendGoodbyes();
  if (goodbye_timer_ == 0) goodbye_timer_ = loop_.After(kCollectGoodbyes, [this] { SendGoodbyes(); });
}

void ControlPlane::SendGoodbyes() {
  loop_.Cancel(std::exchange(goodbye_timer_, 0));
  if (upstream_ && !goodbyes_.empty()) upstream_->Send(EncodeGoodbye(goodbyes_));
  goodbyes_.clear();
}

std::optional<Error> ControlPlane::StillHere(int rank) const {
  if (census_.HasLeft(rank)) return std::nullopt;
  const Roster& roster = group_.roster;
  const int pid = rank >= 0 && rank < roster.size() ? roster.members[static_cast<size_t>(rank)].pid : 0;
  return Error{Code::kDisagreement,
               fmt::format("{} is already at work in this launch's present group, as pid {}",
                           DescribeRank(roster, rank), pid),
               "two programs of one rank cannot run at once; use two steps"};
}

// All others wait for the word from above; where nobody is left above, the own node decides.
bool ControlPlane::NobodyNeedsUs() {
  if (is_root()) return census_.Empty();
  return !upstream_ && leaving_ && NobodyIsLeftBelow();
}

bool ControlPlane::NobodyIsLeftBelow() {
  return census_.AllHaveLeft(own_ranks_) && std::ranges::all_of(branches_->all(), [this](const auto& entry) {
           return census_.AllHaveLeft(entry.second.ranks);
         });
}

void ControlPlane::CheckReleased() {
  if (released_ || !NobodyNeedsUs()) return;
  if (branches_->empty()) return Released();
  // Those who were released hang up; going before that could take the message from them.
  if (release_timer_ == 0) release_timer_ = loop_.After(kFarewell, [this] { Released(); });
}

void ControlPlane::Released() {
  if (std::exchange(released_, true)) return;
  loop_.Cancel(release_timer_);
  // At once, though the process may live on: whoever is above waits for it.
  pulse_.reset();
  ForgetProcess(kUpstream);
  if (upstream_) upstream_->CloseAfterFlush();
  if (events_.on_released) events_.on_released();
}

void ControlPlane::Retire() {
  branches_->SendAll(EncodeBare(ControlType::kRetired));
  // Above they count as gone: nobody could tell how they end, and this process's end must not look like
  // theirs.
  std::vector<int> orphans;
  for (const auto& [source, branch] : branches_->all()) {
    for (const int rank : branch.ranks) {
      if (!census_.HasLeft(rank)) orphans.push_back(rank);
    }
  }
  census_.Goodbye(orphans);
  goodbyes_.insert(goodbyes_.end(), orphans.begin(), orphans.end());
  SendGoodbyes();
}

// ---- upstream

Failure ControlPlane::LostUpstream(const Error& reason) const {
  if (upstream_name_.empty()) {
    return LostConnection(upstream_ranks_, upstream_same_node_ ? Error{Code::kPeerLost, "", ""} : reason);
  }
  return {{Code::kPeerLost, upstream_name_ + " ended without a goodbye", ""}, -1, -1, ""};
}

// Local rank 0 leads, but where local ranks were not known, whoever came first: the process says who it is.
std::vector<int> ControlPlane::UpstreamRanks() const {
  if (!upstream_same_node_) return RanksOfProcess(group_.root_rank);
  const Roster& roster = group_.roster;
  const std::vector<int> on_node = roster.RanksOn(roster.NodeOf(own_ranks_.front()));
  const auto credentials = CredentialsOf(upstream_->fd());
  for (const int rank : on_node) {
    if (credentials && roster.members[static_cast<size_t>(rank)].pid == credentials->pid) {
      return RanksOfProcess(rank);
    }
  }
  return {on_node.front()};
}

// One process may stand for several ranks.
std::vector<int> ControlPlane::RanksOfProcess(int rank) const {
  const Roster& roster = group_.roster;
  const Roster::Member& member = roster.members[static_cast<size_t>(rank)];
  std::vector<int> ranks;
  for (int other = 0; other < roster.size(); ++other) {
    const Roster::Member& candidate = roster.members[static_cast<size_t>(other)];
    if (candidate.node == member.node && candidate.pid == member.pid) ranks.push_back(other);
  }
  return ranks;
}

void ControlPlane::OnUpstreamFrame(ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (!upstream_ || !type) return;
  switch (*type) {
    case ControlType::kExchanged:
      if (const auto whole = DecodeExchange(frame)) Publish(*whole);
      return;
    case ControlType::kFailure:
      if (const auto failure = DecodeFailure(frame)) Announce(*failure);
      return;
    case ControlType::kEveryoneKnows:
      if (std::exchange(everyone_knows_, true)) return;
      branches_->SendAll(frame);
      if (events_.on_everyone_knows) events_.on_everyone_knows();
      return;
    case ControlType::kReleased:
      return Released();
    case ControlType::kRetired:
      // Those below stay: their own node goes on being watched.
      LogWarning("the group's control plane has ended; a rank that dies is no longer noticed");
      ForgetProcess(kUpstream);
      loop_.Post([stream = std::shared_ptr<FrameStream>(std::move(upstream_))] {});
      return CheckReleased();
    default:
      return;
  }
}

void ControlPlane::OnUpstreamClosed(const Error& reason) {
  // Let go of already: its end may come with its last message.
  if (!upstream_) return;
  ForgetProcess(kUpstream);
  loop_.Post([stream = std::shared_ptr<FrameStream>(std::move(upstream_))] {});
  if (released_) return;
  if (failure_) {
    // Whoever hung up knows of the failure; nobody above is left to say that all do.
    not_told_.clear();
    return CheckEveryoneKnows();
  }
  if (own_failure_) return Announce(*own_failure_);
  Announce(LostUpstream(reason));
}

// ---- branches

void ControlPlane::OnBranchFrame(Branches::Source source, ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (!type) return;
  switch (*type) {
    case ControlType::kExchange:
      if (const auto part = DecodeExchange(frame)) TakeExchange(*part);
      return;
    case ControlType::kFailure:
      if (auto failure = DecodeFailure(frame)) TakeFailure(*std::move(failure));
      return;
    case ControlType::kFailureKnown:
      not_told_.erase(source);
      return CheckEveryoneKnows();
    case ControlType::kGoodbye:
      if (const auto ranks = DecodeGoodbye(frame)) TakeGoodbye(*ranks);
      return;
    default:
      return;
  }
}

void ControlPlane::OnBranchClosed(Branches::Source source, const Branches::Branch& branch,
                                  const Error& reason) {
  ForgetProcess(source);
  not_told_.erase(source);
  CheckEveryoneKnows();
  if (census_.AllHaveLeft(branch.ranks)) return CheckReleased();
  if (!failure_) TakeFailure(LostBranch(branch, reason));
}

// Where a leader has ended, the other ranks of its node are out of reach, but they are not to blame.
Failure ControlPlane::LostBranch(const Branches::Branch& branch, const Error& reason) const {
  std::vector<int> lost;
  for (const int rank : branch.ranks) {
    if (!census_.HasLeft(rank)) lost.push_back(rank);
  }
  std::ranges::sort(lost);
  if (branch.same_node) return LostConnection(lost, {Code::kPeerLost, "", ""});
  if (!reason.message.empty()) return LostConnection(lost, reason);
  const int speaker = branch.ranks.front();
  if (!census_.HasLeft(speaker)) return LostConnection(RanksOfProcess(speaker), reason);
  return LostRanks(lost, fmt::format("can no longer be heard: {}, which spoke for them, has ended",
                                     DescribeRank(group_.roster, speaker)));
}

Failure ControlPlane::LostConnection(const std::vector<int>& ranks, const Error& reason) const {
  if (reason.message.empty()) return LostRanks(ranks, "ended without a goodbye");
  return LostRanks(ranks, fmt::format("{} lost: {}", ranks.size() == 1 ? "was" : "were", reason.message));
}

// ---- liveness

// A forked worker may hold the connection open long after its rank has died: the process itself is watched as
// well.
void ControlPlane::WatchProcess(Branches::Source source, int fd) {
  const auto credentials = CredentialsOf(fd);
  if (!credentials || credentials->pid == 0) return;
  UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, credentials->pid, 0)));
  if (!process) return;
  const Status watched =
      loop_.Watch(process.get(), EPOLLIN, [this, source](uint32_t) { OnProcessEnded(source); });
  if (watched) processes_[source] = std::move(process);
}

void ControlPlane::ForgetProcess(Branches::Source source) {
  const auto process = processes_.find(source);
  if (process == processes_.end()) return;
  loop_.Forget(process->second.get());
  processes_.erase(process);
}

void ControlPlane::OnProcessEnded(Branches::Source source) {
  ForgetProcess(source);
  loop_.After(kLastWordsWithin, [this, source, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    if (source == kUpstream) {
      if (upstream_) OnUpstreamClosed({});
      return;
    }
    auto node = branches_->all().extract(source);
    if (!node.empty()) OnBranchClosed(source, node.mapped(), {});
  });
}

std::vector<Pulse::Peer> ControlPlane::OtherNodes() {
  std::vector<Pulse::Peer> peers;
  const Roster& roster = group_.roster;
  if (upstream_ && !upstream_same_node_) {
    peers.push_back({upstream_.get(), DescribeRank(roster, group_.root_rank), {group_.root_rank}});
  }
  for (const auto& [source, branch] : branches_->all()) {
    if (!branch.same_node)
      peers.push_back({branch.stream.get(), DescribeRanks(roster, branch.ranks), branch.ranks});
  }
  return peers;
}

// Whoever is silent confirms nothing: neither that it knows, nor, above, what was first.
void ControlPlane::OnSilent(const Pulse::Peer& peer, Duration silent) {
  if (census_.AllHaveLeft(peer.ranks)) return;
  Failure lost =
      LostRanks(peer.ranks, fmt::format("fell silent: nothing was heard for {}", FormatSeconds(silent)));
  if (upstream_ && peer.stream == upstream_.get()) {
    if (!own_failure_) own_failure_ = std::move(lost);
    return OnUpstreamClosed({});
  }
  if (!failure_) TakeFailure(std::move(lost));
  for (const auto& [source, branch] : branches_->all()) {
    if (branch.stream.get() == peer.stream) not_told_.erase(source);
  }
  CheckEveryoneKnows();
}

}  // namespace muster
