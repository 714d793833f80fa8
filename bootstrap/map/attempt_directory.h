// The directory of an attempt, and its place among the results once the attempt has ended:
//
//   OUTPUT/KEY                                the result of an item (DirectoryNameOf)
//   OUTPUT/.failed/KEY                        the latest attempt at an item that failed
//   OUTPUT/.attempts/RUN/KEY.ATTEMPT.RANK     an attempt at work
//   OUTPUT/.attempts/RUN/next-RANK-SLOT       prepared for the slot's next attempt
//
// If other users may write OUTPUT, one of them could make .attempts first and put links in the place of
// files. Therefore .attempts, .failed and the directories in them have at most the mode 0775. One that every
// user may write is refused, and one of another user too if every user may write OUTPUT. In an OUTPUT of a
// group, its members share them.
//
// A directory in OUTPUT is always whole: it comes there by rename(2). Another attempt's result in its place is
// replaced: that run did not come to commit it, or commits the same. A result has both files of the streams;
// an entry without them is the user's own, and stays.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster::map {

// The name of a run: the part of its journal, and that of its group. Maps with other journals may be at work in
// the same OUTPUT.
std::string RunName(std::string_view journal, std::string_view group);

// Makes OUTPUT, and refuses what another user may have prepared in it. Error: kSystem.
Status PrepareOutput(const std::string& output);

// The program's standard output and error, in its attempt's directory.
inline constexpr const char* kOutputFile = "/stdout";
inline constexpr const char* kErrorFile = "/stderr";

// Checked and open: a path may lead to another directory later.
struct OpenPlaces {
  UniqueFd output;  // OUTPUT
  UniqueFd run;     // OUTPUT/.attempts/RUN
};
using AttemptsPlace = std::shared_ptr<const OpenPlaces>;

// Made while a program runs, because three new files may wait for the disk. One thread's.
class NextDirectory {
 public:
  // `output`: absolute; `run`: the name of this run.
  NextDirectory(const std::string& output, std::string_view run, int rank, int slot);
  NextDirectory(const NextDirectory&) = delete;
  NextDirectory& operator=(const NextDirectory&) = delete;
  ~NextDirectory() { Remove(); }

  // Checked again, and made, only if its path leads to another directory or to none: a later run removes it at
  // its end, and another user may make one after that. Error: kSystem.
  Result<AttemptsPlace> Place();
  // With the empty files of both streams. Without it, for any reason, an attempt makes what it needs.
  void Prepare();
  // It becomes the directory `name` of `place`. False: there is none, or `name` is in use.
  bool MoveTo(int place, const std::string& name);

 private:
  void Remove();

  const std::string output_;
  const std::string run_;
  const std::string place_path_;
  const std::string name_;
  AttemptsPlace place_;
  AttemptsPlace ready_;  // that has the prepared directory; null: none is prepared
};

class AttemptDirectory {
 public:
  // `output`: absolute; `run`: the name of this run. Takes `next`, or makes what is missing. Error: kSystem;
  // kWorkFailed: this item alone cannot have a directory, or OUTPUT/KEY is no result of a map.
  static Result<AttemptDirectory> Create(const std::string& output, std::string_view run,
                                         std::string_view key, uint32_t attempt, int rank,
                                         NextDirectory& next);

  const std::string& path() const { return path_; }
  // The name of the result in OUTPUT.
  const std::string& name() const { return name_; }

  // OUTPUT/KEY, with its files on their disk: a commit follows. BLOCKS for the disk. Error: kSystem;
  // kWorkFailed: the name of this result cannot be had, and OUTPUT takes others.
  Status MoveToResults() const;
  // OUTPUT/.failed/KEY, which is returned; if that fails, the path as it is.
  std::string MoveToFailed() const;
  void Remove() const;

 private:
  AttemptDirectory() = default;
  tl::unexpected<Error> CannotPublish(int error_number) const;

  AttemptsPlace place_;
  std::string output_;
  std::string name_;
  std::string attempt_;  // its name in place_
  std::string path_;
};

// Directories of earlier runs with the journal of `run` below OUTPUT/.attempts. This run's stays.
void RemoveOldAttempts(const std::string& output, std::string_view run);
// This run's, if no attempt is left in it. Ranks that have ended may not have removed their next one yet.
void RemoveAttemptsOf(const std::string& output, std::string_view run);

}  // namespace muster::map
