// Accepts data connections on this rank's listeners; each newcomer must prove that it is a member of the
// group.
//
// A foreign peer (silent, garbled, another user, without the group's key) is closed and logged
// (RejectionLog). A newcomer has `handshake` to prove itself, counted only while this rank polls. Arrived
// data is read before a deadline is applied, because a rank may compute for an hour between two polls.
//
// A flood of connections costs little: at most kAcceptsPerWake are accepted before the waiting call has its
// turn, and after the work that is due in time. Each listener has at most `half_open_limit` newcomers. When
// it is full, a silent one gives way, or one of an address that has most of them (comm/net/half_open.h); while
// none does, further ones wait in the kernel's queue. Foreign peers also give way when the process runs out of
// descriptors; the listeners pause for a moment when there is none left to close. The group never fails for it.
//
// Threads: one at a time (the Mesh's lock). Nothing here blocks.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/log/rejection_log.h"
#include "comm/net/acceptor.h"
#include "comm/net/event_loop.h"
#include "comm/net/half_open.h"
#include "comm/net/socket.h"
#include "comm/socket/transport/endpoint.h"
#include "comm/socket/transport/handshake.h"

namespace muster::socket {

struct PeerAcceptorOptions {
  Duration handshake = std::chrono::seconds(5);
  size_t half_open_limit = 128;
  // True if a proven connection is taken; its other end receives that before it uses it. Empty: every one.
  std::function<bool(const LinkKey&)> wanted = {};
};

class PeerAcceptor {
 public:
  static constexpr int kAcceptsPerWake = 32;  // for each listener
  // Called with each proven connection, inside EventLoop::RunReady or OnTime.
  using Arrived = std::function<void(const LinkKey&, ProvenLink)>;

  // Everything passed by reference outlives it.
  PeerAcceptor(net::EventLoop& loop, const GroupMember& self, const SocketEndpoint& endpoint,
               const PeerAcceptorOptions& options, Arrived arrived);
  PeerAcceptor(const PeerAcceptor&) = delete;
  PeerAcceptor& operator=(const PeerAcceptor&) = delete;
  ~PeerAcceptor();

  Status Start();
  Deadline wake() const;
  // After EventLoop::RunReady: closes connections that are late, then accepts new ones.
  void OnTime();

 private:
  struct ListeningSocket {
    ListeningSocket(int listener, bool is_unix, size_t places)
        : fd(listener), unix_socket(is_unix), half_open(places) {}
    int fd;
    bool unix_socket;
    net::HalfOpenTable half_open;
    bool watched = false;
    bool ready = false;  // connections may be waiting
    Deadline again = Deadline::Never();
  };
  struct Newcomer {
    Newcomer(ListeningSocket& came_by, const GroupMember& self)
        : listener(came_by), handshake(self, came_by.unix_socket ? 0 : self.ciphers) {}
    ListeningSocket& listener;
    UniqueFd fd;
    net::HalfOpenTable::Id id = 0;
    std::string address;
    Deadline deadline = Deadline::Never();
    AcceptorHandshake handshake;
  };

  Status Open(ListeningSocket& listener);
  void Watch(ListeningSocket& listener, bool on);
  void AcceptSome(ListeningSocket& listener);
  void Rest(ListeningSocket& listener, const Error& error);
  bool MayAccept(ListeningSocket& listener);
  bool MakeRoom(ListeningSocket& listener, const std::string& source);
  bool GiveUpOne(net::HalfOpenTable::Id id, const ListeningSocket& listener, const std::string& reason);
  bool SaveDescriptors();
  void Admit(ListeningSocket& listener, UniqueFd fd, const net::SocketAddress& address);
  void AdmitFrom(ListeningSocket& listener, UniqueFd fd, std::string address, const std::string& host);
  void Advance(Newcomer* newcomer);
  void Finish(Newcomer* newcomer);
  void Dismiss(Newcomer* newcomer, const std::string& reason);
  UniqueFd Forget(Newcomer* newcomer);
  Newcomer* Find(const ListeningSocket& listener, net::HalfOpenTable::Id id) const;

  net::EventLoop& loop_;
  const GroupMember& self_;
  const PeerAcceptorOptions options_;
  const Arrived arrived_;
  std::list<ListeningSocket> listeners_;            // references to its elements exist
  std::list<std::unique_ptr<Newcomer>> newcomers_;  // by deadline
  RejectionLog rejections_{"data connections"};
  net::AcceptFailures failures_;
};

}  // namespace muster::socket
