#include "comm/map/journal/writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>

#include "comm/map/journal/claim.h"
#include "comm/map/journal/durations.h"
#include "tests/comm/base/another_user.h"
#include "tests/comm/base/waiting_child.h"
#include "tests/comm/map/journal/files.h"

namespace muster::map {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using JournalWriterTest = JournalFiles;

MATCHER_P2(Ended, item, ending, "") {
  return arg.item == static_cast<uint64_t>(item) && arg.ending == ending;
}

TEST_F(JournalWriterTest, WhatIsDurableIsReadAndResumed) {
  const Identity identity = IdentityOf(10);
  auto first = Open(identity);
  ASSERT_TRUE(first) << ToString(first.error());
  EXPECT_EQ(first->term, 1U);
  EXPECT_THAT(first->resumed, IsEmpty());
  EXPECT_THAT(first->notes, IsEmpty());
  JournalWriter& writer = *first->writer;
  EXPECT_EQ(writer.Read(4).error().code, Code::kUsage);
  EXPECT_THAT(Append(writer, {RecordOf(4, "four"), RecordOf(2, "two")}), Each(std::nullopt));
  EXPECT_EQ(writer.Read(4), RecordOf(4, "four"));
  ASSERT_TRUE(writer.Close());
  EXPECT_EQ(writer.Read(2), RecordOf(2, "two")) << "after Close";
  first->writer.reset();

  auto second = Open(identity);
  ASSERT_TRUE(second) << ToString(second.error());
  EXPECT_EQ(second->term, 2U);
  EXPECT_THAT(second->notes, IsEmpty());
  EXPECT_THAT(second->resumed, ElementsAre(Ended(2, Ending::kCommitted), Ended(4, Ending::kCommitted)));
  EXPECT_THAT(Append(*second->writer, {RecordOf(0, "zero")}), Each(std::nullopt));
  EXPECT_EQ(second->writer->Read(4), RecordOf(4, "four")) << "of an earlier run";
  EXPECT_EQ(second->writer->Read(0), RecordOf(0, "zero"));
}

// The function of a map may fork a worker that outlives the map: a lock belongs to all who have its descriptor.
TEST_F(JournalWriterTest, IsFreeOnceItIsClosedThoughAForkedChildGoesOn) {
  const Identity identity = IdentityOf(10);
  auto first = Open(identity);
  ASSERT_TRUE(first) << ToString(first.error());
  const WaitingChild worker;
  ASSERT_TRUE(first->writer->Close());
  first->writer.reset();
  const auto second = Open(identity);
  EXPECT_TRUE(second) << ToString(second.error());
}

TEST_F(JournalWriterTest, HowLongItemsTookIsKnownToTheNextRun) {
  const Identity identity = IdentityOf(10);
  auto first = Open(identity);
  ASSERT_TRUE(first) << ToString(first.error());
  JournalRecord failed = RecordOf(4, "no model", Ending::kPoisoned);
  failed.took = std::chrono::minutes(9);
  JournalRecord record = RecordOf(4, "four");
  record.took = std::chrono::seconds(10);
  EXPECT_THAT(Append(*first->writer, {failed, record, RecordOf(9, "nine")}), Each(std::nullopt));
  first->writer.reset();

  auto second = Open(identity);
  ASSERT_TRUE(second) << ToString(second.error());
  ASSERT_THAT(second->resumed, SizeIs(2));
  EXPECT_EQ(second->resumed[0].took, ShortTime(std::chrono::seconds(10)));
  EXPECT_EQ(second->resumed[1].took, ShortTime(RecordOf(9, "nine").took));
}

TEST_F(JournalWriterTest, CompletionsComeInOrderAndNeverWithinACall) {
  auto opened = Open(IdentityOf(1000));
  ASSERT_TRUE(opened);
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) {
    opened->writer->Append(RecordOf(static_cast<uint64_t>(i), std::string(100, 'x')),
                           [&order, i](const Status& status) {
                             EXPECT_TRUE(status);
                             order.push_back(i);
                           });
  }
  EXPECT_THAT(order, IsEmpty());
  ASSERT_TRUE(loop_.Until([&] { return order.size() == 1000; }));
  EXPECT_TRUE(std::ranges::is_sorted(order));
  ASSERT_TRUE(opened->writer->Close());
  opened->writer->Append(RecordOf(1, ""), [&](const Status& status) {
    EXPECT_FALSE(status);
    order.push_back(-1);
  });
  ASSERT_TRUE(loop_.Until([&] { return order.size() == 1001; }));
}

