// A rank's side of a map: it receives items, and returns what came of each.
//
// Items are numbers, 0 to items - 1; what each is, the ranks know. The group's root grants them in batches and
// writes results to the journal (root.h). A rank that ends or falls silent gives its items back; it is no failure of
// the group while the map runs.
//
// Threads: all functions may be called from any thread, several at a time (a rank with several slots has a thread
// for each). Blocking: Join, Next, Finish and Read, as each says; Commit while more than 1 MiB wait for the root.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/group/group.h"
#include "comm/map/journal/identity.h"
#include "comm/map/journal/record.h"
#include "comm/map/options.h"

namespace muster::map {

struct Item {
  uint64_t index = 0;
  uint32_t attempt = 1;
};

class Member {
 public:
  // Every rank of the group calls it, with the same identity and options but for slots. BLOCKS until the root has
  // read the journal, at most until the deadline. Error: kDisagreement: other ranks have another map; the
  // journal's (journal_writer.h); the group's failure.
  static Result<std::unique_ptr<Member>> Join(Group& group, const Identity& identity, const Options& options,
                                              Deadline deadline);
  virtual ~Member() = default;

  // The next item; absent when the map is over for this rank: all items have ended, or the time is up. BLOCKS while
  // other ranks have the last items. Error: the journal's, or the group's failure.
  virtual Result<std::optional<Item>> Next() = 0;
  // The result of an item that Next gave. A second one of the same item is counted and dropped.
  virtual Status Commit(uint64_t item, std::string key, Format format, Bytes payload, Duration took) = 0;
  // The item failed: another try, or it is given up. `error`: for people, the last 64 KiB are kept.
  virtual void Fail(uint64_t item, std::string key, std::string error, Duration took) = 0;
  // An item that Next gave was not begun, or was interrupted for no fault of its own.
  virtual void GiveBack(uint64_t item) = 0;
  // This rank needs no more items (it is told to end). Next returns absent.
  virtual void Stop() = 0;
  // Every rank calls it. BLOCKS until all items have ended and are durable, or the time is up and no rank works.
  virtual Result<Outcome> Finish() = 0;
  // After Finish: the records of items `first` to `first` + `count` - 1 that have ended, in order. BLOCKS.
  virtual Result<std::vector<JournalRecord>> Read(uint64_t first, uint64_t count) = 0;
};

}  // namespace muster::map
