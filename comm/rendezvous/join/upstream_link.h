// The process above while a group forms: the leader of this process's node, or the root. Compares versions,
// stores the answers from above, and interprets the end of the connection.
//
// Runs on one EventLoop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/net/event_loop.h"
#include "comm/net/frame_stream.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/roster/waiting.h"

namespace muster::rendezvous {

class UpstreamLink {
 public:
  struct Events {
    // Its clock counts from now on. `first`: the processes below have not received it.
    std::function<void(bool first)> on_accepted;
    // It has gone before it accepted this process.
    std::function<void()> on_not_accepted;
    // The leader of this node has ended or cannot reach the root, and the root may lack this fact. Or a leader between this
    // process and the root has ended. The argument is the leader, as a process that cannot join.
    std::function<void(ProcessInfo)> on_leader_lost;
    // Whether this process can prove its own.
    std::function<bool()> can_prove;
    // It is on another node, is connected, and sends nothing. Without a leader it has not accepted this process. Otherwise the
    // argument is that leader, as a process that cannot join. Called repeatedly.
    std::function<void(std::optional<ProcessInfo>)> on_silent;
    // After that, with a leader.
    std::function<void()> on_heard_again;
    // It is part of this launch's previous group, which still runs. The frame is for the processes below as
    // well.
    std::function<void(ByteView frame)> on_later;
    // That group has ended.
    std::function<void()> on_restart;
    std::function<void(FormedGroup, ByteView frame)> on_roster;
    std::function<void(Failure, bool from_above)> on_failed;
  };

  // The references must outlive it.
  UpstreamLink(net::EventLoop& loop, const JoinRequest& request, JoinDeadline& deadline, Events events)
      : loop_(loop), request_(request), deadline_(deadline), events_(std::move(events)) {}
  UpstreamLink(const UpstreamLink&) = delete;
  UpstreamLink& operator=(const UpstreamLink&) = delete;

  // One that has not accepted this process, or is silent, receives a Leave.
  void Attach(std::unique_ptr<net::FrameStream> stream, std::string name);
  // The messages that have arrived.
  void ReadNow() {
    if (stream_) stream_->ReadNow();
  }
  // The caller owns it. Null if there is none.
  std::unique_ptr<net::FrameStream> Take() { return std::move(stream_); }
  void Send(ByteView frame) {
    if (stream_) stream_->Send(frame);
  }
  // At each heartbeat while the group forms. A leader in a tree that falls silent is reported, as one that has ended: the root would
  // name ranks that this one has not passed on. `stood_still`: this process did.
  void CheckSilence(bool stood_still);

  bool attached() const { return stream_ != nullptr; }
  const std::string& name() const { return name_; }
  // With the process, if it is on this node: "rank 4 on gpu02 (process 4711, stopped)".
  std::string Describe() const;
  // -1: it has not accepted this process.
  int rank() const { return acceptance_.ranks.empty() ? -1 : acceptance_.ranks.front(); }
  bool accepted() const { return accepted_; }
  bool parked() const { return parked_; }
  // It has not answered yet, or no longer answers.
  bool is_silent() const { return stream_ && !parked_ && (!accepted_ || silent_); }
  bool is_local() const { return is_local_; }
  // A leader above has ended, the root has noticed it, and may not have the hello of this process.
  bool lost_known_leader() const { return lost_known_leader_; }
  // The local address that the connection uses; empty if it does not leave the node.
  std::string LocalHost() const;
  // The root's, if it is known. This process's own is later: the root's failure must arrive first. That of a process that reports a
  // loss or its refusal is earlier.
  Deadline RootDeadline() const;

 private:
  void Fail(Error error) { events_.on_failed({std::move(error)}, false); }
  void OnFrame(ByteView frame);
  void OnAccepted(Acceptance acceptance);
  void OnLater(ByteView frame);
  void OnRoster(ByteView frame);
  void OnFailure(Failure failure);
  void OnClosed(const Error& reason);
  bool KeepsLeaderFromRoot(const Failure& failure) const;
  void OnLeaderClosed();
  Duration::rep LevelsBetween() const;
  bool IsBelowALeader() const;
  void LoseLeader(bool known_above, Error reason);
  void ForgetAcceptance(bool known_above);
  ProcessInfo LeaderThatCannotJoin(Error reason) const;
  void Drop();
  void CompareVersions(ByteView frame);

  net::EventLoop& loop_;
  const JoinRequest& request_;
  JoinDeadline& deadline_;
  Events events_;
  std::unique_ptr<net::FrameStream> stream_;
  std::string name_;
  bool is_local_ = false;  // the leader of this node
  Acceptance acceptance_;  // the last one
  Deadline root_deadline_ = Deadline::Never();
  int acceptances_ = 0;
  bool accepted_ = false;
  bool parked_ = false;
  bool silent_ = false;  // although it had accepted this process
  bool leader_lost_ = false;
  Clock::time_point listens_from_{};  // since it stood still
  bool lost_known_leader_ = false;
};

}  // namespace muster::rendezvous
