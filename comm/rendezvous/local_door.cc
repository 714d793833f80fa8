#include "comm/rendezvous/local_door.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "comm/base/log.h"
#include "comm/rendezvous/names.h"

namespace muster {
namespace {

constexpr std::string_view kSocketInDirectory = "/leader";

// A directory that somebody else made, or that others may enter, proves nothing.
bool IsPrivateDirectory(const std::string& path, uid_t uid) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == uid &&
         (status.st_mode & 077) == 0;
}

UniqueFd DialIfOurs(const Result<SocketAddress>& address, uid_t uid) {
  if (!address) return {};
  Result<UniqueFd> fd = StartConnect(*address);
  if (!fd) return {};
  const auto credentials = CredentialsOf(fd->get());
  if (!credentials || credentials->uid != uid) return {};
  return *std::move(fd);
}

enum class Holder { kNobody, kUs, kStranger };

Holder WhoHolds(const SocketAddress& address, uid_t uid) {
  int error = 0;
  const Result<UniqueFd> fd = StartConnect(address, &error);
  if (!fd) return error == ECONNREFUSED ? Holder::kNobody : Holder::kStranger;
  const auto credentials = CredentialsOf(fd->get());
  return credentials && credentials->uid == uid ? Holder::kUs : Holder::kStranger;
}

// Two leaders must not both clear a leftover away, or one unlinks what the other has just bound. Empty where
// another process is at it.
UniqueFd LockDirectory(const std::string& directory) {
  UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (fd && flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.Reset();
  return fd;
}

}  // namespace

LocalNames MakeLocalNames(std::string_view meeting_key, std::string_view node,
                          const std::vector<std::string>& bases, uid_t uid) {
  LocalNames names{LocalSocketName(meeting_key, node), {}, uid};
  for (const std::string& base : bases)
    names.directories.push_back(LocalSocketDirectory(base, meeting_key, node));
  return names;
}

UniqueFd DialLocal(const LocalNames& names) {
  UniqueFd fd = DialIfOurs(SocketAddress::Abstract(names.abstract_name), names.uid);
  for (const std::string& directory : names.directories) {
    if (fd) break;
    if (!IsPrivateDirectory(directory, names.uid)) continue;
    fd = DialIfOurs(SocketAddress::Path(directory + std::string(kSocketInDirectory)), names.uid);
  }
  return fd;
}

LocalDoor::LocalDoor(EventLoop& loop, LocalNames names, OnConnection on_connection)
    : loop_(loop), names_(std::move(names)), on_connection_(std::move(on_connection)) {}

LocalDoor::~LocalDoor() { Close(); }

Result<LocalDoor::Opened> LocalDoor::Open() {
  MUSTER_TRY(const SocketAddress address, SocketAddress::Abstract(names_.abstract_name));
  int error = 0;
  Result<UniqueFd> listener = Listen(address, &error);
  if (!listener && error == EADDRINUSE) {
    const Holder holder = WhoHolds(address, names_.uid);
    // Nobody: its holder has just gone; the caller tries again.
    if (holder != Holder::kStranger) return Opened::kTaken;
    if (!std::exchange(warned_, true)) {
      LogWarning("another user holds the socket {}; the ranks of this node meet in a directory instead",
                 address.ToString());
    }
  }
  if (!listener) return TryDirectories();
  MUSTER_TRY(abstract_, StartAccepting(*std::move(listener)));
  return Opened::kOpen;
}

Status LocalDoor::OpenDirectory() {
  MUSTER_TRY(const Opened opened, TryDirectories());
  if (opened == Opened::kOpen) return {};
  return Fail(Code::kSystem, "another process of this user meets its ranks in the same directory");
}

Result<LocalDoor::Opened> LocalDoor::TryDirectories() {
  if (in_directory_) return Opened::kOpen;
  std::string problems;
  for (const std::string& directory : names_.directories) {
    const Result<SocketAddress> address = SocketAddress::Path(directory + std::string(kSocketInDirectory));
    if (!address) {
      problems += fmt::format("; {} is too long for a socket", directory);
      continue;
    }
    if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
      problems += fmt::format("; cannot create {}: {}", directory, ErrnoText(errno));
      continue;
    }
    if (!IsPrivateDirectory(directory, names_.uid)) {
      problems += fmt::format("; {} belongs to somebody else", directory);
      continue;
    }
    const UniqueFd lock = LockDirectory(directory);
    if (!lock) return Opened::kTaken;
    const Holder holder = WhoHolds(*address, names_.uid);
    if (holder == Holder::kUs) return Opened::kTaken;
    // What a killed leader left behind answers nobody.
    if (holder == Holder::kNobody) unlink((directory + std::string(kSocketInDirectory)).c_str());
    int error = 0;
    Result<UniqueFd> listener = Listen(*address, &error);
    // A leader that left has just taken the directory with it.
    if (!listener && error == ENOENT) return Opened::kTaken;
    if (!listener) {
      problems += "; " + listener.error().message;
      continue;
    }
    MUSTER_TRY(in_directory_, StartAccepting(*std::move(listener)));
    directory_ = directory;
    return Opened::kOpen;
  }
  return Fail(Code::kSystem, "the ranks of this node have no place to meet{}", problems);
}

void LocalDoor::Close() {
  abstract_.reset();
  if (!directory_.empty()) {
    // While it still listens: nobody else can have put a socket of his own there.
    unlink((directory_ + std::string(kSocketInDirectory)).c_str());
    rmdir(directory_.c_str());
    directory_.clear();
  }
  in_directory_.reset();
}

Result<std::unique_ptr<Acceptor>> LocalDoor::StartAccepting(UniqueFd listener) {
  auto acceptor = std::make_unique<Acceptor>(
      loop_, std::move(listener), [this](UniqueFd fd, const SocketAddress&) { Admit(std::move(fd)); });
  MUSTER_CHECK(acceptor->Start());
  return acceptor;
}

void LocalDoor::Admit(UniqueFd fd) {
  const auto credentials = CredentialsOf(fd.get());
  if (!credentials || credentials->uid != names_.uid) {
    const uid_t uid = credentials ? credentials->uid : 0;
    LogEvent(LogLevel::kWarning, "stranger", {{"uid", uid}}, "refused a connection of uid {} on this node",
             uid);
    return;
  }
  on_connection_(std::move(fd), *credentials);
}

}  // namespace muster
