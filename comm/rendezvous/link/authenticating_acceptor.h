// The root's TCP side while a group forms: listens on the first free port of the ladder, and accepts only
// peers that prove to be of this meeting.
//
// A foreign peer costs a descriptor until its handshake deadline, and a log line (RejectionLog). At most
// `most_half_open` connections prove themselves at a time. When all places are taken, a silent connection
// gives way, or one of an address that has most of them (comm/net/half_open.h); while none does, further ones
// wait in the kernel's queue. A real leader sends its first message with the connection, so it never waits for a
// foreign peer's deadline. The deadline counts the peer's time alone (handshake_clock.h).
//
// The answer to a first message costs some 40 us of processor (X25519; tests/bench/README.md). So first messages wait for their turn,
// round-robin over the peers' addresses, and a peer that has closed its connection by then gets none: a flood of them
// delays a leader by one answer for each foreign address. The prover serves the addresses in the same way.
//
// Runs on one EventLoop; owns its listeners and the connections that are still proving themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/auth/handshake/handshake.h"
#include "comm/base/round_robin.h"
#include "comm/log/rejection_log.h"
#include "comm/net/acceptor.h"
#include "comm/net/event_loop.h"
#include "comm/net/frame_stream.h"
#include "comm/net/half_open.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/link/handshake_clock.h"

namespace muster::rendezvous {

class AuthenticatingAcceptor {
 public:
  struct Params {
    auth::MeetingId meeting{};
    Duration handshake_timeout{};
    // Descriptors; each may hold one unfinished message, some 64 KiB. A connection that was to give way stays if its first
    // message has come: until these are answered there may be a sixth more.
    size_t most_half_open = 192;
    std::string self = "this rank";  // for messages: "rank 0 on gpu01"
    // Tests count each address of loopback as a node.
    std::function<std::string(const net::SocketAddress& peer)> source = net::SourceOf;
  };
  // A proven link, sealed. Start it before returning: until then it still calls the acceptor.
  using OnLink = std::function<void(std::unique_ptr<net::FrameStream> link, const net::SocketAddress& peer)>;

  // `prover` must outlive the acceptor.
  AuthenticatingAcceptor(net::EventLoop& loop, Params params, auth::Prover& prover, OnLink on_link);
  AuthenticatingAcceptor(const AuthenticatingAcceptor&) = delete;
  AuthenticatingAcceptor& operator=(const AuthenticatingAcceptor&) = delete;
  ~AuthenticatingAcceptor();

  // Binds the first of `ports` that is free at `address` (its own port is ignored). Call it again for one more
  // port. Error: kSystem, with the ports and the reason of the last failure. `*forbidden`: this user may bind none of
  // them, so that waiting is of no use.
  Result<uint16_t> Open(net::SocketAddress address, const std::vector<uint16_t>& ports,
                        bool* forbidden = nullptr);
  void Close();
  bool open() const { return !listeners_.empty(); }

  // The last peer that claimed to be of this meeting and was rejected, with the reason; empty: none.
  const std::string& last_refusal() const { return last_refusal_; }

 private:
  using Id = net::HalfOpenTable::Id;
  struct HalfOpen {
    std::unique_ptr<net::FrameStream> stream;
    std::unique_ptr<auth::Handshake> handshake;
    net::SocketAddress peer;
    std::string source;
    std::unique_ptr<HandshakeClock> clock;
    bool heard = false;     // a first message
    Bytes first;            // it, until it is answered
    bool own_turn = false;  // the own prover is busy with it
  };

  void UpdateListening();
  size_t Ceiling() const { return params_.most_half_open + params_.most_half_open / 6; }
  bool MakeRoom(int newest, const std::string& source);
  void GiveUp(Id id, const std::string& reason);
  void Admit(UniqueFd fd, const net::SocketAddress& peer);
  void OnFrame(Id id, ByteView frame);
  void AnswerFirst();
  void Continue(Id id, ByteView message);
  void Transmit(Id id, ByteView message);
  void Finish(Id id, auth::HandshakeResult result);
  void OnHandshakeTimeout(Id id, bool own_prover);
  void OnClosed(Id id, const Error& error);
  void TurnAway(Id id, const std::string& reason);
  void LogStranger(const net::SocketAddress& peer, const std::string& reason);
  std::unique_ptr<net::FrameStream> Remove(Id id);

  net::EventLoop& loop_;
  Params params_;
  auth::Prover& prover_;
  OnLink on_link_;
  auth::EphemeralKey key_;  // until Close()
  std::vector<std::unique_ptr<net::Acceptor>> listeners_;
  net::HalfOpenTable table_;
  std::map<Id, HalfOpen> half_open_;
  RoundRobin<Id> first_messages_;  // by address; some may have been removed meanwhile
  net::Timer answer_timer_;
  net::Timer room_timer_;
  Clock::time_point prover_answered_{};
  std::string last_refusal_;
  RejectionLog rejections_{"connections at the root's port"};
};

}  // namespace muster::rendezvous