// Other work on this node would wait for the disk with each of them.
TEST_F(JournalWriterTest, ThereIsAPauseBetweenTwoSynchronisations) {
  auto opened = Open(IdentityOf(10));
  ASSERT_TRUE(opened);
  const auto begin = Clock::now();
  for (uint64_t item = 0; item < 5; ++item)
    EXPECT_THAT(Append(*opened->writer, {RecordOf(item, "x")}), ElementsAre(std::nullopt));
  EXPECT_GE(Clock::now() - begin, 4 * std::chrono::milliseconds(50));
}

TEST_F(JournalWriterTest, ACompletionMayDestroyTheWriter) {
  auto opened = Open(IdentityOf(10));
  ASSERT_TRUE(opened);
  int calls = 0;
  for (uint64_t item = 0; item < 3; ++item) {
    opened->writer->Append(RecordOf(item, "x"), [&](const Status&) {
      ++calls;
      opened->writer.reset();
    });
  }
  ASSERT_TRUE(loop_.Until([&] { return calls > 0; }));
  loop_.Settle();
  EXPECT_EQ(calls, 1);
}

TEST_F(JournalWriterTest, ItemsThatWereGivenUpAreTriedAgainIfAsked) {
  const Identity identity = IdentityOf(10);
  Run(identity, {RecordOf(7, "it broke", Ending::kPoisoned), RecordOf(1, "one")});
  {
    const auto as_it_was = Open(identity);
    ASSERT_TRUE(as_it_was);
    EXPECT_THAT(as_it_was->resumed, ElementsAre(Ended(1, Ending::kCommitted), Ended(7, Ending::kPoisoned)));
    EXPECT_EQ(as_it_was->writer->Read(7)->ending, Ending::kPoisoned);
  }
  auto again = Open(identity, OwnerHere(), true);
  ASSERT_TRUE(again);
  EXPECT_THAT(again->resumed, ElementsAre(Ended(1, Ending::kCommitted)));
  EXPECT_EQ(again->writer->Read(7).error().code, Code::kUsage);
  EXPECT_THAT(Append(*again->writer, {RecordOf(7, "seven")}), ElementsAre(std::nullopt));
  EXPECT_EQ(again->writer->Read(7), RecordOf(7, "seven"));
  again->writer.reset();
  const auto last = Open(identity);
  ASSERT_TRUE(last);
  EXPECT_THAT(last->resumed, ElementsAre(Ended(1, Ending::kCommitted), Ended(7, Ending::kCommitted)));
}

TEST_F(JournalWriterTest, WithoutAPathItLivesInMemory) {
  path_ = "";
  auto opened = Open(IdentityOf(10));
  ASSERT_TRUE(opened) << ToString(opened.error());
  EXPECT_THAT(Append(*opened->writer, {RecordOf(3, "three")}), ElementsAre(std::nullopt));
  EXPECT_EQ(opened->writer->Read(3), RecordOf(3, "three"));
  EXPECT_TRUE(opened->writer->Close());
  EXPECT_EQ(opened->writer->Read(3), RecordOf(3, "three"));
}

