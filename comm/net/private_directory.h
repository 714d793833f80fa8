// Directories that no other user can enter, for the sockets by which this user's processes on one node meet.
//
//   BASE/muster-UID-BOOT-RANDOM/SOCKET     mode 0700; BASE: /dev/shm, /tmp, ...
//
// No name is fixed in advance, so another user cannot take it first. A process lists the base and uses only
// entries that this user owns and that are closed to all others. Entries of another user with the same prefix
// cost one fstatat each. BOOT comes from the kernel's boot id: on a file system that several nodes share,
// each node uses its own directories, because the sockets of another node seem unbound here.
//
// The rules by which processes share a directory without waiting for each other:
//   1. A socket gets its name only when it is bound and listens (PrivateSocket::Bind). If nothing is bound to
//      a name (kDead), its owner has ended.
//   2. A process removes its own names. Names of other processes are removed only if they are dead, and only
//      under flock(2) of the directory: no process can replace the name between check and removal. A name
//      that is in use is therefore never removed. If the lock is taken, the caller does without.
//   3. A directory is removed only if it is empty. A process whose directory vanishes before it has bound its
//      socket starts over.
//
// Threads: any; nothing is shared. Nothing here blocks.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/net/socket.h"

namespace muster::net {

// The bases of private directories: /dev/shm, /tmp, `temporary` ($TMPDIR, may be empty) and /run/user/UID if
// it exists. The first two are always among them: $TMPDIR may be that of the login node.
std::vector<std::string> PrivateBases(std::string_view temporary = {});

// Whether user ids prove an identity to this process. They do not if it runs as the overflow uid in a user
// namespace that does not map every user: all users without a mapping then have the same uid.
bool UserIdsAreReliable();
// The decision. `uid_map`: the text of /proc/self/uid_map.
bool UserIdIsReliable(uid_t uid, uid_t overflow_uid, std::string_view uid_map);

class PrivateDirectory {
 public:
  enum class Presence { kAbsent, kDead, kBound };
  enum class Extent { kUntilBound, kAll };

  // Those of this user in `base`, ordered by name. Empty if the base cannot be used.
  static std::vector<PrivateDirectory> FindIn(const std::string& base);
  // The first of these, else a new one. Processes that call this at the same time agree on one of them, soon
  // if not immediately. Error: kSystem.
  static Result<PrivateDirectory> FindOrMakeIn(const std::string& base);
  static Result<PrivateDirectory> MakeIn(const std::string& base);

  const std::string& base() const { return base_; }
  const std::string& name() const { return name_; }
  std::string path() const { return base_ + "/" + name_; }
  std::string PathOf(std::string_view socket) const { return path() + "/" + std::string(socket); }
  // For bind and connect, also if the path is too long for a socket: then by way of /proc/self/fd, and valid
  // as long as a copy of this object exists.
  Result<SocketAddress> AddressOf(std::string_view socket) const;
  // A connection to that socket if a process of `uid` listens there; else none. Sets `*busy` if its queue is full.
  UniqueFd Dial(std::string_view socket, uid_t uid, bool* busy) const;

  bool Has(std::string_view socket) const;
  // Whether a socket is bound to that name. Its owner does not notice.
  Presence Look(std::string_view socket) const;
  // Rule 2. False if another process holds the lock.
  bool RemoveDead(std::string_view socket) const;
  // Removes unbound names, then the directory if it is empty. kUntilBound: stops at the first socket in use;
  // its owner removes the remaining ones.
  void Tidy(Extent extent) const;
  std::vector<std::string> Sockets() const;

 private:
  PrivateDirectory(std::string base, std::string name);

  // Until `call` returns true. False: it has not.
  bool AnySocket(const std::function<bool(const std::string&)>& call) const;
  bool IsInUse(const std::string& socket) const;
  bool FirstIsInUse() const;

  std::string base_;
  std::string name_;
  std::shared_ptr<UniqueFd> base_fd_;  // if the path is too long for a socket
};

// A bound name. Removed by the process that bound it, at the latest by its exit() (bound_names.h), not by its
// forked children. To be destroyed before the socket is closed: other processes may remove and take a name
// without a socket.
class PrivateName {
 public:
  PrivateName() = default;
  PrivateName(PrivateDirectory directory, std::string socket);
  PrivateName(PrivateName&& other) noexcept;
  PrivateName& operator=(PrivateName&& other) noexcept;
  ~PrivateName() { Remove(); }

  const PrivateDirectory& directory() const { return *directory_; }
  const std::string& socket() const { return socket_; }
  std::string path() const { return directory_->PathOf(socket_); }
  // Another process of this user stays longer in the directory, and tidies it.
  void LeaveTidyingToOthers() { tidies_ = false; }

 private:
  void Remove();

  std::optional<PrivateDirectory> directory_;
  std::string socket_;
  pid_t owner_ = 0;
  bool tidies_ = true;
};

struct PrivateSocket {
  enum class Kind { kListener, kDatagram };

  UniqueFd fd;
  PrivateName name;

  // kSystem; `*error_number` gets errno. EEXIST: the name exists, bound or unbound. ENOENT: the directory is
  // gone, or a Tidy took the socket for an unbound one; try again.
  static Result<PrivateSocket> Bind(const PrivateDirectory& directory, std::string_view socket, Kind kind,
                                    int* error_number = nullptr);
  // Under a name that no other process uses, in the first of `bases` that works. Error: kSystem, with the
  // reason for each.
  static Result<PrivateSocket> Open(const std::vector<std::string>& bases, std::string_view socket,
                                    Kind kind);
  static Result<PrivateSocket> OpenIn(const std::string& base, std::string_view socket, Kind kind);
};

// "PREFIX-0123456789", a name that no other process uses. Of "data", which a rank keeps of all others, a std::string
// holds it without memory of its own.
std::string UniqueSocketName(std::string_view prefix);

// True if the kernel lists a bound socket of that name in this network namespace. If no directory visible to
// this process has it, its directory is in another mount namespace. Any user can imitate such an entry: it is
// good for a reason in a message and for not waiting, and proves nothing.
bool IsListedByKernel(std::string_view socket);

}  // namespace muster::net
