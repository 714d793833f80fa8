// The maps of muster.h.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "bootstrap/bootstrap.h"
#include "bootstrap/c/error.h"
#include "bootstrap/c/handles.h"
#include "comm/map/member.h"

struct muster_map_records {
  std::vector<muster::map::JournalRecord> records;
};

namespace muster::c {
namespace {

// The handles that were given out.
struct Maps {
  std::mutex beginning;  // held while a map begins, which waits for the root
  std::mutex ending;     // held while maps end, which may wait for calls; before `mutex`
  std::mutex mutex;
  std::vector<muster_map*> all;
};

Maps& TheMaps() {
  static Maps& maps = *new Maps;
  return maps;
}

std::string TextOf(const char* text) { return text == nullptr ? "" : text; }

using MapInUse = Use<map::Member>;

Result<MapInUse> MemberOf(const muster_map* map) {
  if (map == nullptr) return Fail(Code::kUsage, "the map is null");
  if (map->pid != getpid())
    return Fail(Code::kUsage, "a map in a forked child: it belongs to the parent, pid {}", map->pid.load());
  MapInUse in_use(*map);
  if (!in_use) return Fail(Code::kUsage, "the map has ended: muster was shut down");
  return in_use;
}

bool OneIsAtWork(Maps& maps) {
  const std::lock_guard lock(maps.mutex);
  return std::ranges::any_of(maps.all, [](const muster_map* map) { return map->object != nullptr; });
}

Status Begin(const muster_comm* world, const muster_map_options* options, muster_map** map) {
  if (map == nullptr || options == nullptr)
    return Fail(Code::kUsage, "muster_map_begin: {} is null", map == nullptr ? "map" : "options");
  *map = nullptr;
  MUSTER_TRY(const InUse whole, Alive(world));
  if (world->owned) return Fail(Code::kUsage, "a map is of all ranks: give it the world's communicator");
  map::Identity identity{options->items, {}, {}, TextOf(options->work)};
  if (options->keys_digest != nullptr)
    std::copy_n(options->keys_digest, identity.keys.size(), identity.keys.begin());
  identity.work = map::DigestOf(AsBytes(identity.subject));
  map::Options asked{TextOf(options->journal),
                     options->retries,
                     Duration(std::max<int64_t>(options->timeout_ns, 0)),
                     options->retry_given_up != 0,
                     {},
                     options->slots,
                     options->quiet != 0,
                     {}};
  if (options->classes != nullptr) asked.classes.assign(options->classes, options->classes + options->items);
  Maps& maps = TheMaps();
  const std::lock_guard beginning(maps.beginning);
  if (OneIsAtWork(maps)) return Fail(Code::kUsage, "another map of this process is at work");
  auto handle = std::make_unique<muster_map>();
  MUSTER_TRY(handle->owned, BeginMap(identity, std::move(asked)));
  handle->object = handle->owned.get();
  handle->pid = getpid();
  const std::lock_guard lock(maps.mutex);
  // muster_shutdown, which waits for this call, no longer has this map in its list.
  if (world->object == nullptr) return Ended();
  maps.all.push_back(handle.get());
  *map = handle.release();
  return {};
}

Status Next(const muster_map* map, uint64_t* item, uint32_t* attempt) {
  if (item == nullptr) return Fail(Code::kUsage, "muster_map_next: item is null");
  MUSTER_TRY(const MapInUse member, MemberOf(map));
  MUSTER_TRY(const std::optional<map::Item> next, member->Next());
  *item = next ? next->index : MUSTER_MAP_END;
  if (attempt != nullptr) *attempt = next ? next->attempt : 0;
  return {};
}

Status Commit(const muster_map* map, uint64_t item, const char* key, unsigned format, ByteView data,
              int64_t took_ns) {
  MUSTER_TRY(const MapInUse member, MemberOf(map));
  if (data.data() == nullptr && !data.empty())
    return Fail(Code::kUsage, "data is null and should have {} bytes", data.size());
  if (format > static_cast<unsigned>(map::Format::kPickle))
    return Fail(Code::kUsage, "{} is not a format", format);
  return member->Commit(item, TextOf(key), static_cast<map::Format>(format), Bytes(data.begin(), data.end()),
                        Duration(std::max<int64_t>(took_ns, 0)));
}

Status Finish(const muster_map* map, muster_map_outcome* result) {
  if (result == nullptr) return Fail(Code::kUsage, "muster_map_finish: outcome is null");
  MUSTER_TRY(const MapInUse member, MemberOf(map));
  MUSTER_TRY(const map::Outcome outcome, member->Finish());
  *result = {outcome.items,
             outcome.committed,
             outcome.poisoned,
             outcome.resumed,
             outcome.second_commits,
             outcome.time_is_up ? 1 : 0,
             outcome.first_rank,
             0,
             {}};
  result->listed = std::min<size_t>(outcome.first_poisoned.size(), MUSTER_MAP_LISTED);
  std::copy_n(outcome.first_poisoned.begin(), result->listed, result->listed_items);
  return {};
}

}  // namespace

bool EndMaps(Deadline deadline) {
  Maps& maps = TheMaps();
  const std::lock_guard ending(maps.ending);
  std::vector<muster_map*> all;
  {
    const std::lock_guard lock(maps.mutex);
    all = maps.all;
  }
  bool ended = true;
  for (muster_map* map : all) ended = EndOwned(*map, deadline) && ended;
  return ended;
}

}  // namespace muster::c

