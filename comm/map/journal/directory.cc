#include "comm/map/journal/directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "comm/base/parse.h"
#include "comm/log/open_for_writing.h"
#include "comm/system/directory_reader.h"
#include "comm/system/pipe.h"

namespace muster::map {
namespace {

constexpr std::string_view kSuffix = ".segment";
constexpr size_t kDigits = 6;
constexpr mode_t kFileMode = 0666;
// Every user who may write it could remove segments, under any umask.
constexpr mode_t kDirectoryMode = 0775;
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

std::string NameOf(uint32_t term) { return fmt::format("{:0{}}{}", term, kDigits, kSuffix); }

std::optional<uint32_t> TermOf(std::string_view name) {
  if (!name.ends_with(kSuffix)) return std::nullopt;
  const auto term = ParseInteger<uint32_t>(name.substr(0, name.size() - kSuffix.size()));
  return term && *term > 0 && NameOf(*term) == name ? std::optional(*term) : std::nullopt;
}

tl::unexpected<Error> Refused(std::string_view what, std::string_view name, int reason) {
  return Fail(Code::kSystem, "cannot {} {}: {}", what, name, ErrnoText(reason));
}

// The new name is in its parent, which may lose it in a crash. Not every file system supports this call.
void SyncParent(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const UniqueFd fd(open(parent.empty() ? "." : parent.c_str(), kDirectory));
  if (fd) fsync(fd.get());
}

}  // namespace

Result<JournalDirectory> JournalDirectory::Open(const std::string& path) {
  return Of(path, open(path.c_str(), kDirectory));
}

// `fd`: of the directory, or -1 and errno.
Result<JournalDirectory> JournalDirectory::Of(const std::string& path, int fd) {
  JournalDirectory directory;
  directory.fd_ = AboveStandard(fd);
  if (!directory.fd_) return Refused("open the journal", path, errno);
  directory.path_ = path;
  while (directory.path_.size() > 1 && directory.path_.ends_with('/')) directory.path_.pop_back();
  return directory;
}

Result<JournalDirectory> JournalDirectory::Make(const std::string& path) {
  int reason = 0;
  auto found = FindDirectoryForWriting(path);
  // A link on the way may be a stranger's: nothing is made behind it.
  if (found && !*found) {
    reason = mkdir(path.c_str(), kDirectoryMode) == 0 ? 0 : errno;
    if (reason == 0) SyncParent(path);
    found = FindDirectoryForWriting(path);
  }
  if (!found) {
    return WithHint(Fail(Code::kSystem, "cannot open the journal {}", found.error().message),
                    "give a journal in a directory of your own or of your project");
  }
  if (*found) return Of(path, openat(found->get(), ".", kDirectory));
  auto failure = Refused("make the journal's directory", path, reason == 0 ? ENOENT : reason);
  return reason == ENOENT ? WithHint(std::move(failure), "make the directory that it is to be in") : failure;
}

std::string JournalDirectory::FileOf(uint32_t term) const { return path_ + "/" + NameOf(term); }

Result<std::vector<uint32_t>> JournalDirectory::Terms() const {
  // A separate description: another reader of this one would move its position.
  DirectoryReader entries(openat(fd_.get(), ".", kDirectory));
  std::vector<uint32_t> terms;
  while (const auto entry = entries.Next()) {
    if (const auto term = TermOf(entry->name)) terms.push_back(*term);
  }
  if (entries.error() != 0) return Refused("list the journal", path_, entries.error());
  std::ranges::sort(terms);
  return terms;
}

bool JournalDirectory::Has(uint32_t term) const {
  struct stat status {};
  return fstatat(fd_.get(), NameOf(term).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<UniqueFd> JournalDirectory::OpenSegment(uint32_t term) const {
  // O_NONBLOCK: a FIFO does not make it wait.
  UniqueFd fd(openat(fd_.get(), NameOf(term).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) {
    if (errno == ELOOP) return Fail(Code::kSystem, "{} is a symbolic link: not followed", FileOf(term));
    return Refused("open", FileOf(term), errno);
  }
  struct stat file {};
  struct stat holder {};
  if (fstat(fd.get(), &file) != 0 || fstat(fd_.get(), &holder) != 0)
    return Refused("open", FileOf(term), errno);
  if (!S_ISREG(file.st_mode)) return Fail(Code::kSystem, "{} is no plain file", FileOf(term));
  if ((holder.st_mode & S_IWOTH) != 0 && OwnershipOf(file.st_uid, OwnerHere()) != Ownership::kOwn) {
    return WithHint(Fail(Code::kSystem, "{} belongs to uid {}, and every user may write the directory",
                         FileOf(term), file.st_uid),
                    "chmod o-w " + path_);
  }
  return fd;
}

Result<std::optional<UniqueFd>> JournalDirectory::CreateSegment(uint32_t term) const {
  constexpr int kNew = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd fd = AboveStandard(openat(fd_.get(), NameOf(term).c_str(), kNew, kFileMode));
  if (fd) return std::optional(std::move(fd));
  if (errno == EEXIST) return std::nullopt;
  return Refused("create", FileOf(term), errno);
}

void JournalDirectory::RemoveSegment(uint32_t term) const { unlinkat(fd_.get(), NameOf(term).c_str(), 0); }

UniqueFd JournalDirectory::OpenLockFile() const {
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  UniqueFd fd(openat(fd_.get(), "lock", O_RDWR | O_CREAT | kFlags, kFileMode));
  if (!fd) fd.Reset(openat(fd_.get(), "lock", O_RDONLY | kFlags));  // another user's
  return fd;
}

Status JournalDirectory::Sync() const {
  // Some file systems do not support it for a directory.
  if (fsync(fd_.get()) == 0 || errno == EINVAL || errno == ENOTSUP) return {};
  return Refused("synchronise", path_, errno);
}

bool JournalDirectory::IsInPlace() const {
  struct stat here {};
  struct stat there {};
  return fstat(fd_.get(), &here) == 0 && stat(path_.c_str(), &there) == 0 && here.st_ino == there.st_ino &&
         here.st_dev == there.st_dev;
}

ByteSource SourceOf(int fd, std::string name) {
  return [fd, name = std::move(name)](uint64_t offset, std::span<uint8_t> into) -> Result<size_t> {
    size_t done = 0;
    while (done < into.size()) {
      const ssize_t got =
          TEMP_FAILURE_RETRY(pread(fd, &into[done], into.size() - done, static_cast<off_t>(offset + done)));
      if (got == 0) break;
      if (got < 0) return Refused("read", name, errno);
      done += static_cast<size_t>(got);
    }
    return done;
  };
}

Result<uint64_t> SizeOf(int fd, std::string_view name) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return Refused("read", name, errno);
  return static_cast<uint64_t>(status.st_size);
}

Result<std::optional<SegmentStart>> ReadStart(int fd, const std::string& name) {
  MUSTER_TRY(const uint64_t size, SizeOf(fd, name));
  const ByteSource source = SourceOf(fd, name);
  MUSTER_TRY(std::optional<FoundHeader> found, FindHeader(source, size, name));
  if (!found) return std::nullopt;
  SegmentStart start{*std::move(found), std::nullopt};
  SegmentScanner scanner(source, start.found.header.seed, start.found.records_at, size);
  // The second copy, if the first is damaged; records of items come after both.
  for (int frames = 0; frames < 3 && !start.bounds; ++frames) {
    MUSTER_TRY(const SegmentScanner::Piece piece, scanner.Next());
    if (piece.kind == SegmentScanner::Piece::Kind::kEnd) break;
    if (piece.kind != SegmentScanner::Piece::Kind::kRecord) continue;
    Result<SegmentRecord> record = DecodeBody(piece.body);
    if (record && std::holds_alternative<SegmentBounds>(*record)) {
      start.bounds = std::get<SegmentBounds>(*std::move(record));
    }
  }
  return start;
}

}  // namespace muster::map
