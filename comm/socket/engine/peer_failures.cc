#include "comm/socket/engine/peer_failures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "comm/ops/arguments.h"
#include "comm/ops/group_failure.h"
#include "comm/roster.h"
#include "comm/system/descriptor_room.h"

namespace muster::socket {
namespace {

// By the process at the other end.
bool IsClosed(int error) { return error == 0 || error == EPIPE || error == ECONNRESET; }

}  // namespace

Status PeerFailures::OnEvent(PeerStream& stream, StreamEvent event) {
  const int peer = stream.rank();
  switch (event) {
    case StreamEvent::kNothing:
    case StreamEvent::kMoved:
      return {};
    case StreamEvent::kMismatch:
      return Disagree(peer, stream.connection()->header().call);
    case StreamEvent::kWrongLength:
      return Fail({Code::kInternal,
                   fmt::format("{} sent {} bytes in {}, another number than {} expects", Subject(peer),
                               stream.connection()->header().payload, Describe(call_), Own())});
    case StreamEvent::kNoMemory:
      return NoMemory(peer, stream.connection()->header().payload);
    case StreamEvent::kTampered:
      return Tampered(peer, "its authentication tag is wrong");
    case StreamEvent::kLeave:
      return OnLeave(peer);
    case StreamEvent::kBroken:
      return OnClosed(peer, *stream.connection());
  }
  return {};
}

Status PeerFailures::OnClosed(int peer, Connection& connection) {
  const int error = connection.error();
  if (LeftProperly(connection)) return OnLeave(peer);
  Lose(peer, IsClosed(error) ? Error{Code::kPeerLost, fmt::format("{} closed its connection during {}",
                                                                  Subject(peer), Describe(call_))}
                             : LinkError(peer, error));
  return {};
}

// Of another node "refused" may come from a firewall: then the peer of a Send waits for its message.
void PeerFailures::OnNotConnected(int peer, const LinkFailure& failure) {
  if (failure.refused && !failure.apart) return OnLeft(peer);
  Lose(peer,
       {failure.lacked_descriptors ? Code::kSystem : Code::kPeerLost,
        fmt::format("{} cannot connect to {} for {}: {}{}", Own(), Subject(peer), Describe(call_),
                    failure.tried, failure.apart ? "; that rank has not connected either" : ""),
        failure.lacked_descriptors ? DescriptorLimitHint() : ""},
       failure.refused && call_.operation == Operation::kRecv);
}

void PeerFailures::OnLeft(int peer) { Lose(peer, LeftError(peer), true); }

// The rank has done its work, and so may this one have: a thread may be in a call that can never end. Of a Send or Recv no
// other rank depends.
Status PeerFailures::OnLeave(int peer) {
  if (HasPeer(call_.operation)) return FailEnded(LeftError(peer));
  OnLeft(peer);
  return {};
}

tl::unexpected<Error> PeerFailures::FailEnded(Error error) {
  if (!HasPeer(call_.operation)) return Fail(error);
  of_this_call_alone_ = true;
  return muster::Fail(std::move(error));
}

Error PeerFailures::LeftError(int peer) const {
  return {Code::kPeerLost, fmt::format("{} left the group before {}", Subject(peer), Describe(call_))};
}

// The process of the peer may be well.
Error PeerFailures::LinkError(int peer, int error) const {
  const Roster& roster = group_.roster();
  const std::string& own_node = roster.NodeName(group_.rank());
  const std::string& node = roster.NodeName(connections_.WorldRank(peer));
  return {Code::kPeerLost,
          fmt::format("{} lost its connection to {} during {}: {}", Own(), Subject(peer), Describe(call_),
                      ErrnoText(error)),
          node == own_node ? "" : fmt::format("check the network between {} and {}", own_node, node)};
}

Status PeerFailures::Tampered(int peer, std::string_view how) {
  return Fail(
      {Code::kAuthentication,
       fmt::format("what {} sent to {} in {} was changed on the way: {}", Subject(peer), Own(),
                   Describe(call_), how),
       "look for a device that changes data between these two nodes; a faulty network card does the same"});
}

Status PeerFailures::Disagree(const Call& mine, int peer, const Call& theirs) {
  return Fail(Disagreement(group_.roster(), group_.rank(), mine, connections_.WorldRank(peer), theirs));
}

Status PeerFailures::DisagreedBefore(int peer) {
  const auto [first, second] = std::minmax({group_.rank(), connections_.WorldRank(peer)});
  return Fail(EarlierDisagreement(group_.roster(), first, second, call_));
}

Status PeerFailures::NoMemory(int peer, uint64_t bytes) {
  Error error = muster::NoMemory(group_.roster(), group_.rank(), call_);
  error.message = fmt::format("{} has no memory for {} bytes from {} in {}", Own(), bytes, Subject(peer),
                              Describe(call_));
  return Fail(error);
}

tl::unexpected<Error> PeerFailures::Fail(const Error& error) {
  return muster::Fail(FailGroup(group_, error));
}

tl::unexpected<Error> PeerFailures::FailHere(Error error) {
  error.message = fmt::format("{}: {}", Own(), error.message);
  return Fail(error);
}

// A broken connection may still hold the leave message that explains it.
bool PeerFailures::LeftProperly(Connection& connection) const {
  if (peer_has_left_ != nullptr) return (*peer_has_left_)(connection);
  return connection.ReadHeader() == Flow::kDone && connection.header().kind == FrameKind::kLeave;
}

void PeerFailures::Lose(int peer, Error error, bool ended) {
  if (!IsLost(peer)) lost_.push_back(peer);
  if (loss_) return;
  loss_ = Loss{std::move(error), Deadline::After(cause_grace_), ended, peer};
}

// A Recv may have come to the leave message since, or have finished with the message in front of it.
tl::unexpected<Error> PeerFailures::FailLost() {
  if (loss_->ended) return FailEnded(loss_->error);
  const Connection* connection = peer_has_left_ != nullptr ? connections_.Existing(loss_->peer) : nullptr;
  const bool left = connection != nullptr && (*peer_has_left_)(*connection);
  return left ? FailEnded(LeftError(loss_->peer)) : Fail(loss_->error);
}

std::string PeerFailures::Own() const { return DescribeRank(group_.roster(), group_.rank()); }

std::string PeerFailures::Subject(int peer) const {
  return DescribeRank(group_.roster(), connections_.WorldRank(peer));
}

}  // namespace muster::socket