using muster::ByteView;
using muster::Duration;
using muster::Status;
using muster::c::Guard;
using muster::c::MapInUse;
using muster::c::MemberOf;

muster_error* muster_map_begin(muster_comm* world, const muster_map_options* options, muster_map** map) {
  return Guard([&] { return muster::c::Begin(world, options, map); });
}

muster_error* muster_map_next(muster_map* map, uint64_t* item, uint32_t* attempt) {
  return Guard([&] { return muster::c::Next(map, item, attempt); });
}

muster_error* muster_map_commit(muster_map* map, uint64_t item, const char* key, muster_map_format format,
                                const void* data, size_t size, int64_t took_ns) {
  return Guard([&] {
    return muster::c::Commit(map, item, key, format, ByteView(static_cast<const uint8_t*>(data), size),
                             took_ns);
  });
}

muster_error* muster_map_fail(muster_map* map, uint64_t item, const char* key, const char* reason,
                              int64_t took_ns) {
  return Guard([&]() -> Status {
    MUSTER_TRY(const MapInUse member, MemberOf(map));
    member->Fail(item, muster::c::TextOf(key), muster::c::TextOf(reason),
                 Duration(std::max<int64_t>(took_ns, 0)));
    return {};
  });
}

muster_error* muster_map_give_back(muster_map* map, uint64_t item) {
  return Guard([&]() -> Status {
    MUSTER_TRY(const MapInUse member, MemberOf(map));
    member->GiveBack(item);
    return {};
  });
}

void muster_map_stop(muster_map* map) {
  muster_error_free(Guard([&]() -> Status {
    MUSTER_TRY(const MapInUse member, MemberOf(map));
    member->Stop();
    return {};
  }));
}

muster_error* muster_map_finish(muster_map* map, muster_map_outcome* outcome) {
  return Guard([&] { return muster::c::Finish(map, outcome); });
}

muster_error* muster_map_read(muster_map* map, uint64_t first, uint64_t count, muster_map_records** records) {
  return Guard([&]() -> Status {
    if (records == nullptr) return muster::Fail(muster::Code::kUsage, "muster_map_read: records is null");
    *records = nullptr;
    MUSTER_TRY(const MapInUse member, MemberOf(map));
    auto read = std::make_unique<muster_map_records>();
    MUSTER_TRY(read->records, member->Read(first, count));
    *records = read.release();
    return {};
  });
}

size_t muster_map_records_count(const muster_map_records* records) {
  return records == nullptr ? 0 : records->records.size();
}

int muster_map_records_get(const muster_map_records* records, size_t index, muster_map_record* record) {
  if (index >= muster_map_records_count(records) || record == nullptr) return 0;
  const muster::map::JournalRecord& one = records->records[index];
  *record = {one.item,
             one.key.c_str(),
             one.ending == muster::map::Ending::kPoisoned ? 1 : 0,
             one.rank,
             one.node.c_str(),
             one.attempts,
             one.took.count(),
             static_cast<int>(one.format),
             one.payload.data(),
             one.payload.size()};
  return 1;
}

void muster_map_records_free(muster_map_records* records) { delete records; }

void muster_map_free(muster_map* map) {
  // A forked child must not act for its parent.
  if (map == nullptr || map->pid != getpid()) return;
  const std::lock_guard ending(muster::c::TheMaps().ending);
  // If a call does not end, muster_shutdown tries again.
  static_cast<void>(muster::c::EndOwned(*map, muster::Deadline::After(muster::c::kCallsEndWithin)));
}