TEST_F(JournalWriterTest, AnotherMapIsRefusedWithBothDigests) {
  Run(IdentityOf(10), {RecordOf(1, "one")});
  const auto other_work = Open(IdentityOf(10, "other work"));
  ASSERT_FALSE(other_work);
  EXPECT_EQ(other_work.error().code, Code::kDisagreement);
  EXPECT_THAT(other_work.error().message,
              AllOf(HasSubstr(path_ + " is the journal of another map: its work is another"),
                    HasSubstr(ShortName(IdentityOf(10).work) + " (\"work\")"),
                    HasSubstr(ShortName(IdentityOf(10, "other work").work) + " (\"other work\")")));
  const auto other_items = Open(IdentityOf(11));
  ASSERT_FALSE(other_items);
  EXPECT_THAT(other_items.error().message,
              AllOf(HasSubstr("its items differ: 10 instead of 11"), HasSubstr("its work is the same")));
  Identity other_keys = IdentityOf(10);
  other_keys.keys[0] ^= 1;
  EXPECT_THAT(Open(other_keys).error().message, HasSubstr(ShortName(other_keys.keys)));
  EXPECT_FALSE(std::filesystem::exists(SegmentFile(2))) << "a refused run leaves nothing";
}

TEST_F(JournalWriterTest, ASecondRunIsRefusedByName) {
  const auto first = Open(IdentityOf(10));
  ASSERT_TRUE(first);
  const auto second = Open(IdentityOf(10), OwnerHere("gpu07"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kUsage);
  EXPECT_THAT(second.error().message,
              HasSubstr(fmt::format("{}: process {} on gpu01, slurm:12.0:0", path_, getpid())));
  EXPECT_FALSE(std::filesystem::exists(SegmentFile(2)));
}

TEST_F(JournalWriterTest, ARunThatWasSucceededCommitsNothing) {
  auto stopped = Open(IdentityOf(10));
  ASSERT_TRUE(stopped);
  EXPECT_THAT(Append(*stopped->writer, {RecordOf(1, "one")}), ElementsAre(std::nullopt));
  // As on a file system whose locks do not reach the next run.
  ASSERT_EQ(unlink((path_ + "/lock").c_str()), 0);
  auto next = Open(IdentityOf(10), {"gpu07", getpid(), "slurm:13.0:0", ""});
  ASSERT_TRUE(next) << ToString(next.error());
  EXPECT_EQ(next->term, 2U);
  EXPECT_THAT(next->resumed, ElementsAre(Ended(1, Ending::kCommitted)));
  EXPECT_THAT(next->notes, ElementsAre(HasSubstr("000001.segment: its run did not close it (process")));

  const auto refused = Append(*stopped->writer, {RecordOf(2, "late"), RecordOf(3, "late")});
  for (const std::optional<Error>& error : refused) {
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message, AllOf(HasSubstr("a later run has taken over the journal " + path_),
                                      HasSubstr("on gpu07, slurm:13.0:0")));
  }
  EXPECT_EQ(Append(*stopped->writer, {RecordOf(4, "late")}), std::vector{refused.front()}) << "it is final";
  EXPECT_EQ(stopped->writer->Close().error(), *refused.front());
  EXPECT_EQ(stopped->writer->Read(1), RecordOf(1, "one"));
  EXPECT_THAT(Append(*next->writer, {RecordOf(2, "in time")}), ElementsAre(std::nullopt));
  next->writer.reset();
  auto last = Open(IdentityOf(10));
  ASSERT_TRUE(last);
  EXPECT_EQ(last->writer->Read(2), RecordOf(2, "in time"));
  EXPECT_THAT(last->resumed, SizeIs(2));
}

constexpr uint64_t kManyItems = 100'000;

// Commits one item after the other until an error; writes each that is durable to `out`, and then the error.
[[noreturn]] void CommitUntilRefused(const std::string& path, int out) {
  const auto loop = net::EventLoop::Create();
  auto opened = JournalWriter::Open(path, IdentityOf(kManyItems), {"gpu01", getpid(), "job", ""}, false,
                                    (*loop)->mailbox());
  if (!opened) _exit(1);
  bool refused = false;
  std::function<void(uint64_t)> commit = [&](uint64_t item) {
    opened->writer->Append(RecordOf(item, "of the first run"), [&, item](const Status& status) {
      const std::string line = status ? std::to_string(item) + "\n" : status.error().message + "\n";
      refused = !status || write(out, line.data(), line.size()) < 0;
      if (!refused && item + 1 < kManyItems) return commit(item + 1);
      refused = true;
      [[maybe_unused]] const ssize_t written = write(out, line.data(), line.size());
    });
  };
  commit(0);
  (*loop)->RunUntil([&] { return refused; }, Deadline::Never());
  _exit(0);
}

