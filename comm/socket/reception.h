// Where peers arrive: accepts on this rank's listeners and lets each newcomer prove that it is a member of
// the group.
//
// A stranger (silent, garbled, another user, without the group's key) costs one log line and is closed (many
// are only counted); a newcomer has `handshake` to prove itself, counted only while this rank is looking
// (what has arrived is read before a deadline is applied, because a rank may compute for an hour between two
// looks). At most `half_open_limit` newcomers for each listener; further ones wait in the kernel's queue, so
// that strangers on the network cannot keep out the local ranks. Where there is no room and one address has
// more than `most_from_one_address` that said nothing, its oldest gives way: a host that only connects delays
// nobody.
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
#include "comm/net/socket.h"
#include "comm/socket/endpoint.h"
#include "comm/socket/handshake.h"
#include "comm/socket/poll_set.h"

namespace muster {

struct ReceptionOptions {
  Duration handshake = std::chrono::seconds(5);
  size_t half_open_limit = 128;
  size_t most_from_one_address = 64;
  // Whether a proven connection is taken; its other end learns that before it uses it. Empty: every one.
  std::function<bool(const LinkKey&)> wanted = {};
};

class Reception {
 public:
  // Called with each proven connection, inside PollSet::Dispatch or OnTime.
  using Arrived = std::function<void(const LinkKey&, UniqueFd)>;

  // Everything passed by reference outlives it.
  Reception(PollSet& poll_set, const GroupMember& self, const SocketEndpoint& endpoint,
            const ReceptionOptions& options, Arrived arrived);
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;
  ~Reception();

  Status Start();
  Deadline wake() const;
  void OnTime();
  // kSystem when the kernel has no descriptor left for a newcomer: whoever waits for it would wait for ever.
  const Status& status() const { return status_; }

 private:
  struct Door {
    int fd = -1;
    bool unix_socket = false;
    PollSet::Id watch = 0;
    bool watched = false;
    size_t half_open = 0;
  };
  struct Newcomer {
    Newcomer(Door& came_by, const GroupMember& self) : door(came_by), handshake(self) {}
    Door& door;
    UniqueFd fd;
    PollSet::Id watch = 0;
    std::string address;
    std::string host;  // empty: on this node
    Deadline deadline = Deadline::Never();
    AcceptorHandshake handshake;
  };

  Status Open(Door& door);
  void Watch(Door& door, bool on);
  void OnDoor(Door& door);
  void Admit(Door& door, UniqueFd fd, const SocketAddress& address);
  void AdmitFrom(Door& door, UniqueFd fd, std::string address, std::string host);
  bool MakeRoom(const Door& door);
  void Advance(Newcomer* newcomer);
  void Finish(Newcomer* newcomer);
  void Dismiss(Newcomer* newcomer, const std::string& reason);
  UniqueFd Forget(Newcomer* newcomer);

  PollSet& poll_set_;
  const GroupMember& self_;
  const ReceptionOptions options_;
  const Arrived arrived_;
  std::list<Door> doors_;                           // others point into it
  std::list<std::unique_ptr<Newcomer>> newcomers_;  // by deadline
  Status status_;
  size_t strangers_ = 0;
};

}  // namespace muster
