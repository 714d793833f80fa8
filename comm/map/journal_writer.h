// The root's side of a map's journal: a directory with one segment for each run that wrote to it.
//
// A record counts once it is durable: a thread of the writer's own appends what has come meanwhile and calls
// fdatasync once for all of it. A segment has a term, its number: one more than the highest that was there. Its
// first record says up to which byte the earlier segments count, so that a root which was stopped and wakes after
// the next run has begun adds nothing; it finds the later segment after its next fdatasync, and fails.
//
// An empty path: an anonymous file of this process, which nobody can read later and which is never synchronised.
//
// Threads: Open on any thread; the rest on one, which the functions that are passed in are posted to.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/base/error.h"
#include "comm/map/identity.h"
#include "comm/map/journal_record.h"
#include "comm/net/event_loop.h"

namespace muster::map {

// Who writes a segment: a second run on the same journal is refused with this name.
struct JournalOwner {
  std::string node;
  int pid = 0;
  std::string job;       // the job key
  std::string group_id;  // "" in a world of one
};

class JournalWriter {
 public:
  struct Resumed {
    uint64_t item = 0;
    Ending ending = Ending::kCommitted;
  };
  // Open's answer: what earlier runs have ended, each item once.
  struct Opened {
    std::unique_ptr<JournalWriter> writer;
    std::vector<Resumed> resumed;
    uint32_t term = 1;
    std::vector<std::string> notes;  // what was cut off or ignored, in words for the log
  };

  // BLOCKS: reads the earlier segments, and waits some seconds where another run may be at work on a file system
  // without locks. `poisoned_again`: items that earlier runs gave up are to be tried again, and do not count as
  // ended. Error: kSystem (path and why); kDisagreement: the journal is another map's, with both digests;
  // kUsage: another run is at work on it, by node, pid and job.
  static Result<Opened> Open(const std::string& path, const Identity& identity, const JournalOwner& owner,
                             bool poisoned_again, std::shared_ptr<net::Mailbox> mailbox);
  virtual ~JournalWriter() = default;

  // Takes the record; `on_durable` follows in the order of the calls. An error (a full disk; a later run has
  // begun) is final: every later Append gets it too.
  virtual void Append(JournalRecord record, std::function<void(const Status&)> on_durable) = 0;
  // The record of an item that has ended, of whichever run; kUsage where it has not. BLOCKS for a read of the file.
  virtual Result<JournalRecord> Read(uint64_t item) = 0;
  // Everything that was appended is durable, and the segment says that its run has ended. BLOCKS.
  virtual Status Close() = 0;
};

}  // namespace muster::map
