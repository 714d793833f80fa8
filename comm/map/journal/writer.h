// The root's side of a map's journal: a directory with one segment for each run that wrote to it. README.md
// has the format, and the treatment of torn and damaged bytes.
//
// A record counts once it is durable: the writer's own thread appends records as they come and calls
// fdatasync once for all of them. A segment has a term, its number: one more than the highest before. A
// segment begins with the length up to which each earlier segment counts. So a root that was stopped, and
// wakes after the next run has begun, adds nothing: it finds the later segment after its next fdatasync, and
// fails.
//
// An empty path: an anonymous file of this process, which no other process can read and which is never
// synchronised.
//
// Threads: Open and destruction on any thread; the other functions on one, which runs the mailbox. Destruction drops
// records that are not durable, without a completion; it BLOCKS for the write under way, 5 s at most.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/base/error.h"
#include "comm/map/journal/identity.h"
#include "comm/map/journal/record.h"
#include "comm/net/event_loop.h"

namespace muster::map {

class JournalWriter {
 public:
  // Eight bytes: there may be ten million.
  struct Resumed {
    uint64_t item : 48 = 0;
    Ending ending : 8 = Ending::kCommitted;
    uint64_t took : 8 = 0;  // ShortTime
  };
  // Open's answer: the items that earlier runs have ended, each once, ascending.
  struct Opened {
    std::unique_ptr<JournalWriter> writer;
    std::vector<Resumed> resumed;
    uint32_t term = 1;
    std::vector<std::string> notes;  // records that were cut off or ignored, as text for the log
  };

  // BLOCKS: reads the earlier segments, and waits up to 5 s if another run may be at work and no lock shows
  // it. `poisoned_again`: items that earlier runs abandoned are tried again, and do not count as ended.
  // Error: kSystem (path and reason); kDisagreement: the journal is another map's, with both digests; kUsage:
  // another run is at work on it, by node, pid and job; kConfiguration: a newer muster wrote it.
  static Result<Opened> Open(const std::string& path, const Identity& identity, const JournalOwner& owner,
                             bool poisoned_again, std::shared_ptr<net::Mailbox> mailbox);
  virtual ~JournalWriter() = default;

  // Takes the record; `on_durable` follows in the order of the calls, and never within one. An error (a full
  // disk; a later run has begun) is final: every later Append gets it too. Only a record of more than 1 GiB
  // is refused alone (kUsage).
  virtual void Append(JournalRecord record, std::function<void(const Status&)> on_durable) = 0;
  // The record of an item that has ended, in any run; kUsage if it has not. BLOCKS for a read of the file.
  virtual Result<JournalRecord> Read(uint64_t item) = 0;
  // Makes everything appended durable, and marks the segment as closed. BLOCKS. Completions that are still in
  // the mailbox come when it runs. Read works afterwards.
  virtual Status Close() = 0;
};

}  // namespace muster::map
