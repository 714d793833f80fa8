#include "comm/map/journal/appender.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <type_traits>
#include <utility>

#include "comm/map/journal/format.h"
#include "comm/map/journal/index.h"
#include "comm/system/start_thread.h"

namespace muster::map {
namespace {

constexpr auto kTouchEvery = std::chrono::seconds(1);
// While a local file system synchronises, every process of this node that creates or renames files there
// waits for the disk. So there are pauses, except when many records wait.
constexpr auto kSyncEvery = std::chrono::milliseconds(50);
constexpr size_t kManyRecords = 256;
constexpr size_t kManyBytes = size_t{256} << 10;
constexpr auto kPatience = std::chrono::seconds(5);
constexpr size_t kWriteAtATime = size_t{4} << 20;
constexpr size_t kMostKept = 2 * kWriteAtATime;
constexpr mode_t kWritable = S_IWUSR | S_IWGRP | S_IWOTH;

tl::unexpected<Error> CannotWrite(const OwnSegment& segment, int reason) {
  auto failure = Fail(Code::kSystem, "cannot write the journal {}: {}", segment.file, ErrnoText(reason));
  const bool full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  const char* const first = full ? "make room, then start again" : "start again when it can be written";
  return WithHint(std::move(failure), std::string(first) + ": what is in the journal stays");
}

tl::unexpected<Error> TakenOver(const OwnSegment& segment, uint32_t later) {
  const std::string file = segment.directory->FileOf(later);
  std::string who = "its segment is " + file;
  if (const Result<UniqueFd> fd = segment.directory->OpenSegment(later)) {
    const auto start = ReadStart(fd->get(), file);
    if (start && *start) who = NameOf((*start)->found.header.owner);
  }
  return Fail(Code::kUsage, "a later run has taken over the journal {}: {}", segment.directory->path(), who);
}

// The next run takes the permission to write from the segment (journal_writer.cc). NFS shows that
// immediately, and a new file after some seconds.
Status CheckOwn(const OwnSegment& segment) {
  struct stat status {};
  if (fstat(segment.fd.get(), &status) != 0) return CannotWrite(segment, errno);
  if (segment.directory->Has(segment.term + 1)) return TakenOver(segment, segment.term + 1);
  if (status.st_nlink == 0) return Fail(Code::kSystem, "the journal {} was removed", segment.file);
  if ((status.st_mode & kWritable) == 0) {
    return Fail(Code::kUsage, "the permission to write the journal {} was taken: a later run has begun",
                segment.file);
  }
  if (segment.directory->IsInPlace()) return {};
  return Fail(Code::kSystem, "the journal's directory {} was removed or renamed", segment.directory->path());
}

Status Touch(const OwnSegment& segment) {
  if (segment.directory == nullptr) return {};
  futimens(segment.fd.get(), nullptr);
  return CheckOwn(segment);
}

}  // namespace

Status Write(OwnSegment& segment, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t got = TEMP_FAILURE_RETRY(
        pwrite(segment.fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(segment.size)));
    if (got <= 0) return CannotWrite(segment, got < 0 ? errno : ENOSPC);
    segment.size += static_cast<size_t>(got);
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return {};
}

Status MakeDurable(OwnSegment& segment) {
  if (segment.directory == nullptr) return {};
  // After an error the kernel may discard unwritten data: there is no second try.
  if (fdatasync(segment.fd.get()) != 0) return CannotWrite(segment, errno);
  return CheckOwn(segment);
}

struct JournalAppender::Core : std::enable_shared_from_this<Core> {
  struct Job {
    JournalRecord record;
    OnDurable on_durable;
    std::optional<Error> refused;
  };
  static_assert(std::is_nothrow_move_constructible_v<Job>, "a queue that grows would copy results");

  OwnSegment segment;  // of the thread; other threads read the constant fields
  std::shared_ptr<net::Mailbox> mailbox;
  OnDone on_done;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Job> jobs;
  std::optional<Bytes> beginning;
  bool begun = false;
  bool closing = false;
  bool abandoned = false;
  bool finished = false;  // set by the thread, last
  Status status;          // of the first failure

  // The thread's.
  uint64_t records = 0;       // written
  std::vector<Done> written;  // and not durable
  size_t written_bytes = 0;
  Clock::time_point synced{};
  Bytes bytes;  // of a batch; its memory serves the next

  struct Work {
    std::optional<Bytes> beginning;
    std::vector<Job> batch;
    bool close = false;
    bool abandoned = false;
  };

  // BLOCKS until there is work; an empty one: it is time to synchronise, or else to touch the segment.
  Work Next() {
    std::unique_lock lock(mutex);
    const auto called = [this] { return abandoned || closing || beginning || !jobs.empty(); };
    if (segment.directory == nullptr) {
      changed.wait(lock, called);
    } else if (written.empty()) {
      changed.wait_for(lock, kTouchEvery, called);
    } else {
      changed.wait_until(lock, synced + kSyncEvery, called);
    }
    return {std::exchange(beginning, std::nullopt), std::exchange(jobs, {}), closing, abandoned};
  }

  void Run() {
    while (true) {
      Work work = Next();
      if (work.abandoned) return Finish({});
      const Status done = Do(work);
      if (!done || work.close) return Finish(done);
    }
  }

  Status Do(Work& work) {
    if (work.beginning) MUSTER_CHECK(BeginNow(*work.beginning));
    if (!work.batch.empty()) MUSTER_CHECK(Commit(work.batch));
    if (work.close) return CloseNow();
    if (written.empty()) return work.beginning ? Status{} : Touch(segment);
    return IsTimeToSync() ? Sync() : Status{};
  }