TEST_F(JournalWriterTest, AStoppedRunThatWakesHasReportedNothingThatDoesNotCount) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t first = fork();
  if (first == 0) CommitUntilRefused(path_, ends[1]);
  close(ends[1]);
  const std::unique_ptr<FILE, int (*)(FILE*)> out(fdopen(ends[0], "r"), fclose);
  char line[1024] = "";
  for (int i = 0; i < 5; ++i) EXPECT_NE(fgets(line, sizeof line, out.get()), nullptr);
  kill(first, SIGSTOP);
  int status = 0;
  EXPECT_EQ(waitpid(first, &status, WUNTRACED), first);
  const auto refused = Open(IdentityOf(kManyItems));
  EXPECT_FALSE(refused) << "a stopped run holds its lock";
  EXPECT_EQ(unlink((path_ + "/lock").c_str()), 0);
  const auto next = Open(IdentityOf(kManyItems));
  EXPECT_TRUE(next) << ToString(next.error());
  kill(first, SIGCONT);
  uint64_t reported = std::strtoull(line, nullptr, 10);
  std::string last;
  while (fgets(line, sizeof line, out.get()) != nullptr) {
    last = line;
    if (std::isdigit(line[0]) != 0) reported = std::strtoull(line, nullptr, 10);
  }
  EXPECT_EQ(waitpid(first, &status, 0), first);
  EXPECT_THAT(last, HasSubstr("a later run has taken over the journal " + path_));
  ASSERT_TRUE(next);
  EXPECT_GT(next->resumed.size(), reported) << "items 0 to that one are durable";
  EXPECT_EQ(next->writer->Read(reported), RecordOf(reported, "of the first run"));
}

TEST_F(JournalWriterTest, AFullDiskIsFinalAndNothingElseIsAcknowledged) {
  auto opened = Open(IdentityOf(100));
  ASSERT_TRUE(opened);
  EXPECT_THAT(Append(*opened->writer, {RecordOf(0, "zero")}), ElementsAre(std::nullopt));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit full = before;
  full.rlim_cur = 8192;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  const auto refused = Append(*opened->writer, {RecordOf(1, std::string(10000, 'x')), RecordOf(2, "two")});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  for (const std::optional<Error>& error : refused) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, Code::kSystem);
    EXPECT_THAT(error->message, AllOf(HasSubstr(SegmentFile(1)), HasSubstr("File too large")));
    EXPECT_THAT(error->hint, HasSubstr("make room"));
  }
  EXPECT_EQ(opened->writer->Read(1).error().code, Code::kUsage);
  EXPECT_EQ(opened->writer->Read(0), RecordOf(0, "zero"));
  const auto next = Open(IdentityOf(100));
  ASSERT_TRUE(next) << "the lock is free: " << ToString(next.error());
  EXPECT_THAT(next->resumed, ElementsAre(Ended(0, Ending::kCommitted)));
  EXPECT_THAT(next->notes, testing::Contains(HasSubstr("are no whole record")));
}

TEST_F(JournalWriterTest, AVanishedDirectoryIsNamed) {
  auto removed = Open(IdentityOf(10));
  ASSERT_TRUE(removed);
  std::filesystem::remove_all(path_);
  const auto refused = Append(*removed->writer, {RecordOf(1, "one")});
  ASSERT_TRUE(refused.front());
  EXPECT_EQ(refused.front()->message, "the journal " + SegmentFile(1) + " was removed");

  auto renamed = Open(IdentityOf(10));
  ASSERT_TRUE(renamed);
  std::filesystem::rename(path_, path_ + ".old");
  EXPECT_EQ(Append(*renamed->writer, {RecordOf(1, "one")}).front()->message,
            "the journal's directory " + path_ + " was removed or renamed");
}

