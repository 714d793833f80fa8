#include "comm/map/journal/writer.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <limits>
#include <utility>

#include "comm/map/journal/appender.h"
#include "comm/map/journal/claim.h"
#include "comm/map/journal/directory.h"
#include "comm/map/journal/format.h"
#include "comm/map/journal/reader.h"
#include "comm/system/anonymous_file.h"
#include "comm/system/system_calls.h"

namespace muster::map {
namespace {

constexpr int kMostTries = 5;
constexpr mode_t kWritable = S_IWUSR | S_IWGRP | S_IWOTH;

// The items' places, on the loop's thread.
struct Journal {
  JournalReader earlier;  // its index has this run's records as well
  // The writer: its destructor waits for the disk, and so runs on another thread.
  std::atomic<bool> gone = false;

  void Take(std::vector<JournalAppender::Done>& done) {
    const size_t own = earlier.segments().size();
    for (JournalAppender::Done& one : done) {
      if (gone) return;
      if (one.status) earlier.index().Add(one.item, {one.ending, own, one.offset, 0});
      if (one.on_durable) one.on_durable(one.status);
    }
  }
};

class Writer : public JournalWriter {
 public:
  Writer(std::shared_ptr<Journal> journal, std::unique_ptr<JournalAppender> appender)
      : journal_(std::move(journal)), appender_(std::move(appender)) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() override { journal_->gone = true; }

  void Append(JournalRecord record, std::function<void(const Status&)> on_durable) override {
    appender_->Append(std::move(record), std::move(on_durable));
  }

  Result<JournalRecord> Read(uint64_t item) override {
    const auto place = journal_->earlier.index().Find(item);
    if (!place) return Fail(Code::kUsage, "item {} has not ended", item);
    if (place->segment < journal_->earlier.segments().size()) return journal_->earlier.ReadAt(*place);
    const OwnSegment& own = appender_->segment();
    return ReadRecord(own.fd.get(), own.file, own.seed, place->offset);
  }

  Status Close() override { return appender_->Close(); }