  Status BeginNow(ByteView first) {
    MUSTER_CHECK(Write(segment, first));
    MUSTER_CHECK(MakeDurable(segment));
    const std::lock_guard lock(mutex);
    begun = true;
    changed.notify_all();
    return {};
  }

  Status CloseNow() {
    bytes.clear();
    AppendFrame(bytes, segment.seed, segment.size, SegmentEnd{records});
    MUSTER_CHECK(Write(segment, bytes));
    return Sync();
  }

  static Status StatusOf(const Job& job) {
    if (job.refused) return Fail(*job.refused);
    return {};
  }

  Status Commit(std::vector<Job>& batch) {
    size_t place = written.size();
    for (Job& job : batch)
      written.push_back({job.record.item, job.record.ending, 0, StatusOf(job), std::move(job.on_durable)});
    bytes.clear();
    for (const Job& job : batch) {
      const uint64_t offset = segment.size + bytes.size();
      if (offset >= JournalIndex::kMostBytes) return CannotWrite(segment, EFBIG);
      written[place++].offset = offset;
      if (job.refused) continue;
      AppendFrame(bytes, segment.seed, offset, job.record);
      ++records;
      if (bytes.size() < kWriteAtATime) continue;
      MUSTER_CHECK(WriteBatch());
    }
    MUSTER_CHECK(WriteBatch());
    if (bytes.capacity() > kMostKept) bytes = Bytes();
    return {};
  }

  Status WriteBatch() {
    MUSTER_CHECK(Write(segment, bytes));
    written_bytes += bytes.size();
    bytes.clear();
    return {};
  }

  bool IsTimeToSync() const {
    return segment.directory == nullptr || written.size() >= kManyRecords || written_bytes >= kManyBytes ||
           Clock::now() >= synced + kSyncEvery;
  }

  Status Sync() {
    MUSTER_CHECK(MakeDurable(segment));
    synced = Clock::now();
    written_bytes = 0;
    Post(std::exchange(written, {}));
    return {};
  }

  void Post(std::vector<Done> done) {
    if (done.empty()) return;
    const auto all = std::make_shared<std::vector<Done>>(std::move(done));
    mailbox->Post([on_done = on_done, all] { on_done(*all); });
  }

  // After an error what is left has failed, in its order.
  void Finish(const Status& with) {
    const std::lock_guard lock(mutex);
    finished = true;
    status = with;
    segment.lock.Release();
    if (!with) {
      for (Done& one : written) one.status = with;
      Post(std::exchange(written, {}));
      PostFailed(std::exchange(jobs, {}), with);
    }
    changed.notify_all();
  }

  void PostFailed(std::vector<Job> rest, const Status& with) {
    std::vector<Done> done;
    for (Job& job : rest)
      done.push_back({job.record.item, job.record.ending, 0, with, std::move(job.on_durable)});
    Post(std::move(done));
  }
};

Result<std::unique_ptr<JournalAppender>> JournalAppender::Start(OwnSegment segment,
                                                                std::shared_ptr<net::Mailbox> mailbox,
                                                                OnDone on_done) {
  const auto core = std::make_shared<Core>();
  core->segment = std::move(segment);
  core->mailbox = std::move(mailbox);
  core->on_done = std::move(on_done);
  MUSTER_TRY(std::thread thread, StartThread("the journal's thread", [core] { core->Run(); }));
  thread.detach();
  return std::unique_ptr<JournalAppender>(new JournalAppender(core));
}

JournalAppender::~JournalAppender() {
  // The completions' captures are destroyed on this thread, outside the lock.
  std::vector<Core::Job> dropped;
  std::vector<Done> not_durable;
  std::unique_lock lock(core_->mutex);
  core_->abandoned = true;
  dropped.swap(core_->jobs);
  core_->changed.notify_all();
  core_->changed.wait_for(lock, kPatience, [this] { return core_->finished; });
  if (core_->finished) not_durable.swap(core_->written);
}

void JournalAppender::Append(JournalRecord record, OnDurable on_durable) {
  constexpr size_t kOtherFields = 1024;
  const size_t bytes = record.payload.size() + record.key.size() + record.node.size() + kOtherFields;
  Core::Job job{std::move(record), std::move(on_durable), {}};
  if (bytes > kMostBody) {
    job.refused =
        Fail(Code::kUsage, "the result of item {} has {} bytes, more than a journal takes in one record",
             job.record.item, job.record.payload.size())
            .value();
  }
  const std::lock_guard lock(core_->mutex);
  if (!core_->finished && !core_->closing) {
    core_->jobs.push_back(std::move(job));
    if (core_->jobs.size() == 1) core_->changed.notify_all();
    return;
  }
  Status why = core_->status;
  if (why) why = Fail(Code::kInternal, "the journal {} is closed", core_->segment.file);
  std::vector<Core::Job> refused;
  refused.push_back(std::move(job));
  core_->PostFailed(std::move(refused), why);
}

Status JournalAppender::Begin(Bytes bytes) {
  std::unique_lock lock(core_->mutex);
  core_->beginning = std::move(bytes);
  core_->changed.notify_all();
  core_->changed.wait(lock, [this] { return core_->finished || core_->begun; });
  return core_->status;
}

Status JournalAppender::Close() {
  std::unique_lock lock(core_->mutex);
  core_->closing = true;
  core_->changed.notify_all();
  core_->changed.wait(lock, [this] { return core_->finished; });
  return core_->status;
}

const OwnSegment& JournalAppender::segment() const { return core_->segment; }

}  // namespace muster::map