TEST_F(JournalWriterTest, ADirectoryThatCannotBeHadIsNamed) {
  path_ = folder_ + "/not/there";
  const auto no_parent = Open(IdentityOf(1));
  EXPECT_THAT(no_parent.error().message, HasSubstr(path_ + ": No such file or directory"));
  EXPECT_THAT(no_parent.error().hint, HasSubstr("make the directory"));
  path_ = folder_ + "/file";
  std::ofstream(path_) << "text";
  EXPECT_THAT(Open(IdentityOf(1)).error().message, HasSubstr(path_ + ": Not a directory"));
}

TEST_F(JournalWriterTest, ADirectoryWithoutPermissionIsNamed) {
  const SharedFolder shared;
  path_ = shared.Directory("read-only", kStranger, 0755);
  const auto open = [&] {
    const auto opened = Open(IdentityOf(1));
    return opened ? std::string("opened") : opened.error().message;
  };
  if (IsRoot()) {
    EXPECT_EQ(As(kVictim, open), "cannot create " + SegmentFile(1) + ": Permission denied");
  } else {
    ASSERT_EQ(chmod(path_.c_str(), 0555), 0);
    EXPECT_EQ(open(), "cannot create " + SegmentFile(1) + ": Permission denied");
  }
}

TEST_F(JournalWriterTest, LinksAndFifosAreNotFollowed) {
  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
  ASSERT_EQ(symlink("/etc/passwd", SegmentFile(1).c_str()), 0);
  EXPECT_THAT(Open(IdentityOf(1)).error().message,
              HasSubstr("000001.segment is a symbolic link: not followed"));
  ASSERT_EQ(unlink(SegmentFile(1).c_str()), 0);
  ASSERT_EQ(mkfifo(SegmentFile(1).c_str(), 0600), 0);
  EXPECT_THAT(Open(IdentityOf(1)).error().message, HasSubstr("000001.segment is no plain file"));
}

TEST_F(JournalWriterTest, AStrangersSegmentIsRefusedWhereEveryUserMayWrite) {
  if (!IsRoot()) GTEST_SKIP() << "only root gives files away";
  Run(IdentityOf(1), {RecordOf(0, "zero")});
  ASSERT_EQ(chown(SegmentFile(1).c_str(), kStranger, kStranger), 0);
  EXPECT_TRUE(Open(IdentityOf(1))) << "a project's directory";
  ASSERT_EQ(chmod(path_.c_str(), 0777), 0);
  EXPECT_THAT(Open(IdentityOf(1)).error().message,
              HasSubstr("belongs to uid 54322, and every user may write"));
}

TEST_F(JournalWriterTest, ADirectoryThatAStrangerMadeIsRefusedWhereEveryUserMayWrite) {
  if (!IsRoot()) GTEST_SKIP() << "only root gives files away";
  const SharedFolder shared;
  shared.Directory("tmp", 0, 01777);
  shared.Directory("tmp/journal", kStranger, 01777);
  const std::string home = shared.Directory("home", kVictim, 0700);
  shared.Link("tmp/link", kStranger, home);
  shared.Fifo("tmp/pipe", kStranger);
  const auto open = [&](const std::string& name) {
    path_ = shared / name;
    return As(kVictim, [&] {
      const auto opened = Open(IdentityOf(1));
      return opened ? std::string("opened") : ToString(opened.error());
    });
  };
  const auto refused = [&](const std::string& name, const std::string& reason) {
    return "cannot open the journal " + (shared / name) + ": " + reason +
           " (give a journal in a directory of your own or of your project)";
  };
  EXPECT_EQ(open("tmp/journal"),
            refused("tmp/journal",
                    "this directory belongs to user 54322, and every user may write the one that it is in"));
  EXPECT_EQ(open("tmp/link"), refused("tmp/link", "the symbolic link \"link\" belongs to user 54322"));
  EXPECT_EQ(open("tmp/link/journal"),
            refused("tmp/link/journal", "the symbolic link \"link\" belongs to user 54322"));
  EXPECT_EQ(open("tmp/pipe"), refused("tmp/pipe", "Not a directory"));
  EXPECT_TRUE(std::filesystem::is_empty(home));
  EXPECT_EQ(open("tmp/own"), "opened");
}

