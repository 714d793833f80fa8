// A leader's way to the root: all addresses and ports where it may be are tried side by side, again and
// again, until one of them proves to be the root of this meeting. Whatever else listens there (another group,
// a stranger, silent or talking) only costs its own attempt.
//
// The root takes the first port that is free on its node. If strangers hold all candidates, further addresses
// are tried in turn (port_sweep.h), quickly; and slowly, if nothing has been found for a while.
//
// Lives on one EventLoop. Stops by itself after the first link; destroying it stops it as well.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/auth/handshake/handshake.h"
#include "comm/net/event_loop.h"
#include "comm/net/frame_stream.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/link/port_sweep.h"

namespace muster::rendezvous {

class RootDialer {
 public:
  struct Params {
    auth::MeetingId meeting{};
    Duration handshake_timeout{};
    Duration connect_timeout{};
    bool ends_when_rejected = false;  // also by a peer that has not proven to be the root
  };
  // Start it before returning: until then it still calls the dialer.
  using OnLink = std::function<void(std::unique_ptr<net::FrameStream> link)>;
  // The root itself, proven, does not want us: trying on is useless. Or ends_when_rejected.
  using OnRejected = std::function<void(const Error& error)>;

  RootDialer(net::EventLoop& loop, Params params, auth::Prover& prover, OnLink on_link,
             OnRejected on_rejected);
  RootDialer(const RootDialer&) = delete;
  RootDialer& operator=(const RootDialer&) = delete;
  ~RootDialer();

  // May be called again, as names become known; what is there already stays.
  void AddCandidates(const std::vector<net::SocketAddress>& candidates);

  // Where the root may be if it is at none of the candidates, in the order of likelihood.
  struct Further {
    std::function<size_t()> count;  // may grow
    std::function<net::SocketAddress(size_t index)> at;
    size_t leaders = 1;  // that try at the same time
  };
  void SetFurther(Further further);

  // Why it has not worked so far, most telling first: "198.18.1.1:61234: the secret differs". Empty: nothing
  // tried yet.
  std::string Problem() const;
  // One of ours by its own account turned us away, or could not prove itself.
  const std::optional<Error>& rejection() const { return rejection_; }

 private:
  struct Attempt;
  void Sweep();
  void TryFurther();
  bool StrangersHoldAll() const;
  void Try(Attempt& attempt);
  void OnConnected(Attempt& attempt, UniqueFd fd);
  void OnFrame(Attempt& attempt, ByteView frame);
  void OnHandshake(Attempt& attempt, auth::HandshakeResult result);
  void Retry(Attempt& attempt, std::string problem, Duration at_least);
  void StopAttempt(Attempt& attempt);
  void Stop();
  Duration Patience(const Attempt& attempt, Duration limit) const;

  net::EventLoop& loop_;
  Params params_;
  auth::Prover& prover_;
  OnLink on_link_;
  OnRejected on_rejected_;
  std::vector<std::unique_ptr<Attempt>> attempts_;
  std::vector<std::unique_ptr<Attempt>> swept_;  // of further addresses; reused
  Further further_;
  PortSweep sweep_;
  Clock::time_point began_ = Clock::now();
  net::EventLoop::TimerId sweep_timer_ = 0;
  std::optional<Error> rejection_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // a handshake's end may destroy this
};

}  // namespace muster::rendezvous