 private:
  std::shared_ptr<Journal> journal_;
  std::unique_ptr<JournalAppender> appender_;
};

SegmentHeader HeaderOf(const OwnSegment& segment, const Identity& identity, const JournalOwner& owner) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {segment.seed,       segment.term,
          identity,           owner,
          StartOf(owner.pid), std::chrono::duration_cast<std::chrono::microseconds>(now).count()};
}

Bytes TwoHeaders(const SegmentHeader& header) {
  Bytes bytes;
  for (int copy = 0; copy < 2; ++copy) AppendFrame(bytes, header.seed, bytes.size(), header);
  return bytes;
}

// Checks the run before this one, so that nothing is made in another map's journal.
Status CheckEarlier(const JournalDirectory& directory, const std::vector<uint32_t>& terms,
                    const Identity& identity) {
  for (const uint32_t term : terms) {
    MUSTER_TRY(const UniqueFd fd, directory.OpenSegment(term));
    MUSTER_TRY(const std::optional<SegmentStart> start, ReadStart(fd.get(), directory.FileOf(term)));
    if (start) return CheckIdentity(start->found.header.identity, identity, directory.path());
  }
  return {};
}

// A segment of this run's own, still empty. Log messages about the run before go to `notes`.
Result<OwnSegment> MakeSegment(const std::shared_ptr<const JournalDirectory>& directory,
                               const Identity& identity, const JournalOwner& owner,
                               std::vector<std::string>& notes) {
  OwnSegment segment;
  segment.directory = directory;
  segment.lock = LockJournal(*directory);
  segment.seed = RandomNumber();
  for (int tries = 0; tries < kMostTries; ++tries) {
    MUSTER_TRY(const std::vector<uint32_t> terms, directory->Terms());
    MUSTER_CHECK(CheckEarlier(*directory, terms, identity));
    const uint32_t newest = terms.empty() ? 0 : terms.back();
    if (newest == std::numeric_limits<uint32_t>::max()) break;
    MUSTER_TRY(const std::optional<std::string> note,
               ClaimJournal(*directory, segment.lock, newest, owner.node));
    segment.term = newest + 1;
    segment.file = directory->FileOf(segment.term);
    MUSTER_TRY(std::optional<UniqueFd> fd, directory->CreateSegment(segment.term));
    if (!fd) continue;  // another run was faster
    segment.fd = *std::move(fd);
    if (note) notes.push_back(*note);
    return segment;
  }
  return Fail(Code::kUsage, "other runs begin on the journal {} again and again", directory->path());
}

// Records that a run without a closed segment has written, but perhaps not made durable, are about to count.
// Its segment loses the write permission. A stopped run detects that when it wakes (journal_appender.cc).
Status Settle(const JournalReader& earlier) {
  for (const JournalReader::Segment& segment : earlier.segments()) {
    struct stat status {};
    if (segment.bounded || segment.closed || !segment.fd || fstat(segment.fd.get(), &status) != 0) continue;
    fchmod(segment.fd.get(), status.st_mode & ~kWritable & 07777);  // only its owner may
    if (fsync(segment.fd.get()) != 0 && errno != EROFS && errno != EINVAL) {
      return Fail(Code::kSystem, "cannot synchronise {}: {}", segment.file, ErrnoText(errno));
    }
  }
  return {};
}

Bytes TwoBounds(const OwnSegment& segment, const JournalReader& earlier) {
  SegmentBounds bounds;
  for (const JournalReader::Segment& one : earlier.segments())
    bounds.earlier.push_back({one.header.term, one.bytes});
  Bytes bytes;
  for (int copy = 0; copy < 2; ++copy) AppendFrame(bytes, segment.seed, segment.size + bytes.size(), bounds);
  return bytes;
}

Status WriteHeader(OwnSegment& segment, const SegmentHeader& header) {
  struct stat status {};
  if (fstat(segment.fd.get(), &status) == 0 && (status.st_mode & kWritable) == 0) {
    fchmod(segment.fd.get(), (status.st_mode | S_IWUSR) & 07777);  // this umask leaves no permission
  }
  MUSTER_CHECK(Write(segment, TwoHeaders(header)));
  MUSTER_CHECK(segment.directory->Sync());
  return MakeDurable(segment);
}

std::vector<JournalWriter::Resumed> ResumedOf(JournalIndex& index, bool poisoned_again) {
  if (poisoned_again) index.ForgetPoisoned();
  std::vector<JournalWriter::Resumed> resumed;
  resumed.reserve(index.committed() + index.poisoned());
  index.Visit([&](uint64_t item, const JournalIndex::Place& place) {
    JournalWriter::Resumed& one = resumed.emplace_back();
    one.item = item & ((uint64_t{1} << 48) - 1);
    one.ending = place.ending;
    one.took = place.took;
    return true;
  });
  return resumed;
}

JournalAppender::OnDone TakenBy(const std::shared_ptr<Journal>& journal) {
  return [weak = std::weak_ptr(journal)](std::vector<JournalAppender::Done>& done) {
    if (const auto alive = weak.lock()) alive->Take(done);
  };
}

// It grows as it is written, unlike MakeAnonymousFile's.
Result<UniqueFd> MakeFileWithoutName() {
  UniqueFd fd = CreateMemoryFile("muster journal", MFD_CLOEXEC);
  const std::string problem = ErrnoText(errno);
  // The filters of some containers do not support that call.
  if (!fd) fd = MakeUnnamedFile("/tmp");
  if (fd) return fd;
  return Fail(Code::kSystem, "cannot have a file in memory: memfd_create: {}; in /tmp: {}", problem,
              ErrnoText(errno));
}

Result<JournalWriter::Opened> OpenAnonymous(const Identity& identity, const JournalOwner& owner,
                                            std::shared_ptr<net::Mailbox> mailbox) {
  OwnSegment segment;
  segment.file = "in memory";
  MUSTER_TRY(segment.fd, MakeFileWithoutName());
  segment.seed = RandomNumber();
  MUSTER_CHECK(Write(segment, TwoHeaders(HeaderOf(segment, identity, owner))));
  const auto journal = std::make_shared<Journal>();
  MUSTER_TRY(auto appender, JournalAppender::Start(std::move(segment), std::move(mailbox), TakenBy(journal)));
  JournalWriter::Opened opened;
  opened.writer = std::make_unique<Writer>(journal, std::move(appender));
  return opened;
}

// With the segment made: reads the earlier ones, and returns the lengths up to which they count.
Result<JournalWriter::Opened> Begin(OwnSegment segment, const SegmentHeader& header, bool poisoned_again,
                                    std::shared_ptr<net::Mailbox> mailbox) {
  MUSTER_CHECK(WriteHeader(segment, header));
  const std::shared_ptr<const JournalDirectory> directory = segment.directory;
  const uint32_t term = segment.term;
  const auto journal = std::make_shared<Journal>();
  MUSTER_TRY(auto appender, JournalAppender::Start(std::move(segment), std::move(mailbox), TakenBy(journal)));
  MUSTER_TRY(journal->earlier, JournalReader::OpenBelow(directory, term));
  for (const JournalReader::Segment& one : journal->earlier.segments()) {
    MUSTER_CHECK(CheckIdentity(one.header.identity, header.identity, one.file));
  }
  MUSTER_CHECK(Settle(journal->earlier));
  MUSTER_CHECK(appender->Begin(TwoBounds(appender->segment(), journal->earlier)));
  JournalWriter::Opened opened;
  opened.term = term;
  opened.resumed = ResumedOf(journal->earlier.index(), poisoned_again);
  for (const JournalFlaw& flaw : journal->earlier.flaws()) {
    // Earlier runs have reported the other flaws.
    if (IsDamage(flaw) || flaw.kind == JournalFlaw::Kind::kTornTail) opened.notes.push_back(Describe(flaw));
  }
  opened.writer = std::make_unique<Writer>(journal, std::move(appender));
  return opened;
}

}  // namespace

Result<JournalWriter::Opened> JournalWriter::Open(const std::string& path, const Identity& identity,
                                                  const JournalOwner& owner, bool poisoned_again,
                                                  std::shared_ptr<net::Mailbox> mailbox) {
  if (path.empty()) return OpenAnonymous(identity, owner, std::move(mailbox));
  MUSTER_TRY(JournalDirectory made, JournalDirectory::Make(path));
  const auto directory = std::make_shared<const JournalDirectory>(std::move(made));
  std::vector<std::string> notes;
  MUSTER_TRY(OwnSegment segment, MakeSegment(directory, identity, owner, notes));
  const uint32_t term = segment.term;
  const SegmentHeader header = HeaderOf(segment, identity, owner);
  Result<Opened> opened = Begin(std::move(segment), header, poisoned_again, std::move(mailbox));
  if (opened) {
    opened->notes.insert(opened->notes.begin(), notes.begin(), notes.end());
  } else if (!directory->Has(term + 1)) {
    directory->RemoveSegment(term);  // it has no records
  }
  return opened;
}

}  // namespace muster::map