TEST_F(JournalWriterTest, TheDirectoryIsForNoOtherUserUnderAnyUmask) {
  const mode_t before = umask(0);
  Run(IdentityOf(1), {});
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0775U);
}

// Without locks: journal_claim.h has the rest.
class JournalClaimTest : public JournalFiles {
 protected:
  Result<std::optional<std::string>> Claim(JournalLock::State state, const std::string& node,
                                           Duration silence) {
    MUSTER_TRY(const JournalDirectory directory, JournalDirectory::Open(path_));
    JournalLock lock;
    lock.state = state;
    return ClaimJournal(directory, lock, 1, node, silence);
  }
  using State = JournalLock::State;
};

TEST_F(JournalClaimTest, ALiveProcessOfThisNodeIsAtWork) {
  const auto first = Open(IdentityOf(10));
  ASSERT_TRUE(first);
  EXPECT_EQ(Claim(State::kUnknown, "gpu01", Duration::zero()).error().code, Code::kUsage);
  EXPECT_EQ(Claim(State::kTaken, "gpu01", Duration::zero()).error().code, Code::kUsage);
}

TEST_F(JournalClaimTest, ASegmentOfAnotherNodeThatChangesIsOfALiveRun) {
  const auto first = Open(IdentityOf(10));
  ASSERT_TRUE(first);
  for (const State state : {State::kUnknown, State::kMine}) {
    const auto refused = Claim(state, "gpu07", std::chrono::minutes(1));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("on gpu01, slurm:12.0:0"));
  }
}

TEST_F(JournalClaimTest, ARunThatIsSilentOrClosedIsSucceeded) {
  Run(IdentityOf(10), {RecordOf(1, "one")}, false);
  const auto silent = Claim(State::kUnknown, "gpu07", std::chrono::milliseconds(300));
  ASSERT_TRUE(silent) << ToString(silent.error());
  EXPECT_TRUE(silent->has_value());
  EXPECT_EQ(Claim(State::kTaken, "gpu07", Duration::zero()).error().code, Code::kUsage) << "a lock is true";
  std::filesystem::remove_all(path_);
  Run(IdentityOf(10), {RecordOf(1, "one")});
  EXPECT_EQ(Claim(State::kUnknown, "gpu07", std::chrono::hours(1)), Result<std::optional<std::string>>());
  EXPECT_EQ(Claim(State::kTaken, "gpu07", Duration::zero()).error().code, Code::kUsage)
      << "the next one begins";
}

TEST_F(JournalClaimTest, ALockThatAForkedChildHoldsIsNoRun) {
  // The owner is a process that has ended; its child lives on with the lock.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    const auto loop = net::EventLoop::Create();
    const auto opened =
        JournalWriter::Open(path_, IdentityOf(10), {"gpu01", getpid(), "job", ""}, false, (*loop)->mailbox());
    const pid_t child = opened ? fork() : -1;
    if (child == 0) {
      close(ends[1]);
      char byte = 0;
      _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    kill(getpid(), SIGKILL);
  }
  close(ends[0]);
  int status = 0;
  ASSERT_EQ(waitpid(owner, &status, 0), owner);
  const auto directory = JournalDirectory::Open(path_);
  ASSERT_TRUE(directory);
  const JournalLock lock = LockJournal(*directory);
  EXPECT_EQ(lock.state, State::kTaken);
  const auto claimed = ClaimJournal(*directory, lock, 1, "gpu01", std::chrono::milliseconds(300));
  EXPECT_TRUE(claimed) << ToString(claimed.error());
  close(ends[1]);
}

}  // namespace
}  // namespace muster::map
