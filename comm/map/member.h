// A rank's side of a map: it receives items, and returns the result of each.
//
// Items are numbers, 0 to items - 1; only the ranks interpret them. The group's root grants them in batches
// and writes results to the journal (root.h). The items of a rank that ends or falls silent go to other
// ranks; it is no failure of the group while the map runs.
//
// Threads: all functions may be called from any thread, several at a time (a rank with several slots has a thread
// for each), except Read: one call at a time. Blocking: Join, Next, Finish and Read, as noted at each; Commit while
// more than 1 MiB wait for the root.
// Lifetime: destroy the Member before the group ends; items that this rank still has go to other ranks. In a forked
// child its destructor does nothing.
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
  // Every rank of the group calls it, with the same identity and options; only slots may differ. BLOCKS until the root
  // has read the journal, at most until the deadline.
  //
  //     kUsage         an option; another run is at work on the journal
  //     kDeadline      the root did not open the journal in time
  //     kDisagreement  another rank, or the journal, has another map
  //     kSystem        the journal cannot be read or written
  //
  // and the group's failure.
  static Result<std::unique_ptr<Member>> Join(Group& group, const Identity& identity, const Options& options,
                                              Deadline deadline);
  virtual ~Member() = default;

  // The next item; absent when the map is over for this rank: all items have ended, the time is up, or Stop was called.
  // BLOCKS without a limit while other ranks have the last items. Error: the journal's, or the group's failure.
  virtual Result<std::optional<Item>> Next() = 0;
  // The result of an item that Next returned. A second one of the same item is counted and dropped. Error: kUsage: more
  // than 4 MiB, or an item that this rank does not have; the journal's; the group's failure.
  virtual Status Commit(uint64_t item, std::string key, Format format, Bytes payload, Duration took) = 0;
  // The item failed: it is tried again, or abandoned. `error`: for users, the last 64 KiB are kept. Does nothing if this
  // rank does not have the item.
  virtual void Fail(uint64_t item, std::string key, std::string error, Duration took) = 0;
  // An item that Next returned was not begun, or was interrupted from outside: no failed try. Does nothing if this rank
  // does not have the item.
  virtual void GiveBack(uint64_t item) = 0;
  // This rank takes no further items (it must end). Next returns absent.
  virtual void Stop() = 0;
  // For the owner, before it destroys a Member that another thread may be using: calls that wait end with kUsage. Does not
  // wait for them.
  virtual void Close() = 0;
  // Every rank calls it. Stops this rank, and gives back its items. BLOCKS, without a limit, until all items have ended
  // and are durable, or the time is up and no rank works. Error: kSystem, the journal could not be written; kUsage, a
  // later run has taken it over; kDisagreement, as Join; or the group's failure.
  virtual Result<Outcome> Finish() = 0;
  // After Finish: the records of items `first` to `first` + `count` - 1 that have ended, in order. BLOCKS
  // without a limit.
  // Error: kSystem, the journal cannot be read; or the group's failure.
  virtual Result<std::vector<JournalRecord>> Read(uint64_t first, uint64_t count) = 0;
};

}  // namespace muster::map
