#include "comm/net/private_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "comm/net/bound_names.h"
#include "comm/system/descriptor_room.h"
#include "comm/system/directory_reader.h"
#include "comm/system/pipe.h"
#include "comm/system/proc_file.h"
#include "comm/system/system_calls.h"

namespace muster::net {
namespace {

constexpr size_t kRandomDigits = 8;
constexpr size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;
// Until a socket listens it has a temporary name.
constexpr char kNotReady = '~';
constexpr size_t kLongestSocketName = 52;
// Each failed attempt is another process's success.
constexpr int kAttempts = 64;
constexpr uid_t kUsualOverflowUid = 65534;

std::string ReadText(const char* path) { return ReadProcFile(path).value_or(""); }

std::string RandomText() { return fmt::format("{:08x}", static_cast<uint32_t>(RandomNumber())); }

// Without /proc all such processes count as being on one node.
const std::string& BootId() {
  static const std::string id = [] {
    const std::string text = ReadText("/proc/sys/kernel/random/boot_id").substr(0, kRandomDigits);
    const bool usable = text.find_first_not_of("0123456789abcdef") == std::string::npos;
    return usable && text.size() == kRandomDigits ? text : std::string(kRandomDigits, '0');
  }();
  return id;
}

std::string NamePrefix() { return fmt::format("muster-{}-{}-", geteuid(), BootId()); }

bool IsName(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) && name.size() == prefix.size() + kRandomDigits;
}

// Other users with write access to it cannot rename or remove this user's entries.
bool IsSafeBase(const struct stat& status) {
  return (status.st_mode & S_IWOTH) == 0 || (status.st_mode & S_ISVTX) != 0;
}

// Empty: it can be used.
std::string ProblemOfBase(const std::string& base) {
  struct stat status {};
  if (stat(base.c_str(), &status) != 0) return ErrnoText(errno);
  if (!S_ISDIR(status.st_mode)) return ErrnoText(ENOTDIR);
  return IsSafeBase(status) ? "" : "all users may write there and the sticky bit is not set";
}

bool IsPrivate(int base, const char* name) {
  struct stat status {};
  return fstatat(base, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid() && (status.st_mode & 0777) == 0700;
}

// `to` does not exist. Some file systems and old kernels cannot rename that way.
bool GiveName(const std::string& from, const std::string& to) {
  if (RenameToNew(from.c_str(), to.c_str()) == 0) return true;
  if (errno == EEXIST || errno == ENOENT) return false;
  if (link(from.c_str(), to.c_str()) != 0) return false;
  unlink(from.c_str());
  return true;
}

UniqueFd Lock(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (fd && flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.Reset();
  return fd;
}

// Removes the unbound ones, then the directory if it is empty. Returns those in use, up to the first with
// kUntilBound; absent if another process holds the lock.
std::optional<std::vector<std::string>> RemoveAllDead(const PrivateDirectory& directory,
                                                      PrivateDirectory::Extent extent) {
  const UniqueFd lock = Lock(directory.path());
  if (!lock) return std::nullopt;
  std::vector<std::string> in_use;
  for (const std::string& socket : directory.Sockets()) {
    const std::string path = directory.PathOf(socket);
    const auto presence = IsBoundName(path) ? PrivateDirectory::Presence::kBound : directory.Look(socket);
    if (presence == PrivateDirectory::Presence::kDead) unlink(path.c_str());
    if (presence != PrivateDirectory::Presence::kBound) continue;
    in_use.push_back(socket);
    if (extent == PrivateDirectory::Extent::kUntilBound) return in_use;
  }
  rmdir(directory.path().c_str());
  return in_use;
}

uid_t OverflowUid() {
  static const uid_t uid = [] {
    const std::string text = ReadText("/proc/sys/kernel/overflowuid");
    return text.empty() ? kUsualOverflowUid : static_cast<uid_t>(std::strtoul(text.c_str(), nullptr, 10));
  }();
  return uid;
}

}  // namespace

std::vector<std::string> PrivateBases(std::string_view temporary) {
  std::vector<std::string> bases = {"/dev/shm", "/tmp"};
  if (temporary.starts_with('/') && std::ranges::count(bases, temporary) == 0) bases.emplace_back(temporary);
  std::string of_session = fmt::format("/run/user/{}", geteuid());
  if (access(of_session.c_str(), F_OK) == 0 && std::ranges::count(bases, of_session) == 0)
    bases.push_back(std::move(of_session));
  return bases;
}

bool UserIdIsReliable(uid_t uid, uid_t overflow_uid, std::string_view uid_map) {
  if (uid != overflow_uid) return true;
  // "inside outside count": the one line that maps every user.
  return uid_map.find("4294967295") != std::string_view::npos;
}

bool UserIdsAreReliable() {
  const uid_t uid = geteuid();
  return uid != OverflowUid() || UserIdIsReliable(uid, OverflowUid(), ReadText("/proc/self/uid_map"));
}

// ---- directories

PrivateDirectory::PrivateDirectory(std::string base, std::string name)
    : base_(std::move(base)), name_(std::move(name)) {
  if (path().size() + 1 + kLongestSocketName <= kLongestPath) return;
  base_fd_ = std::make_shared<UniqueFd>(AboveStandard(open(base_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
}

std::vector<PrivateDirectory> PrivateDirectory::FindIn(const std::string& base) {
  std::vector<PrivateDirectory> found;
  if (!UserIdsAreReliable()) return found;
  DirectoryReader entries(base);
  struct stat status {};
  if (fstat(entries.fd(), &status) != 0 || !IsSafeBase(status)) return found;
  const std::string prefix = NamePrefix();
  while (const auto entry = entries.Next()) {
    if (IsName(entry->name, prefix) && IsPrivate(entries.fd(), entry->name))
      found.push_back({base, entry->name});
  }
  std::ranges::sort(found, {}, &PrivateDirectory::name_);
  return found;
}

Result<PrivateDirectory> PrivateDirectory::MakeIn(const std::string& base) {
  if (!UserIdsAreReliable()) {
    return WithHint(
        muster::Fail(Code::kSystem,
                     "{}: this user namespace does not map this user, so that user ids prove nothing", base),
        "map the user: unshare --map-current-user");
  }
  if (const std::string problem = ProblemOfBase(base); !problem.empty())
    return muster::Fail(Code::kSystem, "{}: {}", base, problem);
  for (;;) {
    PrivateDirectory directory(base, NamePrefix() + RandomText());
    if (mkdir(directory.path().c_str(), 0700) == 0) {
      chmod(directory.path().c_str(), 0700);  // the umask may have removed the owner's rights
      return directory;
    }
    if (errno != EEXIST)
      return muster::Fail(Code::kSystem, "cannot create {}: {}", directory.path(), ErrnoText(errno));
  }
}

Result<PrivateDirectory> PrivateDirectory::FindOrMakeIn(const std::string& base) {
  if (auto found = FindIn(base); !found.empty()) return std::move(found.front());
  MUSTER_TRY(PrivateDirectory made, MakeIn(base));
  auto found = FindIn(base);
  if (found.empty() || found.front().name_ == made.name_) return made;
  rmdir(made.path().c_str());
  return std::move(found.front());
}

Result<SocketAddress> PrivateDirectory::AddressOf(std::string_view socket) const {
  if (!base_fd_) return SocketAddress::Path(PathOf(socket));
  return SocketAddress::Path(fmt::format("/proc/self/fd/{}/{}/{}", base_fd_->get(), name_, socket));
}

UniqueFd PrivateDirectory::Dial(std::string_view socket, uid_t uid, bool* busy) const {
  const auto address = AddressOf(socket);
  if (!address) return {};
  int error_number = 0;
  Result<UniqueFd> fd = StartConnect(*address, &error_number);
  if (busy != nullptr && error_number == EAGAIN) *busy = true;
  if (!fd) return {};
  const auto credentials = CredentialsOf(fd->get());
  if (!credentials || credentials->uid != uid) return {};
  return *std::move(fd);
}

bool PrivateDirectory::Has(std::string_view socket) const {
  struct stat status {};
  return fstatat(AT_FDCWD, PathOf(socket).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

// A datagram socket cannot connect to a listening one, and gets the reason: the listener's queue is not
// changed.
PrivateDirectory::Presence PrivateDirectory::Look(std::string_view socket) const {
  const auto address = AddressOf(socket);
  const UniqueFd probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!address || !probe) return Presence::kBound;
  if (connect(probe.get(), address->get(), address->length()) == 0) return Presence::kBound;
  if (errno == ENOENT || errno == ENOTDIR) return Presence::kAbsent;
  return errno == ECONNREFUSED ? Presence::kDead : Presence::kBound;
}

bool PrivateDirectory::RemoveDead(std::string_view socket) const {
  const UniqueFd lock = Lock(path());
  if (!lock) return false;
  if (Look(socket) == Presence::kDead) unlink(PathOf(socket).c_str());
  return true;
}

bool PrivateDirectory::AnySocket(const std::function<bool(const std::string&)>& call) const {
  DirectoryReader entries(path());
  while (const auto entry = entries.Next()) {
    struct stat status {};
    const bool is_socket =
        entry->type == DT_SOCK ||
        (entry->type == DT_UNKNOWN && fstatat(entries.fd(), entry->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISSOCK(status.st_mode));
    if (is_socket && call(entry->name)) return true;
  }
  return false;
}

std::vector<std::string> PrivateDirectory::Sockets() const {
  std::vector<std::string> sockets;
  AnySocket([&](const std::string& socket) {
    sockets.push_back(socket);
    return false;
  });
  return sockets;
}

bool PrivateDirectory::IsInUse(const std::string& socket) const {
  return IsBoundName(PathOf(socket)) || Look(socket) == Presence::kBound;
}

bool PrivateDirectory::FirstIsInUse() const {
  bool in_use = false;
  AnySocket([&](const std::string& socket) {
    in_use = IsInUse(socket);
    return true;
  });
  return in_use;
}

void PrivateDirectory::Tidy(Extent extent) const {
  constexpr int kMostRounds = 100;
  for (int round = 0; round < kMostRounds; ++round) {
    if (rmdir(path().c_str()) == 0 || (errno != ENOTEMPTY && errno != EEXIST)) return;
    // Its owner does the same when it leaves. 64 ranks of a node leave together: without the lock, and without
    // a list.
    if (extent == Extent::kUntilBound && FirstIsInUse()) return;
    const std::optional<std::vector<std::string>> in_use = RemoveAllDead(*this, extent);
    if (!in_use || in_use->empty()) return;
    // An owner that has left meanwhile found the lock taken, so this process must remove its names.
    if (std::ranges::all_of(*in_use, [&](const auto& socket) { return IsInUse(socket); })) return;
  }
}

// ---- names

PrivateName::PrivateName(PrivateDirectory directory, std::string socket)
    : directory_(std::move(directory)), socket_(std::move(socket)), owner_(getpid()) {
  RememberBoundName(path(), directory_->path());
}

PrivateName::PrivateName(PrivateName&& other) noexcept
    : directory_(std::exchange(other.directory_, std::nullopt)),
      socket_(std::move(other.socket_)),
      owner_(other.owner_),
      tidies_(other.tidies_) {}

PrivateName& PrivateName::operator=(PrivateName&& other) noexcept {
  if (this == &other) return *this;
  Remove();
  directory_ = std::exchange(other.directory_, std::nullopt);
  socket_ = std::move(other.socket_);
  owner_ = other.owner_;
  tidies_ = other.tidies_;
  return *this;
}

void PrivateName::Remove() {
  if (!directory_ || owner_ != getpid()) return;
  if (ForgetBoundName(path())) {
    unlink(path().c_str());
    // The last name of this process tidies up.
    if (!tidies_) {
      rmdir(directory_->path().c_str());
    } else if (!HasBoundNameIn(directory_->path())) {
      directory_->Tidy(PrivateDirectory::Extent::kUntilBound);
    }
  }
  directory_.reset();
}

// ---- sockets

Result<PrivateSocket> PrivateSocket::Bind(const PrivateDirectory& directory, std::string_view socket,
                                          Kind kind, int* error_number) {
  const std::string not_ready = fmt::format("{}{}{}", socket, kNotReady, RandomText());
  bool bound = false;
  const auto fail = [&](const char* what) {
    const int number = errno;
    if (error_number != nullptr) *error_number = number;
    if (bound) unlink(directory.PathOf(not_ready).c_str());
    return WithHint(
        muster::Fail(Code::kSystem, "cannot {} {}: {}", what, directory.PathOf(socket), ErrnoText(number)),
        number == EMFILE ? DescriptorLimitHint() : "");
  };
  MUSTER_TRY(const SocketAddress address, directory.AddressOf(not_ready));
  const int type = kind == Kind::kListener ? SOCK_STREAM : SOCK_DGRAM;
  UniqueFd fd = AboveStandard(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail("open a socket for");
  if (bind(fd.get(), address.get(), address.length()) != 0) return fail("bind");
  bound = true;
  if (kind == Kind::kListener && listen(fd.get(), SOMAXCONN) != 0) return fail("listen on");
  if (!GiveName(directory.PathOf(not_ready), directory.PathOf(socket))) return fail("name");
  return PrivateSocket{std::move(fd), PrivateName(directory, std::string(socket))};
}

Result<PrivateSocket> PrivateSocket::OpenIn(const std::string& base, std::string_view socket, Kind kind) {
  for (int attempt = 1;; ++attempt) {
    MUSTER_TRY(const PrivateDirectory directory, PrivateDirectory::FindOrMakeIn(base));
    int error = 0;
    Result<PrivateSocket> opened = Bind(directory, socket, kind, &error);
    if (opened || error != ENOENT || attempt == kAttempts) return opened;
  }
}

Result<PrivateSocket> PrivateSocket::Open(const std::vector<std::string>& bases, std::string_view socket,
                                          Kind kind) {
  std::vector<std::string> problems;
  std::string hint;
  for (const std::string& base : bases) {
    Result<PrivateSocket> opened = OpenIn(base, socket, kind);
    if (opened) return opened;
    problems.push_back(std::move(opened.error().message));
    hint = std::move(opened.error().hint);
  }
  if (problems.empty()) problems.emplace_back("no directory was given");
  if (hint.empty())
    hint = "make /tmp writable for all users (mode 1777), or set TMPDIR to a local directory of yours";
  return WithHint(
      muster::Fail(Code::kSystem, "no directory for a socket of this user: {}", fmt::join(problems, "; ")),
      hint);
}

std::string UniqueSocketName(std::string_view prefix) {
  return fmt::format("{}-{:010x}", prefix, RandomNumber() >> 24);
}

bool IsListedByKernel(std::string_view socket) {
  return ReadText("/proc/net/unix").find(fmt::format("/{}{}", socket, kNotReady)) != std::string::npos;
}

}  // namespace muster::net
