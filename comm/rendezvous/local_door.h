// Where the ranks of one node meet: an abstract Unix socket named by the meeting key, held by the node's
// leader. Where a stranger sits on that name, or where ranks live in different network namespaces
// (containers), the same socket in a directory of mode 0700 serves. SO_PEERCRED proves the uid on both sides.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/net/acceptor.h"
#include "comm/net/event_loop.h"
#include "comm/net/socket.h"

namespace muster {

struct LocalNames {
  std::string abstract_name;
  std::vector<std::string> directories;  // to try in turn
  uid_t uid = 0;
};

// `bases`: directories that all ranks of a node are likely to share (/dev/shm, TMPDIR).
LocalNames MakeLocalNames(std::string_view meeting_key, std::string_view node,
                          const std::vector<std::string>& bases, uid_t uid);

// A connection to whoever leads this node, proven to be of our uid; empty when nobody does yet. Does not
// block.
UniqueFd DialLocal(const LocalNames& names);

// The leader's side. Lives on one EventLoop; owns its sockets and removes what it made in the file system.
class LocalDoor {
 public:
  enum class Opened {
    kOpen,
    kTaken,  // by a process of our own uid: a former group that is still busy, or a second leader
  };
  // Only connections of our own uid get here.
  using OnConnection = std::function<void(UniqueFd fd, PeerCredentials credentials)>;

  LocalDoor(EventLoop& loop, LocalNames names, OnConnection on_connection);
  LocalDoor(const LocalDoor&) = delete;
  LocalDoor& operator=(const LocalDoor&) = delete;
  ~LocalDoor();

  // The abstract name, or the directory where a stranger holds that. Error: kSystem where neither can be had.
  Result<Opened> Open();
  // The directory as well, for ranks that cannot see the abstract name. Harmless when it is open.
  Status OpenDirectory();
  void Close();
  // Somebody else has warned of a stranger there.
  void SetWarned() { warned_ = true; }
  bool open() const { return abstract_ || in_directory_; }

 private:
  Result<Opened> TryDirectories();
  Result<std::unique_ptr<Acceptor>> StartAccepting(UniqueFd listener);
  void Admit(UniqueFd fd);

  EventLoop& loop_;
  LocalNames names_;
  OnConnection on_connection_;
  std::unique_ptr<Acceptor> abstract_;
  std::unique_ptr<Acceptor> in_directory_;
  std::string directory_;  // ours, to be removed
  bool warned_ = false;
};

}  // namespace muster
