// The meeting point of the ranks of one node: a Unix socket of the node's leader, named by the meeting key.
// Its directory is closed to other users (net/private_directory.h). SO_PEERCRED proves the uid on both sides.
//
// The leader has the same socket in several bases (/dev/shm, /tmp, ...): containers may share only one.
//
// One process leads. A name exists once in a directory. A base may have several directories: a process that
// has bound the name then searches all of them, and withdraws if it is in use there. Of two processes that
// bind it in two directories, the later one searches when both have bound it: it finds the first and
// withdraws. So at most one stays. This needs no lock, which a stopped process could hold indefinitely. Other
// bases are searched only if several processes try to lead: /tmp may have thousands of entries.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/log/rejection_log.h"
#include "comm/net/acceptor.h"
#include "comm/net/event_loop.h"
#include "comm/net/private_directory.h"
#include "comm/net/socket.h"

namespace muster::rendezvous {

struct LocalNames {
  std::string socket;
  std::vector<std::string> bases;  // in the order in which they are tried
  uid_t uid = 0;
  std::optional<net::PrivateDirectory> likely = std::nullopt;  // dialled before a base is listed
};

LocalNames MakeLocalNames(std::string_view meeting_key, std::string_view node,
                          const std::vector<std::string>& bases, uid_t uid);

// A connection to the leader of this node, proven to be of the own uid; empty if there is none in the first
// `bases` of the bases. Does not block. `busy`: set if its queue is full.
UniqueFd DialLocal(const LocalNames& names, size_t bases = SIZE_MAX, bool* busy = nullptr);

// The leader's side. Runs on one EventLoop; owns its sockets and removes its files.
class NodeListener {
 public:
  enum class Opened {
    kOpen,
    kTaken,  // by a process of our own uid: a former group that is still busy, or a second leader
  };
  // The processes of this node that try to lead.
  enum class Candidates {
    kOne,      // this one alone, according to the launcher
    kSeveral,  // all, because their local ranks are unknown; they may have different bases
  };
  // Only connections of our own uid get here.
  using OnConnection = std::function<void(UniqueFd fd, net::PeerCredentials credentials)>;

  NodeListener(net::EventLoop& loop, LocalNames names, OnConnection on_connection);
  NodeListener(const NodeListener&) = delete;
  NodeListener& operator=(const NodeListener&) = delete;
  ~NodeListener();

  // Replaces that of a former owner.
  void SetOnConnection(OnConnection on_connection) { on_connection_ = std::move(on_connection); }

  // In the first base that works. Error: kSystem if there is none, with the reasons.
  Result<Opened> Open(Candidates candidates);
  // In all other bases as well, if possible. Harmless if they are open.
  void OpenElsewhere();
  void Close();
  bool open() const { return !entrances_.empty(); }

 private:
  struct Entrance {
    std::string base;
    std::unique_ptr<net::Acceptor> acceptor;
    net::PrivateName name;  // removed first
  };

  Result<Opened> OpenIn(const std::string& base, Candidates candidates);
  Result<net::PrivateSocket> BindIn(const std::string& base, Opened& opened);
  bool AnotherLeadsIn(const std::vector<net::PrivateDirectory>& directories,
                      const net::PrivateDirectory& ours) const;
  bool IsOurs(const net::PrivateDirectory& directory) const;
  void Admit(UniqueFd fd);

  net::EventLoop& loop_;
  LocalNames names_;
  OnConnection on_connection_;
  std::vector<Entrance> entrances_;
  RejectionLog rejections_{"connections on this node"};
};

}  // namespace muster::rendezvous
