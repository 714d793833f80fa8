// run.expect: the files that a run must have written when all its programs have exited with 0. This detects a
// program that catches its own exceptions and exits with 0.
//
// A file counts if it is not empty (a directory: if it holds something) and is not as it was when the run
// began: another inode, size or time of a change. A directory counts as well if that is true of an entry
// below it, as a file that is written again does not change its directory. Clocks are not compared: a file
// server has its own.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"
#include "comm/net/thread_worker.h"
#include "comm/roster.h"

namespace muster::run {

struct FileState {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  time_t seconds = 0;  // of the last change of its content, which `cp -p` sets
  long nanoseconds = 0;
  time_t changed_seconds = 0;  // of any change: no program sets this
  long changed_nanoseconds = 0;
  // Of a directory: a hash over the states of all entries below it, links not followed. Absent: not read, as
  // there are more than LookAtFiles reads.
  std::optional<uint64_t> below = std::nullopt;

  friend bool operator==(const FileState&, const FileState&) = default;
};
using FileStates = std::map<std::string, FileState>;  // by path

// The patterns of run.expect with placeholders filled: one that names a placeholder, once for each rank; each
// only once, in their order. `value` is called for names that CheckPlaceholders accepts.
std::vector<std::string> ExpandExpected(
    const std::vector<std::string>& patterns, int world_size,
    const std::function<std::string(int rank, std::string_view name)>& value);

// Called after each request to the file system, on the thread that makes it. May be null.
using Progress = std::function<void()>;

// In LookAtFiles: of all directories together. Each entry is a request to a file server.
inline constexpr int kMostEntriesBelow = 10'000;

// The present files that match. A pattern is one of glob(7) if it has * ? or [, else a path. Reads the file
// system.
FileStates LookAtFiles(const std::vector<std::string>& patterns, const Progress& progress = {});

// The same before the group is formed: a placeholder stands for any text.
FileStates LookAtFilesOfAnyRank(std::vector<std::string> patterns, const Progress& progress = {});

// The patterns for which there is no file that counts, in words: the first few and why; "": none. Reads the file
// system.
std::string MissingFiles(const std::vector<std::string>& patterns, const FileStates& before,
                         const Progress& progress = {});

// Absent if for each pattern there is a file that counts. Error: kWorkFailed, names the first few that are
// missing and why. Reads the file system.
std::optional<Error> CheckExpected(const std::vector<std::string>& patterns, const FileStates& before,
                                   const Progress& progress = {});

// The files of one run: as they were before it, and checked once by the root when all programs have exited with 0. Lives on one
// EventLoop. A thread reads the file system, which may not answer: `then` follows once, with an error after a minute without
// progress.
class ExpectedFiles {
 public:
  using Before = std::shared_ptr<std::optional<FileStates>>;
  using Then = std::function<void(const std::optional<Error>&)>;
  // `patterns`: run.expect. `before`: filled once for all groups of the run.
  ExpectedFiles(net::EventLoop& loop, std::vector<std::string> patterns, Before before);

  // The group is formed.
  void SetRanks(const Roster& roster, std::string_view job_key);
  // Before the first program starts, or without SetRanks before the group is formed: programs of other nodes start earlier than this
  // process has sent the roster to all. `then` follows immediately if the files are known.
  void LookBefore(Then then);
  void Check(Then then);

 private:
  struct Question;
  void Read(std::function<std::optional<Error>(const Progress& progress)> read, Then then);
  static void Await(net::EventLoop& loop, const std::shared_ptr<Question>& question, Duration patience);

  net::EventLoop& loop_;
  const std::vector<std::string> patterns_;
  std::vector<std::string> expected_;
  const Before before_;
  net::ThreadWorker worker_;
};

}  // namespace muster::run
