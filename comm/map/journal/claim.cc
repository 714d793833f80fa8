#include "comm/map/journal/claim.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <tuple>

#include "comm/base/parse_integer.h"
#include "comm/system/proc_file.h"

namespace muster::map {
namespace {

constexpr Duration kLookEvery = std::chrono::milliseconds(100);

// Only those of one kernel: a lock on Lustre, BeeGFS or NFS may be the node's alone, as it was mounted.
bool IsOfThisKernel(int fd) {
  struct statfs facts {};
  if (fstatfs(fd, &facts) != 0) return false;
  switch (static_cast<uint32_t>(facts.f_type)) {
    case 0xEF53:      // ext2, 3, 4
    case 0x58465342:  // XFS
    case 0x9123683E:  // Btrfs
    case 0x01021994:  // tmpfs
    case 0x794C7630:  // overlayfs
    case 0x2FC12FC1:  // ZFS
      return true;
    default:
      return false;
  }
}

// Properties that change when a writer writes or touches its segment. Opened anew: only then NFS queries the
// server.
using Marks = std::tuple<off_t, time_t, long, time_t, long>;
std::optional<Marks> MarksOf(const JournalDirectory& directory, uint32_t term) {
  const Result<UniqueFd> fd = directory.OpenSegment(term);
  struct stat status {};
  if (!fd || fstat(fd->get(), &status) != 0) return std::nullopt;
  return Marks{status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
               status.st_ctim.tv_nsec};
}

bool ChangesWithin(const JournalDirectory& directory, uint32_t term, Duration silence) {
  const Deadline deadline = Deadline::After(silence);
  const auto before = MarksOf(directory, term);
  while (!deadline.Expired()) {
    // A change by another node causes no event.
    poll(nullptr, 0, deadline.EarlierOf(Deadline::After(kLookEvery)).PollMilliseconds());
    if (MarksOf(directory, term) != before) return true;
  }
  return false;
}

struct Newest {
  std::optional<SegmentHeader> header;
  bool closed = false;
};

Result<Newest> ReadNewest(const JournalDirectory& directory, uint32_t term) {
  const std::string file = directory.FileOf(term);
  MUSTER_TRY(const UniqueFd fd, directory.OpenSegment(term));
  MUSTER_TRY(std::optional<SegmentStart> start, ReadStart(fd.get(), file));
  if (!start) return Newest{};
  Newest newest{std::move(start->found.header), false};
  MUSTER_TRY(const uint64_t size, SizeOf(fd.get(), file));
  if (size < EndFrameBytes()) return newest;
  SegmentScanner scanner(SourceOf(fd.get(), file), newest.header->seed, 0, size, EndFrameBytes());
  MUSTER_TRY(const std::optional<SegmentRecord> last, scanner.At(size - EndFrameBytes()));
  newest.closed = last && std::holds_alternative<SegmentEnd>(*last);
  return newest;
}

tl::unexpected<Error> AtWork(const JournalDirectory& directory, const std::optional<SegmentHeader>& header) {
  const std::string who = header ? NameOf(header->owner) : "it has not written its name yet";
  return WithHint(Fail(Code::kUsage, "another run is at work on the journal {}: {}", directory.path(), who),
                  "wait until it has ended, end it, or give this map another --output");
}

}  // namespace

std::string NameOf(const JournalOwner& owner) {
  return fmt::format("process {} on {}{}{}", owner.pid, owner.node, owner.job.empty() ? "" : ", ", owner.job);
}

void JournalLock::Release() {
  if (file) flock(file.get(), LOCK_UN);
  file.Reset();
}

JournalLock LockJournal(const JournalDirectory& directory) {
  JournalLock lock;
  lock.file = directory.OpenLockFile();
  if (!lock.file) return lock;
  lock.reaches_all_nodes = IsOfThisKernel(lock.file.get());
  if (flock(lock.file.get(), LOCK_EX | LOCK_NB) == 0) {
    lock.state = JournalLock::State::kMine;
  } else if (errno == EWOULDBLOCK) {
    lock.state = JournalLock::State::kTaken;
  }
  return lock;
}

uint64_t StartOf(int pid) {
  if (pid <= 0 || StatField(pid, kStatState) == "Z") return 0;
  return ParseInteger<uint64_t>(StatField(pid, kStatStart)).value_or(0);
}

Result<std::optional<std::string>> ClaimJournal(const JournalDirectory& directory, const JournalLock& lock,
                                                uint32_t newest, const std::string& node, Duration silence) {
  using State = JournalLock::State;
  if (newest == 0) {
    if (lock.state == State::kTaken) return AtWork(directory, std::nullopt);
    return std::nullopt;
  }
  MUSTER_TRY(const Newest last, ReadNewest(directory, newest));
  // A lock that is held although the last segment is closed: the next run has not made its own segment.
  if (last.closed && lock.state == State::kTaken) return AtWork(directory, std::nullopt);
  if (last.closed) return std::nullopt;
  const bool same_node = last.header && last.header->owner.node == node;
  if (lock.state != State::kMine || !(same_node || lock.reaches_all_nodes)) {
    const uint64_t start = same_node ? last.header->owner_start : 0;
    if (start != 0 && StartOf(last.header->owner.pid) == start) return AtWork(directory, last.header);
    // A lock of another node is true. One of this node may be held by a child that an ended run has forked.
    if (lock.state == State::kTaken && !same_node) return AtWork(directory, last.header);
    if (ChangesWithin(directory, newest, silence)) return AtWork(directory, last.header);
  }
  return fmt::format("{}: its run did not close it ({})", directory.FileOf(newest),
                     last.header ? NameOf(last.header->owner) : "it ended before it wrote anything");
}

}  // namespace muster::map
