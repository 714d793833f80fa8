// The thread that writes a journal's segment: it appends records as they come. After a pause it calls
// fdatasync once for all of them, and then posts the completions.
//
// Threads: Start on any; the other functions on one that is not its own. Ownership: the thread owns its data,
// since a file system may block it for longer than its owner exists.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/map/journal/claim.h"
#include "comm/map/journal/directory.h"
#include "comm/map/journal/record.h"
#include "comm/net/event_loop.h"

namespace muster::map {

// A segment that this process writes.
struct OwnSegment {
  std::shared_ptr<const JournalDirectory> directory;  // null: an anonymous file, which is never synchronised
  JournalLock lock;
  UniqueFd fd;
  std::string file;  // for users
  uint32_t term = 1;
  uint64_t seed = 0;
  uint64_t size = 0;
};

// Appends bytes at the end of the segment. Error: kSystem.
Status Write(OwnSegment& segment, ByteView bytes);
// Makes the written bytes durable and checks that no later run has begun. Error: kSystem: the disk, a segment
// that was removed; kUsage: a later run has begun, by node, pid and job.
Status MakeDurable(OwnSegment& segment);

class JournalAppender {
 public:
  using OnDurable = std::function<void(const Status&)>;
  // A record that is durable, or has failed.
  struct Done {
    uint64_t item = 0;
    Ending ending = Ending::kCommitted;
    uint64_t offset = 0;
    Status status;
    OnDurable on_durable;
  };
  // Runs on the mailbox's thread, in the order of Append.
  using OnDone = std::function<void(std::vector<Done>& done)>;

  // From now on the segment changes every second, as a sign for other nodes that this run is at work. Error:
  // kSystem.
  static Result<std::unique_ptr<JournalAppender>> Start(OwnSegment segment,
                                                        std::shared_ptr<net::Mailbox> mailbox,
                                                        OnDone on_done);
  // Drops what was not written. BLOCKS for the write under way, 5 s at most.
  ~JournalAppender();
  JournalAppender(const JournalAppender&) = delete;
  JournalAppender& operator=(const JournalAppender&) = delete;

  // In the order of the calls. After an error all later ones have it too.
  void Append(JournalRecord record, OnDurable on_durable);
  // BLOCKS until the bytes are durable: the beginning of a segment, before any record.
  Status Begin(Bytes bytes);
  // BLOCKS until everything is durable, and the segment is closed.
  Status Close();

  // For reading.
  const OwnSegment& segment() const;

 private:
  struct Core;
  explicit JournalAppender(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  std::shared_ptr<Core> core_;
};

}  // namespace muster::map
