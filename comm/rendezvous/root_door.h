// The root's TCP side while a group forms: listens on the first free port of the ladder, and lets in only who
// proves to belong to this meeting. A stranger costs a descriptor until its handshake deadline, and one log
// line; many of them are counted. Where there is no room for more, an address with many connections loses its
// oldest: it can neither fill the room for all, nor keep an honest rank of its node out.
//
// Lives on one EventLoop; owns its listeners and the connections that are still proving themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "comm/auth/handshake.h"
#include "comm/net/acceptor.h"
#include "comm/net/event_loop.h"
#include "comm/net/frame_stream.h"
#include "comm/net/socket.h"

namespace muster {

class RootDoor {
 public:
  struct Params {
    MeetingId meeting{};
    Duration handshake_timeout{};
    size_t most_half_open = 1024;
    size_t most_from_one_address = 256;  // more than a node has ranks
    std::string self = "this rank";      // for messages: "rank 0 on gpu01"
  };
  // A proven link, sealed. Start it before returning: until then it still calls the door.
  using OnLink = std::function<void(std::unique_ptr<FrameStream> link, const SocketAddress& peer)>;

  // `prover` must outlive the door.
  RootDoor(EventLoop& loop, Params params, Prover& prover, OnLink on_link);
  RootDoor(const RootDoor&) = delete;
  RootDoor& operator=(const RootDoor&) = delete;
  ~RootDoor();

  // Binds one of `ports` on all `addresses` (their own port is ignored): the first that is free on each of
  // them. Error: kSystem, names the ports and says why the last failed.
  Result<uint16_t> Open(const std::vector<SocketAddress>& addresses, const std::vector<uint16_t>& ports);
  void Close();
  bool open() const { return !listeners_.empty(); }

  // Who said to be one of ours and was turned away, and why, for the waiting line; empty: nobody.
  const std::string& last_refusal() const { return last_refusal_; }

 private:
  struct HalfOpen {
    std::unique_ptr<FrameStream> stream;
    std::unique_ptr<Handshake> handshake;
    SocketAddress peer;
    std::string host;
    EventLoop::TimerId timer = 0;
  };
  using Entry = std::list<HalfOpen>::iterator;

  Result<std::vector<UniqueFd>> BindAll(const std::vector<SocketAddress>& addresses, uint16_t port);
  void UpdateListening();
  Entry WhoGivesWay();
  void MakeRoom();
  void Admit(UniqueFd fd, const SocketAddress& peer);
  void Finish(Entry entry, HandshakeResult result);
  void OnHandshakeTimeout(Entry entry);
  void TurnAway(Entry entry, const std::string& reason);
  std::unique_ptr<FrameStream> Remove(Entry entry);

  EventLoop& loop_;
  Params params_;
  Prover& prover_;
  OnLink on_link_;
  std::vector<std::unique_ptr<Acceptor>> listeners_;
  std::list<HalfOpen> half_open_;
  std::string last_refusal_;
  uint64_t strangers_ = 0;
};

}  // namespace muster
